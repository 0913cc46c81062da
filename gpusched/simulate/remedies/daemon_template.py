"""What keeps a DaemonSet from making pods for nodes without the GPUs that its pods ask for."""

from collections.abc import Iterable, Mapping
from typing import Final

from gpusched.core.names import PREFIX
from gpusched.simulate.admit import Candidate
from gpusched.simulate.world import World
from gpusched.state.node_state import NodeState

#: Labels of where a node stands, or that come and go.
_UNFIT: Final = ("kubernetes.io/hostname", "topology.", "nvidia.com/gfd.timestamp", PREFIX)
_PRESENT: Final = ".present"
#: What labels about GPUs have in their keys.
_WORDS: Final = ("gpu", "accelerator", "nvidia", "amd", "intel")


def template_change(candidate: Candidate, pinned: str, world: World) -> str | None:
    """A node selector for the template, where the node that a pod is `pinned` to offers no such GPU; None elsewhere.

    Its label stands on every node that offers what the pods ask for, and on no other. Where other nodes are not at hand
    only the label that GPU Feature Discovery gives is trusted.
    """
    asked = list(candidate.request.demand.slots) if candidate.request is not None else []
    states = world.cluster.nodes
    absent = [resource for resource in asked if pinned in states and not _offers(states[pinned], [resource])]
    if not absent:
        return None
    label = _label([state for state in states.values() if _offers(state, asked)], states.values())
    if label is None or (world.elsewhere and not label[0].endswith(_PRESENT)):
        return None
    return f'Add nodeSelector {label[0]}: "{label[1]}" to the pod template: this node offers no {absent[0]}'


def _offers(state: NodeState, resources: Iterable[str]) -> bool:
    offered = {pool.resource for pool in state.node.pools if pool.slots} | state.node.dra_resources
    return offered.issuperset(resources)


def _label(offering: list[NodeState], states: Iterable[NodeState]) -> tuple[str, str] | None:
    if not offering:
        return None
    names = {state.node.name for state in offering}
    common = set(_labels(offering[0]).items())
    for state in states:
        items = _labels(state).items()
        common = common & items if state.node.name in names else common - items
    return min(common, key=_rank, default=None)


def _rank(label: tuple[str, str]) -> tuple[bool, bool, int, tuple[str, str]]:
    key = label[0]
    return not key.endswith(_PRESENT), not any(word in key for word in _WORDS), len(key), label


def _labels(state: NodeState) -> Mapping[str, str]:
    return {key: value for key, value in state.node.object.labels.items() if not key.startswith(_UNFIT)}
