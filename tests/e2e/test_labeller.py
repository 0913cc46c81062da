"""The labels that gpusched writes on nodes: which, when, and when not."""

import contextlib

import pytest

from gpusched.dialects.labels import KEYS
from gpusched.local.errors import LocalError
from tests.build import gfd_labels, h100_node, node, t4_node
from tests.e2e.seen import configured

MERGE = "application/merge-patch+json"
PATCHES = "gpusched_node_label_patches_total"
LABELS = "gpusched.io/"


def ours(tree):
    """gpusched's labels of a node, under their short names."""
    labels = tree["metadata"]["labels"]
    return {key.removeprefix(LABELS): value for key, value in labels.items() if key.startswith(LABELS)}


def path(name):
    return f"/api/v1/nodes/{name}"


def labelled(plane, name, **expected):
    """Wait until the node carries exactly these labels."""
    wanted = {key.replace("_", "-"): value for key, value in expected.items()}
    with contextlib.suppress(LocalError):
        plane.wait_for(path(name), lambda tree: ours(tree) == wanted, seconds=30)
    # In time or not, the comparison tells more than that the time is over.
    assert ours(plane.get(path(name))) == wanted


def relabel(plane, name, labels):
    plane.request("PATCH", path(name), {"metadata": {"labels": labels}}, content_type=MERGE).expect()


T4 = {
    "vendor": "nvidia",
    "family": "turing",
    "product": "t4",
    "sharing": "time-slicing",
    "gpu_memory_mib": "15360",
    "visible_memory_mib": "15360",
    "slot_memory_mib": "3840",
    "replicas": "4",
    "cuda_version": "12040",
    "driver_version": "550107002",
}
H100 = T4 | {
    "family": "hopper",
    "product": "h100-80gb-hbm3",
    "sharing": "none",
    "gpu_memory_mib": "81559",
    "visible_memory_mib": "81559",
    "slot_memory_mib": "81559",
    "replicas": "1",
}
MIG = {
    "vendor": "nvidia",
    "family": "ampere",
    "product": "a100-sxm4-80gb",
    "sharing": "mig",
    "gpu_memory_mib": "81920",
    "replicas": "1",
    "cuda_version": "12040",
    "driver_version": "550107002",
    "mixed": "true",
}
AMD = {
    "vendor": "amd",
    "family": "cdna3",
    "product": "mi300x-oam",
    "sharing": "none",
    "gpu_memory_mib": "196608",
    "visible_memory_mib": "196608",
    "slot_memory_mib": "196608",
    "replicas": "1",
}


def mig_mixed():
    """An A100 cut into two sizes, under the strategy that names a resource for each."""
    labels = gfd_labels("NVIDIA-A100-SXM4-80GB", memory=81920, compute=(8, 0), family="ampere")
    labels |= {"nvidia.com/mig.capable": "true", "nvidia.com/mig.strategy": "mixed"}
    for profile, count, memory in (("1g.10gb", 4, 9728), ("3g.40gb", 1, 40192)):
        prefix = f"nvidia.com/mig-{profile}"
        labels |= {f"{prefix}.count": str(count), f"{prefix}.memory": str(memory), f"{prefix}.replicas": "1"}
        labels |= {f"{prefix}.product": f"NVIDIA-A100-SXM4-80GB-MIG-{profile}"}
    offered = {"nvidia.com/mig-1g.10gb": "4", "nvidia.com/mig-3g.40gb": "1"}
    return node("n", gpus=0, labels=labels, allocatable=offered)


def amd():
    labels = {
        "amd.com/gpu.vram": "192G",
        "amd.com/gpu.device-id": "74a1",
        "amd.com/gpu.family": "AI",
        "amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM",
        "amd.com/gpu.cu-count": "304",
    }
    return node("n", gpus=8, resource="amd.com/gpu", labels=labels)


