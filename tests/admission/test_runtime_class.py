from typing import Any

import pytest

from gpusched.admission.admission import Op
from gpusched.core.cluster_facts import ClusterFacts, OperatorFacts, RuntimeClass
from gpusched.policy.model import Config
from tests.admission.patching import NVIDIA_CLASS, mutated
from tests.build import container, pod

K3S = ClusterFacts(known=True, runtime_classes=NVIDIA_CLASS)
SET = (Op("add", "/spec/runtimeClassName", "nvidia"),)


def operator(**facts: Any) -> ClusterFacts:
    return ClusterFacts(known=True, runtime_classes=NVIDIA_CLASS, operator=OperatorFacts(**facts))


def why(mutation: Any) -> str:
    return dict(mutation.audit)["runtime-class"]


@pytest.mark.parametrize(
    ("facts", "patch", "reason"),
    [
        (K3S, SET, "set nvidia: the nodes need it for nvidia"),
        (operator(version=(25, 10)), (), "not set: the GPU Operator injects devices through CDI"),
        (operator(version=(26, 3), cdi_enabled=True), (), "not set: the GPU Operator injects devices through CDI"),
        (operator(version=(25, 10), cdi_enabled=False), SET, "set nvidia: the nodes need it for nvidia"),
        (operator(version=(25, 3), cdi_enabled=True), SET, "set nvidia: the nodes need it for nvidia"),
        (operator(version=(24, 9)), SET, "set nvidia: the nodes need it for nvidia"),
        (operator(), SET, "set nvidia: the nodes need it for nvidia"),
        (operator(nri_enabled=True), (), "not set: the GPU Operator runs in NRI mode"),
        (ClusterFacts(), (), "not set: whether nvidia exists is not known"),
        (ClusterFacts(known=True, dialects=frozenset({"gke"})), (), "not set: GKE's device plugin needs none"),
    ],
)
def test_auto_sets_the_class_only_where_the_nodes_need_it(facts: ClusterFacts, patch: Any, reason: str) -> None:
    mutation = mutated(pod(), facts=facts)
    assert (mutation.patch, why(mutation), mutation.warnings) == (patch, reason, ())


def test_a_gpu_asked_for_by_an_init_container_alone_counts() -> None:
    tree = pod("p", "team-a", container(), initContainers=[container("warm", gpus=1)])
    assert mutated(tree, facts=K3S).patch == SET


def test_a_class_that_is_not_there_is_a_warning_and_no_patch() -> None:
    mutation = mutated(pod(), facts=ClusterFacts(known=True))
    assert mutation.patch == ()
    assert [f"{finding.code}: {finding.message}" for finding in mutation.warnings] == [
        'runtime-class-missing: RuntimeClass nvidia does not exist: not set. Create it, or configure "" for none.'
    ]


@pytest.mark.parametrize("own", ["gvisor", "nvidia", ""])
def test_a_users_class_is_never_changed(own: str) -> None:
    mutation = mutated(pod(runtimeClassName=own, nodeSelector={"runtime": "gvisor"}), facts=K3S)
    assert mutation.patch == ()
    assert why(mutation) == f"kept {own}, which the pod names itself"


def test_null_is_no_class() -> None:
    assert mutated(pod(runtimeClassName=None), facts=K3S).patch == SET


@pytest.mark.parametrize(
    ("runtime_class", "spec", "conflict"),
    [
        (
            RuntimeClass("nvidia", node_selector={"gpu": "on"}),
            {"nodeSelector": {"gpu": "off"}},
            "its nodeSelector gpu=on conflicts with gpu=off of the pod",
        ),
        (
            RuntimeClass("nvidia", overhead={"cpu": "250m"}),
            {"overhead": {"cpu": "1"}},
            "its overhead differs from spec.overhead of the pod",
        ),
        (RuntimeClass("nvidia"), {"overhead": {"cpu": "1"}}, "its overhead differs from spec.overhead of the pod"),
    ],
)
def test_a_conflict_with_the_pod_is_a_warning_and_no_patch(
    runtime_class: RuntimeClass, spec: dict[str, Any], conflict: str
) -> None:
    mutation = mutated(pod(**spec), facts=ClusterFacts(known=True, runtime_classes={"nvidia": runtime_class}))
    assert mutation.patch == ()
    assert why(mutation) == f"not set: {conflict}"
    assert [finding.code for finding in mutation.warnings] == ["runtime-class-missing"]


