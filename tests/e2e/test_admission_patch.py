"""What is written into a GPU pod beside its class and its gate, and that it is what the pod needs to run."""

import pytest

from tests.build import a100_node, container, h100_node, node, pod, t4_node
from tests.e2e.seen import configured, nodes_seen, policy

GPU = "nvidia.com/gpu"
LIMIT = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"
TAINT = {"key": GPU, "value": "present", "effect": "NoSchedule"}
TOLERATION = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}
AFFINITY = "requiredDuringSchedulingIgnoredDuringExecution"


def expression(key, operator, *values):
    return {"key": f"gpusched.io/{key}", "operator": operator, "values": list(values)}


def terms(tree):
    """The expressions of the terms of required node affinity, without those of clouds' own keys."""
    return [
        term["matchExpressions"] for term in tree["spec"]["affinity"]["nodeAffinity"][AFFINITY]["nodeSelectorTerms"]
    ]


def own_tolerations(tree):
    """All but those that the API server gives every pod."""
    return [item for item in tree["spec"]["tolerations"] if not item["key"].startswith("node.kubernetes.io/")]


def test_taint_of_gpu_nodes_is_tolerated_and_the_pod_runs(installed, control_plane, namespace, fake_nodes):
    fake_nodes([t4_node("t4", taints=[TAINT])])
    nodes_seen(control_plane, "t4")

    created = control_plane.create(pod("p", namespace)).expect()

    assert own_tolerations(created) == [TOLERATION]
    path = f"/api/v1/namespaces/{namespace}/pods/p"
    assert control_plane.wait_for(path, lambda tree: tree["spec"].get("nodeName")) == "t4"


@pytest.mark.parametrize(
    "own", [TOLERATION, {"key": GPU, "operator": "Equal", "value": "present"}, {"key": GPU, "operator": "Exists"}]
)
def test_taint_that_is_tolerated_already_is_not_again(installed, control_plane, namespace, fake_nodes, own):
    fake_nodes([t4_node("t4", taints=[TAINT])])
    nodes_seen(control_plane, "t4")

    created = control_plane.create(pod("p", namespace, tolerations=[own])).expect()

    assert own_tolerations(created) == [own]


def test_other_taints_stay_the_users_business(installed, control_plane, namespace, fake_nodes):
    taints = [{"key": "reserved", "effect": "NoSchedule"}, {"key": "amd.com/gpu", "effect": "NoSchedule"}]
    fake_nodes([t4_node("t4", taints=taints), node("cpu", gpus=None, taints=[TAINT])])
    nodes_seen(control_plane, "t4")

    created = control_plane.create(pod("p", namespace)).expect()

    assert own_tolerations(created) == []


def test_configured_toleration_is_given_to_gpu_pods(installed, control_plane, namespace):
    sku = {"key": "sku", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}
    with configured(installed, control_plane, {"tolerations": [sku]}, {}):
        created = control_plane.create(pod("p", namespace)).expect()
        other = control_plane.create(pod("other", namespace, gpus=None)).expect()

    assert sku in own_tolerations(created)
    assert own_tolerations(other) == []


def test_claim_becomes_a_limit_that_mps_enforces(installed, control_plane, namespace):
    two, none = container("two", gpus=2), container("none")
    own = container("own", gpus=1, env=[{"name": LIMIT, "value": "0=1G"}])

    created = control_plane.create(
        pod("p", namespace, two, none, own, annotations={"gpusched.io/gpu-memory": "6Gi"})
    ).expect()

    found = {item["name"]: item.get("env") for item in created["spec"]["containers"]}
    assert found == {
        "two": [{"name": LIMIT, "value": "0=6144M,1=6144M"}],
        "none": None,
        "own": [{"name": LIMIT, "value": "0=1G"}],
    }


RULES = {
    "families": ({"families": "hopper, ampere"}, {}, [expression("family", "In", "ampere", "hopper")]),
    "memory": (
        {"min_gpu_memory": "20Gi"},
        {},
        [expression("visible-memory-mib", "Gt", "18841")],
    ),
    "sharing": ({"sharing": "none"}, {}, [expression("sharing", "In", "none")]),
    "versions": (
        {"families": "hopper", "min_cuda_version": "12.2", "min_driver_version": "535.54"},
        {},
        [
            expression("family", "In", "hopper"),
            expression("cuda-version", "Gt", "12019"),
            expression("driver-version", "Gt", "535053999"),
        ],
    ),
    "pod and namespace": (
        {"families": "hopper, ampere"},
        {"gpusched.io/families": "ampere, turing"},
        [expression("family", "In", "ampere")],
    ),
}


@pytest.mark.parametrize(("rules", "annotations", "expected"), RULES.values(), ids=RULES)
def test_rules_become_affinity_over_the_labels(
    installed, control_plane, namespace, fake_nodes, rules, annotations, expected
):
    fake_nodes([t4_node("t4", replicas=4), h100_node("h100"), a100_node("a100")])
    nodes_seen(control_plane, "t4", "h100", "a100")
    policy(control_plane, namespace, **rules)

    created = control_plane.create(pod("p", namespace, annotations=annotations)).expect()

    # Kubernetes has no "at least": a bound is Gt its predecessor. 20Gi is a nominal size and holds less 8 %.
    assert terms(created) == [expected, [expression("mixed", "In", "true")]]
    path = f"/api/v1/namespaces/{namespace}/pods/p"
    chosen = control_plane.wait_for(path, lambda tree: tree["spec"].get("nodeName"))
    assert chosen in {"h100", "a100"}
