"""Each rule of admission as the user meets it: the whole text of a refusal or warning at the creation of a pod."""

import pytest

from tests.build import container, h100_node, node, pod, t4_node
from tests.e2e.seen import denied, nodes_seen, policy

GPU = "nvidia.com/gpu"
VISIBLE = {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}


def asking(limits=None, requests=None, **extra):
    """A pod whose container has exactly these resources."""
    amounts = {"limits": limits or {}, "requests": requests or {}}
    return {"containers": [container(resources=amounts, **extra)]}


def made(about, where, name="p"):
    """The pod of a case: its annotations under their short keys, its GPUs, and parts of its spec."""
    spec = dict(about)
    notes = {f"gpusched.io/{key}": value for key, value in spec.pop("notes", {}).items()}
    return pod(name, where, annotations=notes, gpus=spec.pop("gpus", 1), **spec)


REFUSED = {
    "fraction": (
        {},
        {"gpus": "0.5"},
        (
            "gpu-quantity: container main asks nvidia.com/gpu: 500m (0.5); use whole numbers. "
            "For part of a GPU: 1 plus gpusched.io/gpu-memory: 8Gi."
        ),
    ),
    "negative": (
        {},
        {"gpus": -1},
        (
            "gpu-quantity: container main asks nvidia.com/gpu: -1; a number of GPUs cannot be negative. "
            "Write 0, 1 or more."
        ),
    ),
    "no limit": (
        {},
        asking(requests={GPU: 1}),
        "gpu-limit-required: container main requests nvidia.com/gpu: 1 without a limit. Put it under resources.limits.",
    ),
    "unequal": (
        {},
        asking({GPU: 2}, {GPU: 1}),
        (
            "gpu-request-equals-limit: container main requests nvidia.com/gpu: 1 but limits it to 2. "
            "Set both to the same number; if you did not write them, a LimitRange did."
        ),
    ),
    "bare name": (
        {},
        asking({"gpu": 1}),
        "gpu-unknown-resource: container main asks gpu: 1, which is no resource name. Write nvidia.com/gpu: 1.",
    ),
    "dotted name": (
        {},
        asking({"nvidia.com.gpu": 1}),
        (
            "gpu-unknown-resource: container main asks nvidia.com.gpu: 1, which is no resource name. "
            "Write nvidia.com/gpu: 1."
        ),
    ),
    "GPU of the pod as a whole": (
        {},
        {"resources": {"limits": {GPU: 1}}, "gpus": None},
        "gpu-unknown-resource: spec.resources cannot hold nvidia.com/gpu; put it under a container's resources.limits.",
    ),
    "family": (
        {"families": "ampere, turing"},
        {"notes": {"families": "hopper"}},
        (
            "gpu-policy-family: pod asks for hopper; namespace {ns} allows ampere, turing. "
            "Set gpusched.io/families to one of these."
        ),
    ),
    "family by resource": (
        {"families": "turing"},
        {"resource": "amd.com/gpu"},
        "gpu-policy-family: pod asks for amd.com/gpu; namespace {ns} allows turing. Ask for another resource.",
    ),
    "family by node selector": (
        {"families": "turing"},
        {"nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}},
        (
            "gpu-policy-family: pod asks for NVIDIA-H100-80GB-HBM3; namespace {ns} allows turing. "
            "Change nodeSelector nvidia.com/gpu.product."
        ),
    ),
    "product": (
        {"products": "t4, a10"},
        {"notes": {"products": "h100"}},
        (
            "gpu-policy-product: pod asks for h100; namespace {ns} allows t4, a10. "
            "Set gpusched.io/products to one of these."
        ),
    ),
    "memory": (
        {"max_gpu_memory": "16Gi"},
        {"notes": {"min-gpu-memory": "40Gi"}},
        (
            "gpu-policy-memory: pod asks for at least 40Gi; namespace {ns} allows at most 16Gi. "
            "Set gpusched.io/min-gpu-memory and max-gpu-memory within that."
        ),
    ),
    "memory by profile": (
        {"min_gpu_memory": "20Gi"},
        {"resource": "nvidia.com/mig-1g.5gb"},
        (
            "gpu-policy-memory: pod asks for nvidia.com/mig-1g.5gb; namespace {ns} allows at least 20Gi. "
            "Ask for another resource."
        ),
    ),
    "sharing": (
        {"sharing": "none"},
        {"notes": {"sharing": "mps"}},
        "gpu-policy-sharing: pod asks for mps; namespace {ns} allows none. Set gpusched.io/sharing to one of these.",
    ),
    "version": (
        {"min_cuda_version": "12.4"},
        {"resource": "amd.com/gpu"},
        (
            "gpu-policy-version: pod asks for amd.com/gpu; namespace {ns} allows only CUDA 12.4 or later. "
            "Ask for another resource."
        ),
    ),
    "too many": (
        {"max_gpus_per_pod": "4"},
        {"containers": [container("train", gpus=4), container("eval", gpus=2)]},
        "gpu-policy-max-gpus: pod asks 6 GPUs (train 4, eval 2); {ns} allows 4 per pod. Ask for 4 or split the pod.",
    ),
    "shared single": (
        {"sharing": "mps"},
        {"gpus": 2},
        (
            "gpu-shared-single: container main asks nvidia.com/gpu: 2; namespace {ns} allows only mps, "
            "where one container gets one slot. Ask for 1 or split it over containers."
        ),
    ),
    "node name": (
        {"families": "turing"},
        {"nodeName": "gpu-07"},
        (
            "gpu-node-name: spec.nodeName gpu-07 skips the scheduler. "
            "Use nodeSelector kubernetes.io/hostname: gpu-07 instead."
        ),
    ),
    "visible devices": (
        {"visible_devices": "deny", "mode": "enforce"},
        asking({GPU: 1}, env=[VISIBLE]),
        (
            "gpu-visible-devices: container main sets NVIDIA_VISIBLE_DEVICES to all, which goes round the GPU count. "
            "Remove it: the device plugin sets it."
        ),
    ),
    "claim without GPU": (
        {},
        {"gpus": None, "notes": {"gpu-memory": "6Gi"}},
        (
            "gpu-claim: pod has gpusched.io/gpu-memory but asks for no GPU. "
            "Add nvidia.com/gpu: 1 under resources.limits or drop the claim."
        ),
    ),
    "claim without unit": (
        {},
        {"notes": {"gpu-memory": "2000"}},
        'gpu-claim: pod has gpusched.io/gpu-memory "2000" without unit; write 2000Mi.',
    ),
    "malformed": (
        {},
        {"notes": {"min-gpu-memory": "20GB"}},
        (
            'policy-malformed: pod has gpusched.io/min-gpu-memory "20GB", which is not how Kubernetes writes memory; '
            "write 20G."
        ),
    ),
    "unknown key": (
        {"mode": "enforce", "families": "turing"},
        {"notes": {"gpu-memroy": "6Gi"}},
        "policy-malformed: pod has gpusched.io/gpu-memroy, which is no known key; write gpusched.io/gpu-memory.",
    ),
    "two findings": (
        {"families": "turing", "max_gpus_per_pod": "1"},
        {"gpus": 2, "notes": {"families": "hopper"}},
        (
            "gpu-policy-family: pod asks for hopper; namespace {ns} allows turing. "
            "Set gpusched.io/families to one of these.\n"
            "gpu-policy-max-gpus: pod asks 2 GPUs; {ns} allows 1 per pod. Ask for 1."
        ),
    ),
}


@pytest.mark.parametrize(("rules", "about", "message"), REFUSED.values(), ids=REFUSED)
def test_pod_is_refused_in_these_words(installed, control_plane, namespace, rules, about, message):
    policy(control_plane, namespace, **rules)

    answer = control_plane.create(made(about, namespace))

    assert (answer.status, answer.message) == (403, denied(message.format(ns=namespace)))
    assert answer.tree["reason"] == "Forbidden"
    assert control_plane.request("GET", f"/api/v1/namespaces/{namespace}/pods/p").status == 404


WARNED = {
    "near miss": (
        asking({"nvidia.com/gpus": 1}),
        "gpu-unknown-resource: nvidia.com/gpus is no known GPU resource. Did you mean nvidia.com/gpu?",
    ),
    "absent profile": (
        {"resource": "nvidia.com/mig-1g.6gb"},
        (
            "gpu-unknown-resource: no present node offers nvidia.com/mig-1g.6gb. The nearest offered is "
            "nvidia.com/mig-1g.5gb."
        ),
        "gpu-no-node: no present node offers nvidia.com/mig-1g.6gb. Autoscaled nodes may.",
    ),
    "together": (
        asking({GPU: 1, "nvidia.com/mig-1g.5gb": 1}),
        "gpu-mixed-resources: pod asks nvidia.com/gpu, nvidia.com/mig-1g.5gb; no present node serves these together.",
        "gpu-unspecific: nvidia.com/gpu here has 15.0Gi to 79.6Gi. Set gpusched.io/min-gpu-memory.",
        (
            "gpu-no-node: no present node has nvidia.com/gpu: 1 and nvidia.com/mig-1g.5gb: 1 together."
            " Autoscaled nodes may."
        ),
    ),
    "unequal memory": (
        {},
        "gpu-unspecific: nvidia.com/gpu here has 15.0Gi to 79.6Gi. Set gpusched.io/min-gpu-memory.",
    ),
    "claim too large": (
        {"notes": {"gpu-memory": "90Gi"}},
        "gpu-claim: claim 90Gi is more than any present slot of nvidia.com/gpu can give. Largest possible: 81151Mi.",
    ),
    "too large for any node": (
        {"gpus": 9, "notes": {"families": "hopper"}},
        "gpu-no-node: no present node has nvidia.com/gpu: 9; the largest has 8. Autoscaled nodes may.",
    ),
    "all shared": (
        {"gpus": 2, "notes": {"families": "turing"}},
        (
            "gpu-shared-single: container main asks nvidia.com/gpu: 2; on shared GPUs this gives no more than one "
            "does. Ask for 1."
        ),
    ),
    "class that is not there": (
        {"notes": {"runtime-class": "gvisor", "families": "hopper"}},
        "runtime-class-missing: RuntimeClass gvisor does not exist: not set. Create it, or write never.",
    ),
    "MPS limit above the claim": (
        asking({GPU: 1}, env=[{"name": "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "value": "0=8G"}])
        | {"notes": {"gpu-memory": "6Gi"}},
        'gpu-claim: container main sets CUDA_MPS_PINNED_DEVICE_MEM_LIMIT "0=8G", above its claim of 6Gi. Lower it.',
    ),
    "written by others": (
        {"notes": {"families": "hopper"}, "forged": True},
        "policy-malformed: pod has status.gpusched.io/bound, which only gpusched writes: it is removed.",
    ),
}


@pytest.mark.parametrize(("about", "warnings"), [(about, texts) for about, *texts in WARNED.values()], ids=WARNED)
def test_pod_is_created_with_this_warning(installed, control_plane, namespace, fake_nodes, about, warnings):
    mig = node("mig", gpus=7, resource="nvidia.com/mig-1g.5gb")
    fake_nodes([t4_node("t4", gpus=2, replicas=4), h100_node("h100"), mig])
    nodes_seen(control_plane, "t4", "h100", "mig")
    case = dict(about)
    forged = {"status.gpusched.io/bound": "h100"} if case.pop("forged", False) else {}
    tree = made(case, namespace)
    tree["metadata"]["annotations"] |= forged

    answer = control_plane.create(tree)

    assert (answer.status, answer.warnings) == (201, tuple(warnings))
    assert "status.gpusched.io/bound" not in answer.tree["metadata"].get("annotations", {})
