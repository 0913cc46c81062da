"""Pods that fail late in a cluster, as met in public trackers, and what admission says of them."""

from typing import Any

import pytest

from gpusched.core.demand import demand
from gpusched.core.read_pod import read_pod
from gpusched.core.resources import GpuResources
from tests.build import Tree, bound, container, namespace, node, pod, t4_node
from tests.cases.trial import NVIDIA_CLASS, cluster_of, reasons, review, simulated, world_of

SET_CLASS = {"op": "add", "path": "/spec/runtimeClassName", "value": "nvidia"}


def _asking(limits: Tree, requests: Tree | None = None) -> Tree:
    resources = {"limits": limits} | ({"requests": requests} if requests is not None else {})
    return pod("p", "team-a", container(resources=resources))


@pytest.mark.parametrize("mode", ["enforce", "warn", "audit"])
def test_av_02_a_range_of_gpus_is_refused(mode: str) -> None:
    """NVIDIA/k8s-device-plugin#154, volcano-sh/kthena#576: extended resources cannot be over-committed."""
    answer = review(_asking({"nvidia.com/gpu": 3}, {"nvidia.com/gpu": 1}), cluster_of(namespace(mode=mode)))
    assert not answer.allowed
    assert answer.message.startswith(
        "gpu-request-equals-limit: container main requests nvidia.com/gpu: 1 but limits it to 3. "
        "Set both to the same number"
    )


def test_av_02_a_template_is_refused_when_it_is_applied() -> None:
    """The same threads: a workload's template reaches the API server without the defaults that a pod gets."""
    template = {"spec": _asking({"nvidia.com/gpu": 3}, {"nvidia.com/gpu": 1})["spec"]}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "team-a"}}
    answer = review(job | {"spec": {"template": template}}, cluster_of())
    assert not answer.allowed
    assert answer.message.startswith("gpu-request-equals-limit: container main requests nvidia.com/gpu: 1")


def test_av_04_a_limit_of_zero_does_not_excuse_a_request() -> None:
    """kubernetes/kubernetes#50182, #50218: the comparison was skipped for a zero limit."""
    answer = review(_asking({"nvidia.com/gpu": 0}, {"nvidia.com/gpu": 1}), cluster_of())
    assert not answer.allowed
    assert answer.message.startswith("gpu-request-equals-limit: ")


def test_av_06_the_refusal_of_unequal_amounts_hints_at_limit_ranges() -> None:
    """kubernetes/kubernetes#54917: a LimitRange wrote both amounts, the user none of them."""
    answer = review(_asking({"nvidia.com/gpu": 3}, {"nvidia.com/gpu": 2}), cluster_of())
    assert answer.message == (
        "gpu-request-equals-limit: container main requests nvidia.com/gpu: 2 but limits it to 3. "
        "Set both to the same number; if you did not write them, a LimitRange did."
    )


def test_av_08_two_vendors_in_one_pod_are_warned_of() -> None:
    """opendatahub-io/architecture-context#64: template and profile were merged, the pod waited for ever.

    A node with both kinds may come with the autoscaler, so this is a warning, and `simulate` shows the wait.
    """
    tree = _asking({"nvidia.com/gpu": 1, "amd.com/gpu": 1})
    world = world_of(t4_node("t4"), node("mi", resource="amd.com/gpu"))
    answer = review(tree, world.cluster)
    assert answer.allowed
    assert "gpu-mixed-resources" in answer.codes
    assert any("amd.com/gpu, nvidia.com/gpu" in line for line in answer.warnings)
    (view,) = simulated(tree, on=world)
    assert reasons(view) == {"no-resource": 2}


def test_av_08_two_vendors_are_refused_where_families_are_of_one() -> None:
    """The same thread, in a namespace whose policy rules one of the two vendors out."""
    answer = review(_asking({"nvidia.com/gpu": 1, "amd.com/gpu": 1}), cluster_of(namespace(families="turing")))
    assert not answer.allowed
    assert answer.message.startswith("gpu-policy-family: ")
    assert "amd.com/gpu" in answer.message


@pytest.mark.parametrize("first", [True, False])
def test_av_10_a_privileged_container_changes_nothing(*, first: bool) -> None:
    """Project-HAMi/HAMi#2138, #1352, #611: pods with one were said to be denied, or went to another scheduler.

    There is no rule against privileged containers, so the pod is treated as any other, in any order.
    """
    side, gpu = container("side", securityContext={"privileged": True}), container("gpu", gpus=1)
    tree = pod("p", "team-a", *((side, gpu) if first else (gpu, side)))
    answer = review(tree, cluster_of(t4_node(), NVIDIA_CLASS))
    assert (answer.allowed, answer.warnings, answer.patch) == (True, (), (SET_CLASS,))


OWNED = {"gpusched.io/assigned-node": "n1", "gpusched.io/assigned-gpus": "GPU-0"}


