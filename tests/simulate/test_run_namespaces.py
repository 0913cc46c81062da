"""What Namespaces and their quotas do to the pods of a run."""

from tests.build import Tree, bound, h100_node, namespace, pod, t4_node
from tests.simulate.scene import (
    codes,
    only,
    simulate,
    views,
    workload,
)


def test_a_namespace_among_the_manifests_holds_for_its_pods() -> None:
    view = only([t4_node()], pod("p"))
    assert view.placement is not None

    (view,) = views([t4_node()], pod("p"), namespace("team-a", families="hopper"))
    assert view.placement is None


def test_a_refused_namespace_refuses_its_pods() -> None:
    simulation = simulate([t4_node()], namespace("team-a", min_gpu_memory="20"), pod("p"))
    (view,) = simulation.views()

    assert [item.admission.allowed for item in simulation.namespaces.views] == [False]
    assert (view.admission.code, view.placement) == ("policy-malformed", None)


def test_a_refused_namespace_that_stands_leaves_its_policy_in_force() -> None:
    cluster = [t4_node("t"), h100_node("h"), namespace("team-a", families="hopper")]
    simulation = simulate(cluster, namespace("team-a", families="hoper"), pod("p"))

    assert [view.placement and view.placement.node for view in simulation.views()] == ["h"]


def _quota(**policy: str) -> list[Tree]:
    return [h100_node("h"), t4_node("t", gpus=8), namespace("team-a", **({"quota": "*=2"} | policy))]


def _gated(cluster: list[Tree], *trees: Tree) -> dict[str, str | None]:
    return {view.name: view.gated or (view.placement and view.placement.node) for view in views(cluster, *trees)}


def test_pods_beyond_the_quota_wait_behind_their_gate() -> None:
    found = views(_quota(families="hopper"), pod("a"), pod("b"), pod("c"))

    assert [(view.gated, view.placement is not None) for view in found] == [
        (None, True),
        (None, True),
        ("quota", False),
    ]
    assert all(view.unschedulable is None for view in found)
    assert {"op": "add", "path": "/spec/schedulingGates", "value": [{"name": "gpusched.io/quota"}]} in [
        dict(op) for op in found[0].admission.patch
    ]


def test_quota_counts_what_stands_in_the_cluster() -> None:
    cluster = [*_quota(families="hopper"), bound(pod("old", gpus=2), "h")]

    assert _gated(cluster, pod("p")) == {"p": "quota"}


def test_an_older_gated_pod_of_the_cluster_goes_first() -> None:
    waiting = pod("old", gpus=2, schedulingGates=[{"name": "gpusched.io/quota"}])
    waiting["metadata"] |= {"uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}

    assert _gated([*_quota(families="hopper"), waiting], pod("p")) == {"p": "quota"}


def test_an_exported_manifest_is_created_now() -> None:
    waiting = pod("old", gpus=2, schedulingGates=[{"name": "gpusched.io/quota"}])
    waiting["metadata"] |= {"uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}
    exported = pod("p")
    exported["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z"

    assert _gated([*_quota(families="hopper"), waiting], exported) == {"p": "quota"}


def test_pods_of_one_job_leave_the_line_together() -> None:
    cluster = [*_quota(families="hopper", quota="*=4"), bound(pod("old", gpus=2), "h")]
    found = _gated(cluster, workload("Job", "j", parallelism=3, completions=3))

    assert found == {"j-0": "quota", "j-1": "quota", "j-2": "quota"}


def test_pods_of_one_deployment_leave_the_line_one_by_one() -> None:
    cluster = [*_quota(families="hopper", quota="*=4"), bound(pod("old", gpus=2), "h")]
    found = _gated(cluster, workload("Deployment", "d", replicas=3))

    assert found == {"d-0": "h", "d-1": "h", "d-2": "quota"}


def test_a_younger_pod_does_not_overtake_but_one_of_other_families_may() -> None:
    cluster = _quota(families="hopper, turing", quota="hopper=2, turing=2")
    found = _gated(
        [*cluster, bound(pod("old"), "h")],
        pod("large", gpus=2, annotations={"gpusched.io/families": "hopper"}),
        pod("small", annotations={"gpusched.io/families": "hopper"}),
        pod("other", annotations={"gpusched.io/families": "turing"}),
    )

    assert found == {"large": "quota", "small": "quota", "other": "t"}


def test_a_lifted_pod_that_finds_no_node_still_counts() -> None:
    cluster = [t4_node("t", gpus=1), namespace("team-a", quota="*=2", families="turing")]
    found = views(cluster, pod("a"), pod("b"), pod("c"))

    assert [view.gated for view in found] == [None, None, "quota"]
    assert codes(found[1]) == {"native-resources": 1}


def test_quota_in_a_mode_that_only_warns_gates_nothing() -> None:
    found = _gated(_quota(families="hopper", mode="enforce,quota=warn"), *(pod(name) for name in "abc"))

    assert found == {"a": "h", "b": "h", "c": "h"}
