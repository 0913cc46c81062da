"""Policy on Namespaces: what is written must be readable; what stands already is told where it matters."""

import pytest

from tests.build import h100_node, pod, t4_node
from tests.build import namespace as namespace_tree
from tests.e2e.scheduling import bound_node, create, node_of, read
from tests.e2e.seen import denied, namespaces_seen, nodes_seen

MERGE = "application/merge-patch+json"
HOOK = "namespaces.validate"
STAY = "they stay, but will not return after a drain."

UNREADABLE = {
    "no unit": (
        {"gpusched.io/min-gpu-memory": "20"},
        'policy-malformed: gpusched.io/min-gpu-memory "20" without unit; write 20Gi',
    ),
    "unknown family": (
        {"gpusched.io/families": "hoper"},
        'policy-malformed: gpusched.io/families "hoper", which is no GPU family; write hopper',
    ),
    "unknown key": (
        {"gpusched.io/familys": "hopper"},
        "policy-malformed: gpusched.io/familys, which is no known key; write gpusched.io/families",
    ),
    "all at once": (
        {"gpusched.io/quota": "hopper=x", "gpusched.io/mode": "strict", "gpusched.io/max-gpus-per-pod": "-1"},
        (
            'policy-malformed: gpusched.io/max-gpus-per-pod "-1", which is no number of GPUs; '
            "write a whole number such as 8 (0 allows none); "
            'gpusched.io/mode "strict", which is no mode; write enforce\n'
            'policy-malformed: gpusched.io/quota "hopper=x", which needs a whole number of slots; '
            "write for example hopper=4"
        ),
    ),
}


def annotate(plane, name, annotations, path="", *, dry_run=False):
    tree = {"metadata": {"annotations": annotations}}
    query = {"dryRun": "All"} if dry_run else {}
    return plane.request("PATCH", f"/api/v1/namespaces/{name}{path}", tree, query=query, content_type=MERGE)


@pytest.mark.parametrize(("annotations", "message"), UNREADABLE.values(), ids=UNREADABLE)
@pytest.mark.parametrize("way", ["create", "patch", "apply"])
def test_unreadable_policy_is_refused(installed, control_plane, namespace, annotations, message, way):
    tree = namespace_tree(f"{namespace}-new" if way == "create" else namespace)
    tree["metadata"]["annotations"] = annotations

    if way == "create":
        answer = control_plane.create(tree)
    elif way == "patch":
        answer = annotate(control_plane, namespace, annotations)
    else:
        query = {"fieldManager": "user", "force": "true"}
        path, kind = f"/api/v1/namespaces/{namespace}", "application/apply-patch+yaml"
        answer = control_plane.request("PATCH", path, tree, query=query, content_type=kind)

    assert (answer.status, answer.message) == (403, denied(message, HOOK))


def test_namespace_with_readable_policy_is_created_as_it_is(installed, control_plane):
    tree = namespace_tree("e2e-readable", families="hopper, ampere", quota="hopper=4, *=16", mode="enforce,quota=warn")

    answer = control_plane.create(tree, dry_run=True)

    assert (answer.status, answer.warnings) == (201, ())
    assert answer.tree["metadata"]["annotations"] == tree["metadata"]["annotations"]


def test_value_that_came_round_the_webhook_refuses_gpu_pods_and_nothing_else(installed, control_plane, namespace):
    # namespaces/status takes metadata and is not seen by webhooks for namespaces.
    annotate(control_plane, namespace, {"gpusched.io/min-gpu-memory": "20"}, "/status").expect()
    namespaces_seen(control_plane)

    answer = control_plane.create(pod("gpu", namespace))

    message = (
        f'policy-malformed: namespace {namespace} has gpusched.io/min-gpu-memory "20" without unit; '
        "an admin must write 20Gi."
    )
    assert (answer.status, answer.message) == (403, denied(message))
    assert control_plane.create(pod("cpu", namespace, gpus=None)).status == 201


def test_what_stands_does_not_stop_other_changes(installed, control_plane, namespace):
    standing = {"gpusched.io/min-gpu-memory": "20", "gpusched.io/later": "x"}
    annotate(control_plane, namespace, standing, "/status").expect()

    label = {"metadata": {"labels": {"team": "a"}}}
    labelled = control_plane.request("PATCH", f"/api/v1/namespaces/{namespace}", label, content_type=MERGE)
    other = annotate(control_plane, namespace, {"gpusched.io/families": "hopper"})
    worse = annotate(control_plane, namespace, {"gpusched.io/min-gpu-memory": "21"})
    cured = annotate(control_plane, namespace, {"gpusched.io/min-gpu-memory": "20Gi", "gpusched.io/later": None})

    warning = "policy-malformed: gpusched.io/later, which is no known key; take it off"
    assert (labelled.status, labelled.warnings) == (200, (warning,))
    assert (other.status, other.warnings) == (200, (warning,))
    message = 'policy-malformed: gpusched.io/min-gpu-memory "21" without unit; write 21Gi'
    assert (worse.status, worse.message, worse.warnings) == (403, denied(message, HOOK), (warning,))
    assert (cured.status, cured.warnings) == (200, ())


def test_change_of_policy_counts_for_the_next_pod(installed, control_plane, namespace):
    asks = pod("p", namespace, annotations={"gpusched.io/families": "hopper"})
    for families, status in (("turing", 403), ("hopper", 201), ("ampere", 403), (None, 201)):
        annotate(control_plane, namespace, {"gpusched.io/families": families}).expect()
        namespaces_seen(control_plane)

        assert control_plane.create(asks, dry_run=True).status == status


def test_running_pods_that_violate_a_new_policy_are_told_and_stay(installed, control_plane, fake_nodes, namespace):
    fake_nodes([t4_node("an-t4", gpus=4), h100_node("an-h100")])
    nodes_seen(control_plane, "an-t4", "an-h100")
    turing = {"gpusched.io/families": "turing"}
    for name in ("a", "b", "c"):
        create(control_plane, pod(name, namespace, annotations=turing))
    for name in ("a", "b", "c"):
        bound_node(control_plane, namespace, name)
    create(control_plane, pod("fine", namespace, annotations={"gpusched.io/families": "hopper"}))
    bound_node(control_plane, namespace, "fine")
    control_plane.wait_until(
        lambda: (
            annotate(control_plane, namespace, {"gpusched.io/families": "ampere"}, dry_run=True).warnings
            == (f"gpu-policy-family: 4 running pods violate it (a, b, c and 1 more); {STAY}",)
        ),
        what="pods seen by gpusched",
    )

    strict = annotate(control_plane, namespace, {"gpusched.io/families": "hopper"})
    again = annotate(control_plane, namespace, {"other/key": "x"})
    loose = annotate(control_plane, namespace, {"gpusched.io/mode": "warn"})

    assert (strict.status, strict.warnings) == (
        200,
        (f"gpu-policy-family: 3 running pods violate it (a, b, c); {STAY}",),
    )
    assert [(answer.status, answer.warnings) for answer in (again, loose)] == [(200, ()), (200, ())]
    assert {node_of(read(control_plane, namespace, name)) for name in ("a", "b", "c")} == {"an-t4"}