@pytest.mark.parametrize(
    ("runtime_class", "spec"),
    [
        (RuntimeClass("nvidia", overhead={"cpu": "250m"}, node_selector={"gpu": "on"}), {}),
        (RuntimeClass("nvidia", node_selector={"gpu": "on"}), {"nodeSelector": {"gpu": "on", "zone": "a"}}),
        (RuntimeClass("nvidia", overhead={"cpu": "1000m"}), {"overhead": {"cpu": "1"}}),
    ],
)
def test_overhead_and_scheduling_of_the_class_are_left_to_the_api_server(
    runtime_class: RuntimeClass, spec: dict[str, Any]
) -> None:
    facts = ClusterFacts(known=True, runtime_classes={"nvidia": runtime_class})
    assert mutated(pod(**spec), facts=facts).patch == SET


def test_policy_never_and_policy_name() -> None:
    facts = ClusterFacts(known=True, runtime_classes={**NVIDIA_CLASS, "kata-gpu": RuntimeClass("kata-gpu")})
    assert mutated(pod(), facts=facts, policy={"runtime-class": "never"}).patch == ()
    named = mutated(pod(), facts=facts, policy={"runtime-class": "kata-gpu"})
    assert named.patch == (Op("add", "/spec/runtimeClassName", "kata-gpu"),)
    missing = mutated(pod(), facts=facts, policy={"runtime-class": "kata"})
    assert (missing.patch, [finding.code for finding in missing.warnings]) == ((), ["runtime-class-missing"])


def test_a_policys_name_holds_where_auto_would_not_need_it() -> None:
    facts = operator(version=(25, 10))
    assert mutated(pod(), facts=facts, policy={"runtime-class": "nvidia"}).patch == SET


@pytest.mark.parametrize("vendor", ["amd.com/gpu", "gpu.intel.com/xe"])
def test_other_vendors_have_none_by_default(vendor: str) -> None:
    assert mutated(pod(resource=vendor), facts=K3S).patch == ()


def test_vendors_that_need_different_classes_get_none() -> None:
    classes = {**NVIDIA_CLASS, "amd": RuntimeClass("amd")}
    mixed = pod("p", "team-a", container("a", gpus=1), container("b", gpus=1, resource="amd.com/gpu"))
    config = Config(runtime_classes={"nvidia": "nvidia", "amd": "amd"})
    mutation = mutated(mixed, facts=ClusterFacts(known=True, runtime_classes=classes), config=config)
    assert (mutation.patch, why(mutation)) == ((), "not set: amd, nvidia in one pod need amd and nvidia")


@pytest.mark.parametrize("mode", ["audit", "off"])
def test_modes_that_only_watch_set_no_class_but_the_pods_own_wish_holds(mode: str) -> None:
    assert mutated(pod(), facts=K3S, policy={"mode": mode}).patch == ()
    wish = pod(annotations={"gpusched.io/runtime-class": "nvidia"})
    assert mutated(wish, facts=K3S, policy={"mode": mode}).patch == SET


def test_a_class_that_the_policy_names_is_not_cured_by_configuration() -> None:
    mutation = mutated(pod(), facts=ClusterFacts(known=True), policy={"runtime-class": "kata"})
    assert [str(finding.message) for finding in mutation.warnings] == [
        "RuntimeClass kata does not exist: not set. Create it, or write never."
    ]
