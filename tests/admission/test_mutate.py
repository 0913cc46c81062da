from typing import Any

import pytest

from gpusched.admission.admission import Op
from gpusched.admission.mutate import Mutation
from gpusched.core.cluster_facts import ClusterFacts
from gpusched.core.node import Taint
from tests.admission.patching import NVIDIA_CLASS, applied, mutated, mutated_pod
from tests.build import container, pod

K3S = ClusterFacts(
    known=True,
    runtime_classes=NVIDIA_CLASS,
    gpu_taints=(Taint("nvidia.com/gpu", "present"),),
    dialects=frozenset({"gke"}),
)
EVERYTHING = {"families": "hopper", "quota": "hopper=4", "node-selector": "a=b"}
VOID = {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}


def test_a_plain_gpu_pod_gets_the_class_alone() -> None:
    mutation = mutated(pod(), facts=ClusterFacts(known=True, runtime_classes=NVIDIA_CLASS))
    assert mutation == Mutation(
        (Op("add", "/spec/runtimeClassName", "nvidia"),),
        (),
        (("runtime-class", "set nvidia: the nodes need it for nvidia"), ("lowered", "nothing: no static rule")),
    )


def test_everything_at_once_and_nothing_the_second_time() -> None:
    tree = pod(annotations={"gpusched.io/gpu-memory": "6Gi"})
    mutation = mutated(tree, policy=EVERYTHING, facts=K3S)
    assert [(op.op, op.path) for op in mutation.patch] == [
        ("add", "/spec/runtimeClassName"),
        ("add", "/spec/tolerations"),
        ("add", "/spec/affinity"),
        ("add", "/spec/containers/0/env"),
        ("add", "/spec/schedulingGates"),
        ("add", "/metadata/annotations/status.gpusched.io~1lowered"),
        ("add", "/metadata/annotations/status.gpusched.io~1policy-hash"),
    ]
    again = mutated(applied(tree, mutation.patch), policy=EVERYTHING, facts=K3S)
    assert (again.patch, again.warnings) == ((), ())


def test_fields_that_gpusched_does_not_know_survive() -> None:
    tree = pod(
        "p",
        "team-a",
        container("a", gpus=1, restartPolicyRules=[{"action": "Restart"}]),
        initContainers=[{"name": "sc", "restartPolicy": "Always", "image": "x"}],
        volumes=[{"name": "m", "image": {"reference": "r/x:1"}}],
    )
    mutation = mutated(tree, policy=EVERYTHING, facts=K3S)
    assert {op.op for op in mutation.patch} == {"add"}
    after = applied(tree, mutation.patch)
    for added in ("runtimeClassName", "tolerations", "affinity", "schedulingGates"):
        del after["spec"][added]
    del after["metadata"]["annotations"]
    assert after == tree


@pytest.mark.parametrize(
    ("tree", "arguments"),
    [
        (pod(gpus=None), {}),
        (pod(gpus=0), {}),
        (pod(resource="example.com/gpumem"), {}),
        (pod(gpus=None, annotations={"gpusched.io/families": "hopper"}), {}),
        (pod(), {"operation": "UPDATE"}),
        (pod(), {"template": True}),
        (pod(namespace="kube-system"), {}),
        (pod(annotations={"kubernetes.io/config.mirror": "x"}), {}),
        (pod(namespace="gpu-operator", gpus=None, runtimeClassName="nvidia"), {}),
    ],
)
def test_whom_nothing_is_done_to(tree: Any, arguments: dict[str, Any]) -> None:
    mutation = mutated(tree, **{"policy": EVERYTHING, "facts": K3S, **arguments})
    assert (mutation.patch, mutation.warnings) == ((), ())


@pytest.mark.parametrize("tree", [None, [], "text", 5])
def test_what_is_no_object_is_left_alone(tree: Any) -> None:
    assert mutated(tree, policy=EVERYTHING, facts=K3S).patch == ()


@pytest.mark.parametrize("gpus", [None, 1])
def test_annotations_in_gpuscheds_name_are_removed_with_a_warning(gpus: int | None) -> None:
    forged = {"status.gpusched.io/bound": "n1", "status.gpusched.io/lowered": "x", "a": "b"}
    mutation = mutated(pod(gpus=gpus, annotations=forged))
    assert mutation.patch == (
        Op("remove", "/metadata/annotations/status.gpusched.io~1bound"),
        Op("remove", "/metadata/annotations/status.gpusched.io~1lowered"),
    )
    assert [f"{finding.code}: {finding.message}" for finding in mutation.warnings] == [
        "policy-malformed: pod has status.gpusched.io/bound, which only gpusched writes: it is removed.",
        "policy-malformed: pod has status.gpusched.io/lowered, which only gpusched writes: it is removed.",
    ]


def test_a_forged_hash_is_written_over() -> None:
    tree = pod(annotations={"status.gpusched.io/policy-hash": "0"})
    after = mutated_pod(tree, policy={"families": "hopper"})
    assert after["metadata"]["annotations"]["status.gpusched.io/policy-hash"] != "0"


def test_warnings_become_audit_pairs_where_the_mode_only_watches() -> None:
    env = [{"name": "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "value": "0=8G"}]
    tree = pod("p", "team-a", container(gpus=1, env=env), annotations={"gpusched.io/gpu-memory": "6Gi"})
    assert [finding.code for finding in mutated(tree, policy={"mode": "warn"}).warnings] == ["gpu-claim"]
    mutation = mutated(tree, policy={"mode": "audit"})
    assert mutation.warnings == ()
    assert "gpu-claim" in dict(mutation.audit)


def test_audit_keys_are_single_names() -> None:
    # apiserver admission/audit.go prefixes the webhook's name and drops keys that have a slash of their own.
    assert all("/" not in key for key, _ in mutated(pod(), policy=EVERYTHING, facts=K3S).audit)


def test_void_hides_devices_from_pods_without_gpus() -> None:
    own = {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}
    tree = pod(
        "p",
        "team-a",
        container("head"),
        container("own", env=[own]),
        container("other", env=[{"name": "A"}]),
        initContainers=[container("init", gpus=0)],
    )
    spec = mutated_pod(tree, policy={"visible-devices": "void"})["spec"]
    assert [item["env"] for item in spec["initContainers"]] == [[VOID]]
    assert [item["env"] for item in spec["containers"]] == [[VOID], [own], [{"name": "A"}, VOID]]


@pytest.mark.parametrize(
    ("tree", "policy"),
    [
        (pod(gpus=1), {"visible-devices": "void"}),
        (pod(gpus=None), {"visible-devices": "allow"}),
        (pod(gpus=None), {"visible-devices": "deny"}),
        (pod(gpus=None), {"visible-devices": "void", "mode": "warn"}),
        (pod(gpus=None), {"visible-devices": "void", "mode": "enforce,visible-devices=audit"}),
        (pod(gpus=None, namespace="kube-system"), {"visible-devices": "void"}),
    ],
)
def test_void_is_not_set(tree: Any, policy: dict[str, str]) -> None:
    assert "env" not in mutated_pod(tree, policy=policy)["spec"]["containers"][0]
