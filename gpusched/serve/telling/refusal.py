"""PURE. Why no node takes a pending pod, told as `why` does but for a live cluster of any size.

gpusched follows GPU pods alone, so nodes are first judged by what their GPUs are and have left. Of a few of them, the
nearest to a fit, all pods are then read: there kube-scheduler's own rules are judged as well, and changes are tried.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, zip_longest
from typing import Final

import msgspec

from gpusched.core.codes import REASON_TEXT, Reason
from gpusched.core.demand import native_requests
from gpusched.core.names import LOWERED_ANNOTATION
from gpusched.core.pod import Pod, PodSpec
from gpusched.placement import fit
from gpusched.placement.request import Request, request_of
from gpusched.serve.telling.excerpt import Excerpt
from gpusched.simulate.admit import Candidate, admit
from gpusched.simulate.evaluate import static_verdict
from gpusched.simulate.expand import PlannedPod, bare_pod
from gpusched.simulate.explain import DISTANCE, message, verdicts
from gpusched.simulate.manifest import Manifest
from gpusched.simulate.remedy import suggest
from gpusched.simulate.unlower import as_written
from gpusched.simulate.world import World
from gpusched.state.cluster import Cluster
from gpusched.state.node_state import NodeState

#: Nodes of which all pods are read for one explanation, and nodes of one reason that they are chosen from.
SAMPLE: Final = 24
_CHOICE: Final = 200
#: Characters of one reason's text, and of all together: the suggestion after them must not be cut off.
_ONE: Final = 200
_ALL: Final = 600
_NOTHING_FITS: Final = "No small change fits"

Verdicts = Mapping[str, Reason | None]
"""What is said of every node, by name; None where its GPUs would take the pod."""


class Refused(msgspec.Struct, frozen=True):
    """A pod that waits: as planned for trials, as the scheduler meets it, and whether its tree is as its user wrote it.

    Only then may changes be tried: what was lowered from an older policy would stand in their way.
    """

    planned: PlannedPod
    candidate: Candidate
    original: bool


def refused(pod: Pod, tree: Mapping[str, object], cluster: Cluster) -> Refused:
    """The pod as it stands, with its tree as it was before its policy was lowered into its affinity.

    Which part of the affinity was the user's own is written nowhere; what gives the pod's affinity again is right.
    """
    if LOWERED_ANNOTATION not in pod.annotations:
        return Refused(_planned(pod, tree), _candidate(pod, pod.spec, cluster), original=True)
    world = World(cluster.config)
    world.cluster = cluster
    resolution = cluster.resolution(pod.namespace, pod.annotations)
    planned = _planned(pod, as_written(tree, resolution.constraints.node_selector))
    again = admit(planned, world).candidate
    if again is not None and again.pod.spec.node_affinity == pod.spec.node_affinity:
        return Refused(planned, _candidate(pod, again.plain, cluster), original=True)
    unknown = msgspec.structs.replace(pod.spec, node_affinity=None)
    return Refused(_planned(pod, tree), _candidate(pod, unknown, cluster), original=False)


def _planned(pod: Pod, tree: Mapping[str, object]) -> PlannedPod:
    return bare_pod(Manifest("", tree, "Pod", name=pod.name, namespace=pod.namespace))


def _candidate(pod: Pod, plain: PodSpec, cluster: Cluster) -> Candidate:
    return Candidate(pod=pod, plain=plain, requests=native_requests(pod), request=request_of(pod, cluster))


def judged(candidate: Candidate, cluster: Cluster) -> Iterator[tuple[str, Reason | None]]:
    """Every node with what its own object and its GPUs say, one after the other so that a caller may pause."""
    request = candidate.request
    for name, state in list(cluster.nodes.items()):
        if request is not None:
            yield (
                name,
                static_verdict(candidate, state) or _short(request, state) or fit.reason(request, state, cluster),
            )


def _short(request: Request, state: NodeState) -> Reason | None:
    """kube-scheduler's own view of GPU resources, which it judges before it asks an extender."""
    offered = state.node.object.allocatable
    for resource, slots in request.demand.slots.items():
        own = state.holders.get(request.uid)
        held = 0 if own is None else own.slots.get(resource, 0)
        free = offered.get(resource, 0) - state.use(resource).used + held
        if slots > free and resource not in state.node.dra_resources:
            return Reason.NATIVE_RESOURCES
    return None


