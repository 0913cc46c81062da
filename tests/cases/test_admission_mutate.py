"""What admission adds to pods, and what it must leave alone, as met in public trackers."""

from typing import Any

import pytest

from gpusched.state.cluster import Cluster
from tests.build import Tree, container, namespace, pod, t4_node
from tests.cases.trial import NVIDIA_CLASS, cluster_of, configured, review, simulated, world_of

SET_CLASS = {"op": "add", "path": "/spec/runtimeClassName", "value": "nvidia"}
VARIABLE = "NVIDIA_VISIBLE_DEVICES"


#: By which a namespace sends its pods without a GPU to gpusched.
COVERED = {"gpusched.io/gpu-less-pods": "true"}


def _cluster(labels: dict[str, str] | None = None, **policy: str) -> Cluster:
    """One T4 node, the class that its runtime needs, and the namespace of the pods."""
    return cluster_of(t4_node(), NVIDIA_CLASS, namespace(labels=labels, **policy))


def test_am_01_runtime_class_is_injected() -> None:
    """k3s-io/k3s#10034, k3s-io/k3s#4391, kubeflow/community-distribution#2683: runc is the default runtime."""
    answer = review(pod(), _cluster())
    assert answer.allowed
    assert answer.patch == (SET_CLASS,)
    assert answer.warnings == ()


@pytest.mark.parametrize("gpus", [0, "0"])
def test_am_01_pods_that_ask_for_zero_are_left_alone(gpus: int | str) -> None:
    """kyverno/policies, samples of check-nvidia-gpu: a quantity of zero is no request."""
    answer = review(pod(gpus=gpus), _cluster(families="hopper", quota="*=1"))
    assert (answer.allowed, answer.warnings, answer.patch) == (True, (), ())


def test_am_03_a_class_that_does_not_exist_is_never_injected() -> None:
    """aws-samples/aws-do-eks#96, LMCache/LMCache#4580, NVIDIA/gpu-operator#575: the driver is in the node's image.

    There is no strict variant that refuses: a missing class is a warning in every mode.
    """
    answer = review(pod(), cluster_of(t4_node(), namespace(families="turing")))
    assert answer.allowed
    assert not any("runtimeClassName" in op["path"] for op in answer.patch)
    assert answer.codes == ("runtime-class-missing",)
    assert "RuntimeClass nvidia does not exist" in answer.warnings[0]


def test_am_03_an_empty_name_switches_injection_off() -> None:
    """The same threads: a cluster that wants no class is not warned of its absence."""
    answer = review(pod(), cluster_of(t4_node(), config=configured(runtimeClasses={"nvidia": ""})))
    assert (answer.allowed, answer.warnings, answer.patch) == (True, (), ())


def test_am_05_a_class_of_the_user_stays() -> None:
    """UKGovernmentBEIS/inspect_k8s_sandbox#239: overriding leads to a conflict with the pod's node selector.

    No policy lists allowed classes, so nothing is refused; the audit annotation tells that the class was kept.
    """
    gvisor = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "gvisor"}}
    scheduling = {"scheduling": {"nodeSelector": {"runtime": "gvisor"}}}
    cluster = cluster_of(t4_node(labels={"runtime": "gvisor"}), NVIDIA_CLASS, gvisor | scheduling)
    answer = review(pod(runtimeClassName="gvisor", nodeSelector={"runtime": "gvisor"}), cluster)
    assert (answer.allowed, answer.warnings, answer.patch) == (True, (), ())
    assert answer.audit["runtime-class"] == "kept gvisor, which the pod names itself"


def test_am_07_a_gpu_of_an_init_container_alone_counts() -> None:
    """Project-HAMi/HAMi#2558: such pods went round webhook, scheduler and quota."""
    tree = pod("p", "team-a", container("app"), initContainers=[container("warm", gpus=1)])
    assert review(tree, _cluster()).patch == (SET_CLASS,)
    world = world_of(t4_node(), NVIDIA_CLASS, namespace(max_gpus_per_pod="1"))
    (view,) = simulated(tree, on=world)
    assert view.placement is not None
    assert view.placement.resources == {"nvidia.com/gpu": 1}
    assert not review(tree, _cluster(max_gpus_per_pod="0")).allowed


def test_am_09_fields_that_gpusched_does_not_know_survive() -> None:
    """GoogleCloudPlatform/berglas#264, doitintl/kube-secrets-init#53, piraeusdatastore/piraeus-operator#1025,
    kubernetes-sigs/windows-testing#576: webhooks that decode and encode the pod again drop newer fields.
    """
    tree = pod(
        "p",
        "team-a",
        container("a", gpus=1, restartPolicyRules=[{"action": "Restart", "exitCodes": {"operator": "In"}}]),
        initContainers=[container("sc", restartPolicy="Always")],
        volumes=[{"name": "m", "image": {"reference": "registry.example/model:1"}}],
        fieldOfNextYear={"a": [1, None, {}]},
    )
    answer = review(tree, _cluster())
    assert answer.patch == (SET_CLASS,)
    assert answer.applied_to(tree) == tree | {"spec": tree["spec"] | {"runtimeClassName": "nvidia"}}


