from gpusched.simulate.uses import (
    GatedPod,
    NamespaceUse,
    QuotaLine,
    gated_pods,
    quota_lines,
    uses_by_namespace,
)
from tests.build import bound, h100_node, namespace, node, pod, t4_node
from tests.simulate.scene import world_of

CLUSTER = [
    h100_node("h"),
    t4_node("t", gpus=2, replicas=4),
    node("u", gpus=1),
    namespace(quota="hopper=2, *=4", quota_gpu_memory="200Gi"),
    namespace("team-b", mode="warn", quota="turing=1"),
    namespace("empty"),
    bound(pod("a", gpus=3), "h"),
    bound(pod("b", annotations={"gpusched.io/gpu-memory": "3Gi"}), "t"),
    bound(pod("c", "team-b"), "u"),
    pod("d", schedulingGates=[{"name": "gpusched.io/quota"}], gpus=2),
]


def test_use_by_namespace_and_family():
    world = world_of(*CLUSTER)

    assert uses_by_namespace(world.cluster.nodes.values()) == [
        NamespaceUse("team-a", "hopper", 3, 0, 1, 1),
        NamespaceUse("team-a", "turing", 1, 3072, 1, 1),
        NamespaceUse("team-b", None, 1, 0, 1, 1),
    ]


def test_use_against_quota():
    lines = quota_lines(world_of(*CLUSTER).cluster)

    assert lines == [
        QuotaLine("team-a", "hopper", 3, 2, enforced=True),
        QuotaLine("team-a", "turing", 1, None, enforced=True),
        QuotaLine("team-a", "*", 4, 4, enforced=True),
        QuotaLine("team-a", "memory", 3 * 81559 + 3072, 200 * 1024, enforced=True),
        QuotaLine("team-b", "turing", 0, 1, enforced=False),
        QuotaLine("team-b", "*", 1, None, enforced=False),
    ]


def test_pods_in_line():
    assert gated_pods(world_of(*CLUSTER).cluster) == [GatedPod("team-a", "d", 1, {"nvidia.com/gpu": 2}, None)]