@pytest.mark.parametrize("scheduler", ["default-scheduler", "another-scheduler"])
def test_av_12_allocations_written_by_users_are_refused_or_removed(scheduler: str) -> None:
    """Project-HAMi/HAMi#3041, #3042, #3074: a user picked his GPU with the scheduler's own annotations.

    Unknown keys are refused where the mode enforces and warned of elsewhere; gpusched's own keys are removed.
    """
    strict = cluster_of(t4_node(), NVIDIA_CLASS, namespace(families="turing"))
    answer = review(pod(annotations=OWNED, schedulerName=scheduler), strict)
    assert not answer.allowed
    assert all(f"policy-malformed: pod has {key}, which is no known key" in answer.message for key in OWNED)

    tree = pod(annotations=OWNED | {"status.gpusched.io/bound": "n1"}, schedulerName=scheduler)
    lenient = review(tree, cluster_of(t4_node(), NVIDIA_CLASS, namespace()))
    assert lenient.allowed
    assert lenient.codes == ("policy-malformed",) * 3
    assert lenient.applied_to(tree)["metadata"]["annotations"] == OWNED


def test_av_12_updates_of_other_annotations_pass() -> None:
    """The same threads: only the creation of a pod is judged here."""
    before = pod(annotations=OWNED)
    after = pod(annotations=OWNED | {"team": "a"})
    answer = review(after, cluster_of(namespace(families="turing")), old=before)
    assert (answer.allowed, answer.warnings, answer.patch) == (True, (), ())


def _owned_by(kind: str) -> Tree:
    tree = pod(nodeName="gpu-1")
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": "x", "uid": "u", "controller": True}
    tree["metadata"]["ownerReferences"] = [reference]
    return tree


def test_av_14_a_preset_node_is_refused_where_policy_enforces() -> None:
    """Project-HAMi/HAMi#488, #42, #71: neither scheduler nor extender sees such a pod."""
    strict = cluster_of(t4_node("gpu-1"), NVIDIA_CLASS, namespace(families="turing"))
    expected = (
        "gpu-node-name: spec.nodeName gpu-1 skips the scheduler. "
        "Use nodeSelector kubernetes.io/hostname: gpu-1 instead."
    )
    assert review(pod(nodeName="gpu-1"), strict).message == expected
    assert review(_owned_by("ReplicaSet"), strict).message == expected
    assert review(_owned_by("DaemonSet"), strict).allowed
    mirror = pod(nodeName="gpu-1", annotations={"kubernetes.io/config.mirror": "abc"})
    assert review(mirror, strict).allowed
    cpu = pod(gpus=None, nodeName="gpu-1")
    assert review(cpu, strict).allowed


def test_av_14_a_preset_node_that_is_allowed_counts() -> None:
    """The same threads: without a policy it is a warning, and its GPU is taken."""
    world = world_of(t4_node("gpu-1"), NVIDIA_CLASS, namespace())
    preset, next_one = simulated(pod("preset", nodeName="gpu-1"), pod("next"), on=world)
    assert [warning.code for warning in preset.admission.warnings] == ["gpu-node-name"]
    assert preset.placement is not None
    assert preset.placement.node == "gpu-1"
    assert reasons(next_one) == {"native-resources": 1}
    standing = cluster_of(t4_node("gpu-1"), bound(pod("preset"), "gpu-1", ours=False))
    assert standing.nodes["gpu-1"].use("nvidia.com/gpu").used == 1


def test_av_16_empty_and_null_resources_are_nothing() -> None:
    """kyverno/kyverno#16093: a rule measured a field that was not there."""
    containers: list[dict[str, Any]] = [
        {"name": "null", "resources": None},
        {"name": "absent"},
        {"name": "no-limits", "resources": {"limits": None}},
        {"name": "gpu", "resources": {"limits": {"nvidia.com/gpu": "1"}, "requests": {}}},
    ]
    tree = pod("p", "team-a", *containers)
    assert review(tree, cluster_of(t4_node(), NVIDIA_CLASS)).patch == (SET_CLASS,)
    asked = demand(read_pod(tree, []), GpuResources(), None)
    assert [(item.name, dict(item.slots)) for item in asked.containers] == [("gpu", {"nvidia.com/gpu": 1})]


@pytest.mark.parametrize(
    "text", ["NaN", "nan", "Inf", "-Inf", "-0.1", "-1Gi", "1.5", "0,5", "0", "0Gi", "", " ", "1e400", "0x10Gi", "٣Gi"]
)
def test_av_18_numbers_that_are_none_are_refused(text: str) -> None:
    """kai-scheduler/KAI-Scheduler#1805: NaN passed a range check. Here the number is the memory claim."""
    answer = review(pod(annotations={"gpusched.io/gpu-memory": text}), cluster_of(t4_node(), NVIDIA_CLASS))
    assert not answer.allowed
    assert answer.message.startswith('gpu-claim: pod has gpusched.io/gpu-memory "')
    assert "; write " in answer.message
