from gpusched.placement.allowance import draw_on, ledger_of
from gpusched.simulate.uses import (
    GatedPod,
    NamespaceUse,
    QuotaLine,
    gated_pods,
    quota_lines,
    uses_by_namespace,
)
from tests.build import bound, h100_node, namespace, node, pod, t4_node
from tests.placement.scene import ask
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
        QuotaLine("team-a", "hopper", 3, 0, 2, -1, enforced=True),
        QuotaLine("team-a", "turing", 1, 0, None, None, enforced=True),
        QuotaLine("team-a", "*", 4, 0, 4, 0, enforced=True),
        QuotaLine("team-a", "memory", 3 * 81559 + 3072, 0, 200 * 1024, 200 * 1024 - 3 * 81559 - 3072, enforced=True),
        QuotaLine("team-b", "turing", 0, 0, 1, 0, enforced=False),
        QuotaLine("team-b", "*", 1, 0, None, None, enforced=False),
    ]


def test_what_waits_without_the_gate_is_not_used_and_counts_all_the_same():
    waiting = {"annotations": {"gpusched.io/gpu-memory": "2Gi"}}
    world = world_of(
        t4_node("t", gpus=1, replicas=4),
        namespace(quota="turing=4, *=6", quota_gpu_memory="20Gi"),
        bound(pod("holds", **waiting), "t"),
        pod("knows", annotations={**waiting["annotations"], "gpusched.io/families": "turing"}),
        pod("wants-any", **waiting),
        pod("waits", schedulingGates=[{"name": "gpusched.io/quota"}]),
    )
    lines = quota_lines(world.cluster)

    assert lines == [
        QuotaLine("team-a", "turing", 1, 1, 4, 1, enforced=True),
        QuotaLine("team-a", "*", 1, 2, 6, 3, enforced=True),
        QuotaLine("team-a", "memory", 2048, 4096, 20 * 1024, 14 * 1024, enforced=True),
    ]
    for gpus, fits in ((1, True), (2, False)):
        asking = ask(world.cluster, pod("new", gpus=gpus, **waiting))
        draw = draw_on(asking, world.cluster.nodes["t"].node)
        assert ledger_of(world.cluster.quota_use("team-a")).has_room(draw, asking.resolution) is fits


def test_pods_in_line():
    assert gated_pods(world_of(*CLUSTER).cluster) == [GatedPod("team-a", "d", 1, {"nvidia.com/gpu": 2}, None)]