@pytest.mark.parametrize(
    ("tree", "paths"),
    [
        (pod(), {"/spec/runtimeClassName"}),
        (
            pod(
                annotations={"gpusched.io/gpu-memory": "3Gi", "status.gpusched.io/bound": "t4"},
                tolerations=[{"key": "other", "operator": "Exists"}],
                affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
            ),
            {"/spec/runtimeClassName", "/spec/schedulingGates", "/spec/tolerations/-"},
        ),
    ],
)
def test_am_11_its_own_output_is_accepted(tree: Tree, paths: set[str]) -> None:
    """intel/intel-device-plugins-for-kubernetes#920: the API server may call a webhook twice for one pod."""
    taint = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
    simple = tree == pod()
    policy = {} if simple else {"families": "turing", "quota": "*=4"}
    nodes = t4_node(replicas=4) if simple else t4_node(replicas=4, taints=[taint])
    cluster = cluster_of(nodes, NVIDIA_CLASS, namespace(**policy))
    first = review(tree, cluster)
    assert first.allowed
    assert paths <= {op["path"] for op in first.patch}
    second = review(first.applied_to(tree), cluster)
    assert (second.allowed, second.patch) == (True, ())


def _without_gpu(name: str = "p", space: str = "team-a", **extra: Any) -> Tree:
    return pod(name, space, container("head", **extra))


def test_am_13_pods_without_a_gpu_see_none_where_policy_says_void() -> None:
    """NVIDIA/k8s-device-plugin#61, #87, #548, #1596, #1605, skypilot-org/skypilot#5823, ray-project/kuberay#2098.

    The rule is the namespace's `visible-devices: void` and concerns pods without any GPU, once a label sends them here.
    """
    assert review(_without_gpu(), _cluster(visible_devices="void")).patch == ()
    cluster = _cluster(COVERED, visible_devices="void")
    answer = review(_without_gpu(), cluster)
    env = [{"name": VARIABLE, "value": "void"}]
    assert answer.patch == ({"op": "add", "path": "/spec/containers/0/env", "value": env},)
    assert review(_without_gpu(env=[{"name": VARIABLE, "value": "none"}]), cluster).patch == ()
    assert not review(_without_gpu(env=[{"name": VARIABLE, "value": "all"}]), cluster).allowed


def test_am_13_pods_with_a_gpu_exempt_namespaces_and_the_default_are_left_alone() -> None:
    """The same threads: isolation must not break pods that asked, or the node stack."""
    cluster = _cluster(COVERED, visible_devices="void")
    assert review(pod("p", "team-a", container("head"), container("worker", gpus=1)), cluster).patch == (SET_CLASS,)
    everywhere = configured(defaultPolicy={"mode": "enforce", "visible-devices": "void"})
    spaces = [namespace(name, COVERED) for name in ("team-a", "kube-system")]
    assert review(_without_gpu(), cluster_of(*spaces, config=everywhere)).patch != ()
    assert review(_without_gpu(space="kube-system"), cluster_of(*spaces, config=everywhere)).patch == ()
    assert review(_without_gpu(), _cluster(COVERED)).patch == ()


@pytest.mark.parametrize("space", ["gpu-operator", "team-a"])
def test_am_15_a_class_without_a_gpu_is_legal(space: str) -> None:
    """NVIDIA/k8s-device-plugin#477, and the DaemonSets of NVIDIA/gpu-operator: the node stack uses the class."""
    tree = pod("validator", space, container(resources={}), runtimeClassName="nvidia")
    answer = review(tree, _cluster(families="hopper"))
    assert (answer.allowed, answer.warnings, answer.patch) == (True, (), ())


def test_am_17_overhead_and_scheduling_of_the_class_are_left_to_the_api_server() -> None:
    """kubernetes/kubernetes#78484, #84884, kubernetes-sigs/kueue#14289: only the built-in plugin may write them."""
    rich = NVIDIA_CLASS | {
        "overhead": {"podFixed": {"cpu": "250m"}},
        "scheduling": {"nodeSelector": {"gpu": "on"}, "tolerations": [{"key": "gpu", "operator": "Exists"}]},
    }
    assert review(pod(), cluster_of(t4_node(), rich)).patch == (SET_CLASS,)
    (view,) = simulated(pod(), on=world_of(t4_node("off"), t4_node("on", labels={"gpu": "on"}), rich))
    assert view.placement is not None
    assert view.placement.node == "on"


@pytest.mark.parametrize("spec", [{"nodeSelector": {"gpu": "off"}}, {"overhead": {"cpu": "100m"}}])
def test_am_17_a_class_that_contradicts_the_pod_is_not_set(spec: Tree) -> None:
    """The same threads: the API server's refusal would not tell who set the class."""
    rich = NVIDIA_CLASS | {
        "overhead": {"podFixed": {"cpu": "250m"}},
        "scheduling": {"nodeSelector": {"gpu": "on"}},
    }
    answer = review(pod(**spec), cluster_of(t4_node(labels={"gpu": "off"}), rich))
    assert (answer.allowed, answer.patch) == (True, ())
    assert answer.codes == ("runtime-class-missing",)
