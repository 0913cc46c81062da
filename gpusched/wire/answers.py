"""Extender calls answered: bytes of a request and the cluster state to bytes of the answer.

Calls that cannot be read are answered in `Error`, since kube-scheduler shows the text of that field and not the body of
any other status.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeVar

import msgspec

from gpusched.core.codes import REASON_TEXT
from gpusched.core.fault import Fault
from gpusched.core.read_pod import read_pod
from gpusched.placement.candidates import candidates
from gpusched.placement.filter import FilterAnswer, filter_nodes
from gpusched.placement.preempt import preempt
from gpusched.placement.request import Request, request_of
from gpusched.placement.score import scores
from gpusched.state.cluster import Cluster
from gpusched.wire.decision import Decision, Observer, unobserved
from gpusched.wire.extender import (
    ExtenderArgs,
    ExtenderFilterResult,
    ExtenderPreemptionArgs,
    ExtenderPreemptionResult,
    HostPriority,
    MetaPod,
    MetaVictims,
    NodeListAnswer,
)
from gpusched.wire.kept_answers import KeptAnswer, KeptAnswers
from gpusched.wire.name_lists import filter_result, priorities

_ARGS: Final = msgspec.json.Decoder(ExtenderArgs)
_PREEMPTION_ARGS: Final = msgspec.json.Decoder(ExtenderPreemptionArgs)
_NOT_CACHED: Final = "node is not known to gpusched yet"
#: Codes of decisions that are no reason of a node.
_UNREADABLE: Final = "unreadable"
_UNKNOWN_NODE: Final = "unknown-node"
#: A fault at or below one of these places may hide what the pod asks for; any other says nothing about GPUs.
_DECISIVE: Final = ("metadata", "spec.containers", "spec.initContainers", "spec.resources")
_T = TypeVar("_T")


class _NodeName(msgspec.Struct):
    name: str = ""


class _NodeHead(msgspec.Struct):
    metadata: _NodeName = msgspec.field(default_factory=_NodeName)


_NODE_HEAD: Final = msgspec.json.Decoder(_NodeHead)


class _UnreadableError(ValueError):
    """What is wrong with a call, in words for the scheduler's event."""


class _Question(NamedTuple):
    """A call about nodes. `nodes` are the objects in the order of `names`, None where names alone were sent."""

    request: Request
    names: list[str]
    nodes: list[msgspec.Raw] | None


def answer_filter(
    body: bytes,
    cluster: Cluster,
    *,
    again: Callable[[str], bool] = lambda _uid: False,
    observe: Observer = unobserved,
    kept: KeptAnswers | None = None,
) -> bytes:
    """ExtenderArgs to ExtenderFilterResult. `again` says whether a pod was asked about before.

    With `kept`, a call that comes again is answered from there while nothing changed that its answer depends on.
    """
    found = None if kept is None else kept.get(body, cluster.generation)
    if found is None:
        found = _filtered(body, cluster, again)
        # The few candidates are for the first call alone.
        if kept is not None and not (cluster.config.candidates and found.decision.kept):
            kept.put(body, found)
    observe(found.decision)
    return found.body


def _filtered(body: bytes, cluster: Cluster, again: Callable[[str], bool]) -> KeptAnswer:
    try:
        request, names, nodes = _question(body, cluster)
    except _UnreadableError as error:
        answered = msgspec.json.encode(ExtenderFilterResult(error=str(error)))
        return KeptAnswer(answered, Decision("filter", code=_UNREADABLE))
    answer = filter_nodes(request, names, cluster)
    decision = _decision("filter", request, _filter_code(answer), asked=len(names), kept=len(answer.fits))
    most = cluster.config.candidates
    fits = candidates(request, answer.fits, cluster, most, retry=most > 0 and again(request.uid))
    if nodes is None and not answer.unknown and cluster.node_books.plain_names and request.demand.slots:
        refused = [(refused, REASON_TEXT[reason]) for reason, refused in answer.by_reason.items()]
        return KeptAnswer(filter_result(fits, refused), decision)
    # A refusal in FailedNodes would have the scheduler look for victims that cannot help, again and again.
    result = ExtenderFilterResult(failed_and_unresolvable_nodes=_texts(answer))
    if nodes is None:
        result.node_names = fits
    else:
        chosen = set(fits)
        items = [node for name, node in zip(names, nodes, strict=True) if name in chosen]
        result.nodes = NodeListAnswer(items=items)
    return KeptAnswer(msgspec.json.encode(result), decision)


