"""What keeps a DaemonSet from making pods for nodes without the GPUs that its pods ask for."""

from collections.abc import Iterable, Mapping
from typing import Final

from gpusched.core.names import PREFIX
from gpusched.dialects.gfd import PRESENT
from gpusched.native.taints import untolerated
from gpusched.policy.rule import named
from gpusched.simulate.admit import Candidate
from gpusched.simulate.world import World
from gpusched.state.node_state import NodeState

#: Labels of where a node stands, or that come and go.
_UNFIT: Final = ("kubernetes.io/hostname", "topology.", "nvidia.com/gfd.timestamp", PREFIX)
_PRESENT: Final = ".present"
#: Values that say no more than that there is something.
_YES: Final = frozenset({"true", "yes", "1", "present", "enabled"})
#: What labels about GPUs have in their keys.
_WORDS: Final = ("gpu", "accelerator", "nvidia", "amd", "intel")


def template_change(candidate: Candidate, pinned: str, world: World) -> str | None:
    """What to select nodes by in the template, where the node that a pod is `pinned` to offers no such GPU; None
    elsewhere, and where no node does.

    Its label stands on every node that offers what the pods ask for, and on no other; it is one about GPUs, since
    others may stand there by chance. Where other nodes are not at hand only the label that GPU Feature Discovery gives
    is trusted.
    """
    asked = list(candidate.request.demand.slots) if candidate.request is not None else []
    states = world.cluster.nodes
    absent = [resource for resource in asked if pinned in states and not _offers(states[pinned], [resource])]
    offering = [state for state in states.values() if _offers(state, asked)]
    if not absent or not offering:
        return None
    others = [state for state in states.values() if not _offers(state, asked)]
    selection = _selection(offering, others) or _labelling(absent[0])
    if world.elsewhere:
        return f"{selection}: this node offers no {absent[0]}" if f'{_PRESENT}: "' in selection else None
    shut = shut_out(candidate, world)
    return f"{selection}: this node offers no {absent[0]}{f'; {shut}' if shut else ''}"


def shut_out(candidate: Candidate, world: World) -> str:
    """Nodes with such GPUs for which its controller makes no pod because of their taints; empty without any."""
    asked = list(candidate.request.demand.slots) if candidate.request is not None else []
    found: dict[str, list[str]] = {}
    for name, state in sorted(world.cluster.nodes.items()) if asked else ():
        taint = untolerated(candidate.pod.spec.tolerations, state.node.object.taints)
        if taint is not None and _offers(state, asked):
            value = f"={taint.value}" if taint.value else ""
            found.setdefault(f"{taint.key}{value}:{taint.effect}", []).append(name)
    parts = [f"{named(names)} (taint {taint} is not tolerated)" for taint, names in found.items()]
    return f"no pod is made for {' and '.join(parts)}" if parts else ""


def _offers(state: NodeState, resources: Iterable[str]) -> bool:
    offered = {pool.resource for pool in state.node.pools if pool.slots} | state.node.dra_resources
    return offered.issuperset(resources)


def _selection(offering: list[NodeState], others: list[NodeState]) -> str | None:
    pairs = set.intersection(*(set(_labels(state).items()) for state in offering))
    pairs -= {item for state in others for item in _labels(state).items()}
    # Another value would be that of the GPUs that this cluster happens to have.
    telling = min((item for item in pairs if item[1].lower() in _YES), key=_rank, default=None)
    if telling is not None:
        return f'Add nodeSelector {telling[0]}: "{telling[1]}" to the pod template'
    keys = set.intersection(*(set(_labels(state)) for state in offering))
    key = min(keys - {key for state in others for key in _labels(state)}, key=lambda key: (len(key), key), default=None)
    return None if key is None else f"Add required node affinity {key} Exists to the pod template"


def _labelling(resource: str) -> str:
    by_discovery = f', as GPU Feature Discovery does with {PRESENT}: "true"' if resource.startswith("nvidia.") else ""
    return f"Label the nodes that have GPUs{by_discovery}, and add that nodeSelector to the pod template"


def _rank(label: tuple[str, str]) -> tuple[bool, int, tuple[str, str]]:
    return not label[0].endswith(_PRESENT), len(label[0]), label


def _labels(state: NodeState) -> Mapping[str, str]:
    """Those about GPUs."""
    return {
        key: value
        for key, value in state.node.object.labels.items()
        if not key.startswith(_UNFIT) and any(word in key for word in _WORDS)
    }
