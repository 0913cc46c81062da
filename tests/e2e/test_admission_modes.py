"""How far policy goes: modes and groups, pods and namespaces that are left alone, and creation in its odd forms."""

import pytest

from tests.build import container, h100_node, pod, t4_node
from tests.e2e.seen import denied, nodes_seen, policy

MERGE = "application/merge-patch+json"
HOPPER = {"gpusched.io/families": "hopper"}
REFUSAL = (
    "gpu-policy-family: pod asks for hopper; namespace {ns} allows turing. Set gpusched.io/families to one of these."
)
WARNING = "gpu-policy-family: pod asks for hopper; namespace {ns} allows turing."
NOTED = "gpusched_admission_refusals_total"


@pytest.fixture
def nodes(installed, control_plane, fake_nodes):
    """A cluster where a pod for Hopper or Turing is warned of nothing else."""
    fake_nodes([t4_node("t4", gpus=2), h100_node("h100")])
    nodes_seen(control_plane, "t4", "h100")


def judge(plane, namespace, name="p", annotations=HOPPER, **spec):
    return plane.create(pod(name, namespace, annotations=annotations, **spec))


@pytest.mark.parametrize("mode", ["enforce", "warn,family=enforce", None])
def test_enforcing_refuses(nodes, control_plane, namespace, mode):
    policy(control_plane, namespace, families="turing", **({"mode": mode} if mode else {}))

    answer = judge(control_plane, namespace)

    assert (answer.status, answer.message) == (403, denied(REFUSAL.format(ns=namespace)))


@pytest.mark.parametrize("mode", ["warn", "enforce,family=warn"])
def test_warning_creates_the_pod_and_says_so(nodes, control_plane, namespace, mode):
    policy(control_plane, namespace, families="turing", mode=mode)

    answer = judge(control_plane, namespace)

    assert (answer.status, answer.warnings) == (201, (WARNING.format(ns=namespace),))


@pytest.mark.parametrize("mode", ["audit", "off"])
def test_audit_and_off_say_nothing_to_the_user(nodes, installed, control_plane, namespace, mode):
    policy(control_plane, namespace, families="turing", mode=mode)

    answer = judge(control_plane, namespace)

    assert (answer.status, answer.warnings) == (201, ())
    counted = installed.metric(NOTED, namespace=namespace, code="gpu-policy-family", mode="audit")
    assert (counted > 0) is (mode == "audit")


@pytest.mark.parametrize(("mode", "status"), [("enforce", 403), ("warn", 403), ("audit", 403), ("off", 201)], ids=str)
def test_value_that_cannot_be_read_is_refused_in_every_mode_but_off(nodes, control_plane, namespace, mode, status):
    policy(control_plane, namespace, mode=mode)

    assert judge(control_plane, namespace, annotations={"gpusched.io/min-gpu-memory": "20"}).status == status


def test_off_leaves_even_what_the_api_server_refuses_to_the_api_server(nodes, control_plane, namespace):
    policy(control_plane, namespace, mode="off")

    answer = judge(control_plane, namespace, annotations=None, gpus="0.5")

    assert answer.status == 422
    assert "must be an integer" in answer.message
    assert "gpusched" not in answer.message


@pytest.mark.parametrize(
    ("mode", "lowered"), [("enforce", True), ("warn", False), ("audit", False), ("off", False)], ids=str
)
def test_policy_of_the_namespace_becomes_affinity_where_it_enforces(nodes, control_plane, namespace, mode, lowered):
    policy(control_plane, namespace, families="turing", mode=mode)

    created = judge(control_plane, namespace, annotations={}).expect()

    text = f"families=turing (namespace {namespace})"
    found = created["metadata"].get("annotations", {}).get("status.gpusched.io/lowered")
    assert found == (text if lowered else None)
    assert ("affinity" in created["spec"]) is lowered


def test_dry_run_answers_like_the_real_thing_and_leaves_nothing(nodes, control_plane, namespace):
    policy(control_plane, namespace, families="turing")
    good, bad = (pod("p", namespace, annotations={"gpusched.io/families": name}) for name in ("turing", "hopper"))

    refused = control_plane.create(bad, dry_run=True)
    shown = control_plane.create(good, dry_run=True).expect()

    assert (refused.status, refused.message) == (403, denied(REFUSAL.format(ns=namespace)))
    path = f"/api/v1/namespaces/{namespace}/pods"
    assert control_plane.get(path)["items"] == []
    created = control_plane.create(good).expect()
    assert created["spec"] == shown["spec"]
    assert created["metadata"]["annotations"] == shown["metadata"]["annotations"]


