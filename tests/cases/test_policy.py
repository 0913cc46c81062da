"""Policies that did not hold, or held in silence, as met in public trackers."""

import pytest

from gpusched.policy.annotations import parse_namespace
from gpusched.policy.model import Config
from tests.build import h100_node, namespace, pod, t4_node
from tests.cases.trial import NVIDIA_CLASS, cluster_of, configured, review

#: Namespaces get GPUs by a label: everywhere else a pod may have none.
BY_LABEL = {
    "namespaceSelector": {"matchExpressions": [{"key": "gpus", "operator": "DoesNotExist"}]},
    "policy": {"mode": "enforce", "max-gpus-per-pod": 0},
}


def _by_label() -> Config:
    return configured(policies=[BY_LABEL])


@pytest.mark.parametrize(
    "resource", ["nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb", "nvidia.com/mig-1g.5gb.shared"]
)
def test_po_01_namespaces_without_the_label_get_no_gpu(resource: str) -> None:
    """deckhouse/deckhouse#22757, deckhouse/deckhouse#16917.

    The rule is a configured policy that selects namespaces. A namespace that is not known yet has no label.
    """
    tree = pod(resource=resource)
    expected = (
        "gpu-policy-max-gpus: pod asks 1 GPU; the cluster configuration allows 0 per pod. Remove the GPU request."
    )
    assert review(tree, cluster_of(namespace(), config=_by_label())).message == expected
    assert review(tree, cluster_of(config=_by_label())).message == expected
    assert review(tree, cluster_of(namespace(labels={"gpus": "yes"}), config=_by_label())).allowed


@pytest.mark.parametrize("quota", ["nvidia.com/gpu=1", "limits.nvidia.com/gpu=1", "requests.nvidia.com/gpu=1", "1"])
def test_po_03_a_quota_under_a_wrong_key_is_refused(quota: str) -> None:
    """kubeflow/website#2460, loft-sh/kiosk#69, NVIDIA/k8s-device-plugin#211, kubernetes/kubernetes#46639.

    ResourceQuota objects are not read; the quota that is read must not be ignored for the way it is written.
    """
    answer = review(namespace(quota=quota), cluster_of())
    assert not answer.allowed
    assert answer.message.startswith('policy-malformed: gpusched.io/quota "')
    assert "; write " in answer.message


def test_po_03_the_native_quota_sees_the_amounts_that_were_written() -> None:
    """The same threads: requests and limits are never patched, so a ResourceQuota works beside the policy."""
    tree = pod(gpus=2)
    cluster = cluster_of(h100_node(), NVIDIA_CLASS, namespace(families="hopper", quota="hopper=4"))
    answer = review(tree, cluster)
    assert answer.patch != ()
    assert answer.applied_to(tree)["spec"]["containers"] == tree["spec"]["containers"]


def test_po_05_a_misspelt_value_is_refused_when_it_is_written() -> None:
    """Project-HAMi/HAMi#2767, #2813: it was accepted, and the default dropped with it."""
    answer = review(namespace(placement="bin-pack"), cluster_of())
    assert not answer.allowed
    assert answer.message == 'policy-malformed: gpusched.io/placement "bin-pack", which is no placement; write pack'


def test_po_05_a_misspelt_value_that_stands_refuses_gpu_pods() -> None:
    """The same threads: it never means that there is no policy."""
    cluster = cluster_of(t4_node(), NVIDIA_CLASS, namespace(placement="bin-pack"))
    answer = review(pod(), cluster)
    assert not answer.allowed
    assert answer.message.startswith('policy-malformed: namespace team-a has gpusched.io/placement "bin-pack"')
    assert review(pod(gpus=None), cluster).allowed


@pytest.mark.parametrize(
    ("key", "text", "field", "value"),
    [
        ("families", "Ampere, hopper", "families", ("ampere", "hopper")),
        ("families", " HOPPER ", "families", ("hopper",)),
        ("placement", " Spread ", "placement", "spread"),
    ],
)
def test_po_05_case_and_blanks_do_not_matter(key: str, text: str, field: str, value: object) -> None:
    """The same threads: what people mean is clear."""
    parsed = parse_namespace({f"gpusched.io/{key}": text})
    assert parsed.malformed == ()
    assert getattr(parsed.policy, field) == value
    assert review(namespace(**{key: text}), cluster_of()).allowed
