"""Extender calls answered: bytes of a request and the cluster state to bytes of the answer.

Malformed calls and calls about what is not known are answered in `Error`, since kube-scheduler shows the text of that
field and not the body of any other status.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import msgspec

from gpusched.core.codes import REASON_TEXT
from gpusched.core.fault import Fault
from gpusched.core.pod import Pod
from gpusched.core.read_pod import read_pod
from gpusched.placement.candidates import candidates
from gpusched.placement.filter import filter_nodes
from gpusched.placement.preempt import preempt
from gpusched.placement.request import Request, request_of
from gpusched.placement.score import scores
from gpusched.state.cluster import Cluster
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

_ARGS: Final = msgspec.json.Decoder(ExtenderArgs)
_PREEMPTION_ARGS: Final = msgspec.json.Decoder(ExtenderPreemptionArgs)
_NOT_CACHED: Final = "node is not known to gpusched yet"
_T = TypeVar("_T")


class _NodeName(msgspec.Struct):
    name: str = ""


class _NodeHead(msgspec.Struct):
    metadata: _NodeName = msgspec.field(default_factory=_NodeName)


_NODE_HEAD: Final = msgspec.json.Decoder(_NodeHead)


def answer_filter(body: bytes, cluster: Cluster, *, retry: bool = False) -> bytes:
    """ExtenderArgs to ExtenderFilterResult. `retry` says that the same pod was asked about before."""
    args = _decoded(_ARGS.decode, body)
    if isinstance(args, str):
        return _error(args)
    read = _pod(args.pod)
    if isinstance(read, str):
        return _error(read)
    names = _names(args)
    if isinstance(names, str):
        return _error(names)
    request = request_of(read, cluster)
    answer = filter_nodes(request, names, cluster)
    fits = answer.fits
    if cluster.config.candidates:
        fits = candidates(request, fits, cluster, cluster.config.candidates, retry=retry)
    refused = {name: REASON_TEXT[reason] for name, reason in answer.refused.items()}
    refused.update(dict.fromkeys(answer.unknown, _NOT_CACHED))
    return msgspec.json.encode(_in_the_same_field(args, fits, refused))


def answer_prioritize(body: bytes, cluster: Cluster) -> bytes:
    """ExtenderArgs to HostPriorityList; an unreadable call gives an empty list, which counts as no preference."""
    args = _decoded(_ARGS.decode, body)
    read = _pod(args.pod) if not isinstance(args, str) else args
    names = _names(args) if not isinstance(args, str) else args
    if isinstance(read, str) or isinstance(names, str):
        return b"[]"
    by_name = scores(request_of(read, cluster), names, cluster)
    return msgspec.json.encode([HostPriority(host=name, score=score) for name, score in by_name.items()])


def answer_preempt(body: bytes, cluster: Cluster) -> bytes:
    """ExtenderPreemptionArgs to ExtenderPreemptionResult. An unreadable call keeps no node: nobody is evicted."""
    args = _decoded(_PREEMPTION_ARGS.decode, body)
    read = _pod(args.pod) if not isinstance(args, str) else args
    if isinstance(args, str) or isinstance(read, str):
        return msgspec.json.encode(ExtenderPreemptionResult())
    asked = _victims(args)
    request: Request = request_of(read, cluster)
    kept = preempt(request, {node: [pod.uid for pod in found.pods or ()] for node, found in asked.items()}, cluster)
    return msgspec.json.encode(
        ExtenderPreemptionResult(
            meta_victims={
                node: MetaVictims(pods=[MetaPod(uid) for uid in uids], violations=asked[node].violations)
                for node, uids in kept.items()
            }
        )
    )


def _victims(args: ExtenderPreemptionArgs) -> dict[str, MetaVictims]:
    if args.meta_victims is not None:
        return args.meta_victims
    return {
        node: MetaVictims(pods=[MetaPod(pod.metadata.uid) for pod in found.pods or ()], violations=found.violations)
        for node, found in (args.victims or {}).items()
    }


def _decoded(decode: Callable[[bytes], _T], body: bytes) -> _T | str:
    """The decoded request, or what is wrong with it."""
    try:
        return decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return f"gpusched cannot read the request: {error}"


def _pod(tree: object) -> Pod | str:
    if not isinstance(tree, dict):
        return "gpusched cannot read the request: Pod is missing"
    faults: list[Fault] = []
    return read_pod(tree, faults)


def _names(args: ExtenderArgs) -> Sequence[str] | str:
    if args.node_names is not None:
        return args.node_names
    if args.nodes is None:
        return "gpusched cannot read the request: neither NodeNames nor Nodes is set"
    try:
        return [_NODE_HEAD.decode(item).metadata.name for item in args.nodes.items or ()]
    except msgspec.DecodeError as error:
        return f"gpusched cannot read the request: Nodes: {error}"


def _in_the_same_field(args: ExtenderArgs, fits: Sequence[str], refused: dict[str, str]) -> ExtenderFilterResult:
    """kube-scheduler reads the answer from the field it asked in, and takes a missing list for no node at all."""
    if args.node_names is not None or args.nodes is None:
        return ExtenderFilterResult(node_names=list(fits), failed_and_unresolvable_nodes=refused)
    chosen = set(fits)
    kept = [item for item in args.nodes.items or () if _NODE_HEAD.decode(item).metadata.name in chosen]
    return ExtenderFilterResult(nodes=NodeListAnswer(items=kept), failed_and_unresolvable_nodes=refused)


def _error(text: str) -> bytes:
    return msgspec.json.encode(ExtenderFilterResult(error=text))