def test_generated_name(nodes, installed, control_plane, namespace):
    policy(control_plane, namespace, families="turing")
    tree = pod("", namespace, annotations=HOPPER)
    tree["metadata"] = {"generateName": "train-", "namespace": namespace, "annotations": HOPPER}

    refused = control_plane.create(tree)
    tree["metadata"]["annotations"] = {}
    created = control_plane.create(tree).expect()

    assert (refused.status, refused.message) == (403, denied(REFUSAL.format(ns=namespace)))
    assert created["metadata"]["name"].startswith("train-")
    assert "status.gpusched.io/lowered" in created["metadata"]["annotations"]


def test_patch_takes_in_what_is_there(nodes, control_plane, namespace):
    """Parents are made where they lack and lists are appended to; the user's own terms hold besides."""
    policy(control_plane, namespace, families="turing")
    zone = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}
    wanted = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}}
    toleration = {"key": "mine", "operator": "Exists"}

    created = judge(
        control_plane,
        namespace,
        annotations={"example.com/a_b.c": "kept"},
        affinity={"nodeAffinity": wanted},
        tolerations=[toleration],
    ).expect()

    terms = created["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert [term["matchExpressions"] for term in terms["nodeSelectorTerms"]] == [
        [zone, {"key": "gpusched.io/family", "operator": "In", "values": ["turing"]}],
        [zone, {"key": "gpusched.io/mixed", "operator": "In", "values": ["true"]}],
    ]
    assert created["metadata"]["annotations"]["example.com/a_b.c"] == "kept"
    assert created["spec"]["tolerations"][0] == toleration


UNTOUCHED = ("runtimeClassName", "affinity", "schedulingGates")


def test_pod_without_gpu_is_never_looked_at(nodes, installed, control_plane, namespace):
    policy(control_plane, namespace, families="turing", quota="*=0", max_gpus_per_pod="0", min_gpu_memory="80Gi")
    before = installed.metric("gpusched_requests_total", endpoint="/mutate")

    created = judge(control_plane, namespace, annotations=None, gpus=None).expect()

    assert not set(UNTOUCHED) & set(created["spec"])
    assert installed.metric("gpusched_requests_total", endpoint="/mutate") == before


@pytest.mark.parametrize("where", ["kube-system", "kube-node-lease", "labelled"])
def test_excluded_namespace_is_left_alone(nodes, installed, control_plane, namespace, where):
    if where == "labelled":
        where = namespace
        policy(control_plane, where, {"gpusched.io/exempt": "true"}, families="turing")
    before = installed.metric("gpusched_requests_total", endpoint="/mutate")

    # A dry run: pods of kube-system would outlive the test.
    answer = control_plane.create(pod("p", where, annotations=HOPPER, nodeName="t4"), dry_run=True)

    assert (answer.status, answer.warnings) == (201, ())
    assert not set(UNTOUCHED) & set(answer.tree["spec"])
    assert installed.metric("gpusched_requests_total", endpoint="/mutate") == before


def test_mirror_pod_is_left_alone(nodes, installed, control_plane, namespace):
    """A kubelet shows its static pods to the API server; it would try for ever if they were refused."""
    policy(control_plane, namespace, families="turing", max_gpus_per_pod="0")
    node = control_plane.get("/api/v1/nodes/t4")
    tree = pod("static", namespace, container(gpus=1), nodeName="t4")
    owner = {"apiVersion": "v1", "kind": "Node", "name": "t4", "uid": node["metadata"]["uid"], "controller": True}
    mark = {"kubernetes.io/config.mirror": "abc", "kubernetes.io/config.hash": "abc"}
    tree["metadata"] |= {"annotations": mark, "ownerReferences": [owner]}

    created = control_plane.create(tree).expect()

    assert not set(UNTOUCHED) & set(created["spec"])
    assert created["metadata"]["annotations"] == mark