def sample(found: Verdicts, cluster: Cluster) -> list[str]:
    """The nodes to look at closely: first those whose GPUs would do, then some of each reason, unlike ones first."""
    by_reason: dict[Reason | None, list[str]] = {}
    for name in sorted(found):
        by_reason.setdefault(found[name], []).append(name)
    nearest = _unlike_first(by_reason.pop(None, ()), cluster)
    others = [_unlike_first(by_reason[reason], cluster) for reason in DISTANCE if reason in by_reason]
    in_turn = [name for row in zip_longest(*others) for name in row if name is not None]
    return list(chain(nearest, in_turn))[:SAMPLE]


def _unlike_first(names: Iterable[str], cluster: Cluster) -> list[str]:
    first: dict[object, str] = {}
    rest = []
    for name in islice(names, _CHOICE):
        state = cluster.nodes.get(name)
        likeness = None if state is None else (state.kind, state.signature, state.node.object.taints)
        if first.setdefault(likeness, name) != name:
            rest.append(name)
    return [*first.values(), *rest]


def told(pod: Refused, found: Verdicts, excerpt: Excerpt, others: Sequence[Pod]) -> str | None:
    """The reasons with counts of nodes, and the smallest change that fits. None where some node would take the pod, or
    may do so for all that is known. `others` are the pods without a GPU on the nodes of the excerpt.
    """
    world = excerpt.world(others)
    near = {state.node.name: (state, reason) for state, reason in verdicts(pod.planned, pod.candidate, world)}
    everywhere = {**found, **{name: reason for name, (_, reason) in near.items()}}
    counts = Counter(reason for reason in everywhere.values() if reason is not None)
    if counts.total() < len(everywhere) or not everywhere:
        return None
    by_reason = {reason: [state for state, other in near.values() if other is reason] for reason in counts}
    lines = [
        f"{count} {reason.value} ({_text(reason, count, by_reason[reason], pod.candidate, world)})"
        for reason, count in sorted(counts.items(), key=lambda item: (-item[1], DISTANCE.index(item[0])))
    ]
    head = f"0 of {len(everywhere)} nodes take it: {_joined(lines)}"
    suggestion = _suggestion(pod, by_reason, world, excerpt)
    return f"{head}. {suggestion}" if suggestion else head


def _text(reason: Reason, count: int, states: list[NodeState], candidate: Candidate, world: World) -> str:
    if not states:
        return REASON_TEXT[reason]
    # One node that stands for several must not be described by name or by what it alone has left.
    text = message(reason, candidate, states if count == len(states) else [*states, states[0]], world)
    return text if len(text) <= _ONE else f"{text[: _ONE - 4]} ..."


def _joined(lines: list[str]) -> str:
    kept = list(lines)
    while len(", ".join(kept)) > _ALL:
        kept.pop()
    more = len(lines) - len(kept)
    return ", ".join(kept) + (f" and {more} more reasons" if more > 1 else " and one more reason" if more else "")


def _suggestion(pod: Refused, by_reason: Mapping[Reason, list[NodeState]], world: World, excerpt: Excerpt) -> str:
    """A change that was seen to work, empty where none can be promised: pods elsewhere may speak against it, or other
    nodes may be nearer.
    """
    spec = pod.candidate.pod.spec
    looks_around = bool(spec.pod_affinity or spec.pod_anti_affinity or spec.spread)
    if not pod.original or spec.unmodelled or (looks_around and not excerpt.whole):
        return ""
    present = {reason: states for reason, states in by_reason.items() if states}
    text = suggest(pod.planned, pod.candidate, present, world)
    return "" if text.startswith(_NOTHING_FITS) and not excerpt.whole else text
