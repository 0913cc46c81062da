"""Facts that are gathered again are those of the nodes there are, whatever was there before."""

from gpusched.core.dra import DeviceClass
from gpusched.state.gather import Gatherer
from gpusched.state.nodes import NodeBooks
from tests.build import Tree, a100_node, h100_node, node, t4_node
from tests.state.test_nodes import books, read

TAINT = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
FIRST = [h100_node("a"), h100_node("b", gpus=4), a100_node("c"), node("cpu", gpus=None, taints=[TAINT])]
CHANGES: list[Tree | str] = [
    h100_node("b", gpus=4, taints=[TAINT]),
    node("a", gpus=None),
    "c",
    t4_node("z", replicas=4),
    t4_node("y", labels={"gpusched.io/vendor": "nvidia"}),
    a100_node("c", annotations={"gpusched.io/facts": "family=hopper"}),
    node("cpu", gpus=None, allocatable={"example.com/nic": "1"}),
]


def gathered(gatherer: Gatherer, nodes: NodeBooks) -> object:
    return gatherer.gather(nodes.states, {}, None, [DeviceClass("d", "example.com/dra")], labelled=True)


def test_facts_follow_each_change() -> None:
    nodes, gatherer = books(*FIRST), Gatherer()
    assert gathered(gatherer, nodes) == gathered(Gatherer(), nodes)
    for change in CHANGES:
        if isinstance(change, str):
            nodes.drop(change)
        else:
            nodes.put(read(change))
        assert gathered(gatherer, nodes) == gathered(Gatherer(), nodes)


def test_nodes_that_come_and_go_do_not_fill_the_memory() -> None:
    gatherer = Gatherer()
    for turn in range(200):
        nodes = books(h100_node(f"n{turn}", gpus=turn + 1))
        assert gathered(gatherer, nodes) == gathered(Gatherer(), nodes)
    assert len(gatherer._seen) <= 3
