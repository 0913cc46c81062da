"""Reasons and figures that misled people, as met in public trackers."""

import json
from pathlib import Path

import pytest

from gpusched.core.codes import REASON_TEXT, Reason
from gpusched.core.read_pod import read_pod
from gpusched.core.usage import PoolUse
from gpusched.simulate.result import node_views
from gpusched.state.events import Gone, Kind, Upsert
from tests.build import a100_node, bound, gfd_labels, h100_node, node, pod, t4_node
from tests.cases.trial import cluster_of, command, fitting, refused


def test_ob_01_every_node_gets_one_short_constant_reason() -> None:
    """Project-HAMi/HAMi#2286, kubernetes/kubernetes#25797: what the extender knew never reached the user.

    kube-scheduler adds up equal texts, so they hold neither numbers nor the comma that separates them.
    """
    small = gfd_labels("NVIDIA-GH200", count=2, memory=40960, compute=(9, 0), family="hopper")
    trees = [a100_node("family"), h100_node("full", gpus=2), node("small", gpus=2, labels=small)]
    annotations = {"gpusched.io/families": "hopper", "gpusched.io/min-gpu-memory": "80G"}
    cluster = cluster_of(*trees, bound(pod("holder", gpus=2), "full", uid="u1"))
    asking = pod(gpus=1, annotations=annotations)
    found = refused(asking, cluster)
    assert found == {
        "family": REASON_TEXT[Reason.FAMILY],
        "full": REASON_TEXT[Reason.FREE_REPLICAS],
        "small": REASON_TEXT[Reason.MEMORY],
    }
    cluster.apply(Upsert(read_pod(bound(pod("late", gpus=1), "small"), [])))
    cluster.apply(Gone(Kind.POD, "u1"))
    cluster.apply(Upsert(read_pod(bound(pod("next", gpus=2), "full"), [])))
    assert refused(asking, cluster) == found


@pytest.mark.parametrize("reason", list(Reason))
def test_ob_01_texts_can_be_added_up(reason: Reason) -> None:
    """The same threads: the whole event is cut at 1,024 characters."""
    text = REASON_TEXT[reason]
    assert 0 < len(text) <= 60
    assert not any(character.isdigit() or character in ",\n" for character in text)
    assert not text.endswith(".")


def test_ob_03_nothing_is_shown_as_used_once_the_pod_is_gone() -> None:
    """Project-HAMi/HAMi#1458: a gauge showed full memory for a deleted pod."""
    held = bound(pod("a", annotations={"gpusched.io/gpu-memory": "3Gi"}), "n1", uid="u1")
    cluster = cluster_of(t4_node("n1", replicas=4), held)
    state = cluster.nodes["n1"]
    assert state.use("nvidia.com/gpu") == PoolUse(used=1, claims=(3072,))
    cluster.apply(Gone(Kind.POD, "u1"))
    assert state.use("nvidia.com/gpu") == PoolUse()
    (view,) = node_views([state], cluster)
    assert [pool.used for pool in view.pools] == [0]
    assert (dict(state.holders), dict(cluster.pods)) == ({}, {})


def test_ob_07_slots_are_not_physical_gpus(tmp_path: Path) -> None:
    """opencost/opencost#2657, #2862, kubecost/kubecost#2418: ten slots of one card were reported as ten cards."""
    labels = {"nvidia.com/gpu.count": "1", "nvidia.com/gpu.replicas": "10"}
    tree = node("n", gpus=10, labels=labels)
    (pool,) = cluster_of(tree).nodes["n"].node.pools
    assert (pool.slots, pool.devices) == (10, 1)
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps(tree))
    ((shown,),) = [entry["pools"] for entry in command("nodes", "--cluster", str(file), "-o", "json")["nodes"]]
    assert (shown["slots"], shown["replicas"], shown["used"]) == (10, 10, 0)


@pytest.mark.parametrize("key", ["gpusched.io/assigned-gpus", "gpusched.io/gpu-memory", "status.gpusched.io/bound"])
def test_ob_09_a_corrupt_annotation_frees_nothing(key: str) -> None:
    """Project-HAMi/HAMi#2959: a record that could not be decoded was skipped, and its GPU given away again."""
    tree = bound(pod("a"), "n1")
    tree["metadata"]["annotations"][key] = "{not json"
    cluster = cluster_of(t4_node("n1"), tree)
    assert cluster.nodes["n1"].use("nvidia.com/gpu") == PoolUse(used=1, unclaimed=1)
    assert fitting(pod("b"), cluster) == []