@pytest.mark.parametrize(
    ("tree", "expected"),
    [(t4_node("n", gpus=2, replicas=4), T4), (h100_node("n"), H100), (mig_mixed(), MIG), (amd(), AMD)],
    ids=["T4 time-sliced", "H100", "MIG mixed", "AMD"],
)
def test_whole_set_of_labels(installed, control_plane, fake_nodes, tree, expected):
    fake_nodes([tree])

    labelled(control_plane, "n", **expected)

    labels = control_plane.get(path("n"))["metadata"]["labels"]
    assert {key: labels[key] for key in tree["metadata"]["labels"]} == tree["metadata"]["labels"]
    assert {key for key in labels if key.startswith(LABELS)} <= set(KEYS)


def test_node_without_gpu_gets_none(installed, control_plane, fake_nodes):
    fake_nodes([node("cpu", gpus=None), t4_node("t4", gpus=2, replicas=4)])
    # Created after the other, so the other was looked at before.
    labelled(control_plane, "t4", **T4)

    assert ours(control_plane.get(path("cpu"))) == {}


def test_changed_fact_is_written_at_once_and_once(installed, control_plane, fake_nodes):
    fake_nodes([t4_node("t4", gpus=2, replicas=4)])
    labelled(control_plane, "t4", **T4)
    before = installed.metric(PATCHES, result="done")

    relabel(control_plane, "t4", {"nvidia.com/cuda.runtime-version.full": "12.6"})

    labelled(control_plane, "t4", **T4 | {"cuda_version": "12060"})
    assert installed.metric(PATCHES) == before + 1


def test_label_that_others_change_or_take_away_is_put_right(installed, control_plane, fake_nodes):
    fake_nodes([t4_node("t4", gpus=2, replicas=4)])
    labelled(control_plane, "t4", **T4)

    relabel(control_plane, "t4", {"gpusched.io/family": "hopper", "gpusched.io/product": None})

    labelled(control_plane, "t4", **T4)


def test_admins_word_on_the_node_wins(installed, control_plane, fake_nodes):
    facts = {"gpusched.io/facts": "gpu-memory=16384Mi"}
    fake_nodes([t4_node("t4", gpus=2, replicas=4, annotations=facts)])

    labelled(
        control_plane,
        "t4",
        **T4 | {"gpu_memory_mib": "16384", "visible_memory_mib": "16384", "slot_memory_mib": "4096"},
    )


def without_discovery(tree):
    """A patch that takes away what GPU Feature Discovery wrote."""
    return {key: None for key in tree["metadata"]["labels"] if key.startswith("nvidia.com/")}


def test_vanished_facts_keep_their_labels(installed, control_plane, fake_nodes):
    """Node feature discovery is restarted: the labels are gone for a while. A marker shows that gpusched saw it."""
    tree = t4_node("t4", gpus=2, replicas=4)
    fake_nodes([tree])
    labelled(control_plane, "t4", **T4)

    relabel(control_plane, "t4", without_discovery(tree))
    fake_nodes([t4_node("later", gpus=2, replicas=4)])

    labelled(control_plane, "later", **T4)
    kept = ours(control_plane.get(path("t4")))
    assert kept == {key.replace("_", "-"): value for key, value in T4.items()}


@pytest.fixture
def short_keep(installed, control_plane):
    """Labels of vanished facts are kept for a second."""
    with configured(installed, control_plane, {"labels": {"keep": "1s"}}, {"labels": {"keep": "10m"}}):
        yield


def test_labels_of_vanished_facts_go_when_their_time_is_over(short_keep, control_plane, fake_nodes):
    tree = t4_node("t4", gpus=2, replicas=4)
    fake_nodes([tree])
    labelled(control_plane, "t4", **T4)

    relabel(control_plane, "t4", without_discovery(tree))

    # What allocatable alone tells: eight slots of NVIDIA.
    labelled(control_plane, "t4", vendor="nvidia")


def test_another_node_of_that_name_keeps_nothing(installed, control_plane, fake_nodes):
    """An autoscaler's template, or a backup, carries labels of the former machine."""
    fake_nodes([t4_node("t4", gpus=2, replicas=4)])
    labelled(control_plane, "t4", **T4)
    stale = ours(control_plane.get(path("t4")))
    control_plane.request("DELETE", path("t4")).expect()

    control_plane.create_nodes([node("t4", gpus=None, labels={LABELS + key: value for key, value in stale.items()})])

    labelled(control_plane, "t4")