def answer_prioritize(body: bytes, cluster: Cluster, *, observe: Observer = unobserved) -> bytes:
    """ExtenderArgs to HostPriorityList; an unreadable call gives an empty list, which counts as no preference."""
    try:
        request, names, _ = _question(body, cluster)
    except _UnreadableError:
        observe(Decision("prioritize", code=_UNREADABLE))
        return b"[]"
    by_score = scores(request, names, cluster)
    observe(_decision("prioritize", request, "scored", asked=len(names), kept=sum(map(len, by_score.values()))))
    if cluster.node_books.plain_names:
        return priorities(by_score)
    return msgspec.json.encode([HostPriority(name, score) for score, equals in by_score.items() for name in equals])


def answer_preempt(body: bytes, cluster: Cluster, *, observe: Observer = unobserved) -> bytes:
    """ExtenderPreemptionArgs to ExtenderPreemptionResult. An unreadable call keeps no node: nobody is evicted."""
    try:
        args = _decoded(_PREEMPTION_ARGS.decode, body)
        request = _request(args.pod, cluster)
    except _UnreadableError:
        observe(Decision("preempt", code=_UNREADABLE))
        return msgspec.json.encode(ExtenderPreemptionResult())
    asked = _victims(args)
    kept = preempt(request, {node: [pod.uid for pod in found.pods or ()] for node, found in asked.items()}, cluster)
    observe(_decision("preempt", request, "kept" if kept else "none-kept", asked=len(asked), kept=len(kept)))
    answer = {node: msgspec.structs.replace(asked[node], pods=[MetaPod(uid) for uid in kept[node]]) for node in kept}
    return msgspec.json.encode(ExtenderPreemptionResult(meta_victims=answer))


def _decision(verb: str, request: Request, code: str, *, asked: int, kept: int) -> Decision:
    return Decision(
        verb, namespace=request.namespace, name=request.name, uid=request.uid, code=code, asked=asked, kept=kept
    )


def _texts(answer: FilterAnswer) -> dict[str, str]:
    refused = {name: REASON_TEXT[reason] for name, reason in answer.refused.items()}
    return refused | dict.fromkeys(answer.unknown, _NOT_CACHED)


def _filter_code(answer: FilterAnswer) -> str:
    """`fits`, else the reason of most nodes."""
    if answer.fits or not (answer.by_reason or answer.unknown):
        return "fits"
    counted = {str(reason): len(names) for reason, names in answer.by_reason.items()}
    counted[_UNKNOWN_NODE] = len(answer.unknown)
    return min(counted, key=lambda code: (-counted[code], code))


def _question(body: bytes, cluster: Cluster) -> _Question:
    args = _decoded(_ARGS.decode, body)
    request = _request(args.pod, cluster)
    if args.node_names is not None:
        return _Question(request, args.node_names, None)
    if args.nodes is None:
        raise _unreadable("neither NodeNames nor Nodes is set")
    nodes = args.nodes.items or []
    return _Question(request, [_decoded(_NODE_HEAD.decode, node).metadata.name for node in nodes], nodes)


def _request(tree: object, cluster: Cluster) -> Request:
    """The pod as a request. One whose containers cannot be read must not pass for a pod without a GPU."""
    if not isinstance(tree, dict):
        raise _unreadable("Pod is missing")
    faults: list[Fault] = []
    pod = read_pod(tree, faults)
    fault = next((fault for fault in faults if fault.path == "spec" or fault.path.startswith(_DECISIVE)), None)
    if fault is not None:
        raise _unreadable(f"Pod.{fault.path} {fault.message}")
    return request_of(pod, cluster)


def _victims(args: ExtenderPreemptionArgs) -> Mapping[str, MetaVictims]:
    if args.meta_victims:
        return args.meta_victims
    return {
        node: MetaVictims(pods=[MetaPod(pod.metadata.uid) for pod in found.pods or ()], violations=found.violations)
        for node, found in (args.victims or {}).items()
    }


def _decoded(decode: Callable[[bytes | msgspec.Raw], _T], body: bytes | msgspec.Raw) -> _T:
    try:
        return decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unreadable(str(error)) from error


def _unreadable(what: str) -> _UnreadableError:
    return _UnreadableError(f"gpusched cannot read the request: {what}")
