"""Where `gpusched top` has its figures from: a running gpusched, a live cluster or a dump; all in one shape."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeVar
from urllib.parse import urlsplit

import msgspec

from gpusched.cli.access import Unavailable
from gpusched.core.pod import Pod
from gpusched.serve.view.access import EVERYTHING
from gpusched.serve.view.nodes import NodeView, is_shown, node_view
from gpusched.serve.view.pods import PodView, pod_view, waiting
from gpusched.serve.view.refusals import RefusalView
from gpusched.serve.view.totals import FamilyTotal, sum_up, totals
from gpusched.serve.view.why import WhyView, why_view
from gpusched.simulate.manifest import Manifest
from gpusched.simulate.world import World
from gpusched.state.node_state import NodeState

_SECONDS: Final = 10.0
#: Waiting pods that are explained; a screen shows no more.
_EXPLAINED: Final = 20


class TopView(msgspec.Struct, frozen=True):
    """One look at the cluster. `waiting_total` counts waiting pods that are not listed too."""

    totals: tuple[FamilyTotal, ...]
    nodes: tuple[NodeView, ...]
    waiting: tuple[PodView, ...]
    waiting_total: int
    refusals: tuple[RefusalView, ...] = ()
    notes: tuple[str, ...] = ()


class _Nodes(msgspec.Struct):
    totals: tuple[FamilyTotal, ...]
    nodes: tuple[NodeView, ...]
    notes: tuple[str, ...] = ()


class _Pods(msgspec.Struct):
    total: int
    pods: tuple[PodView, ...]
    notes: tuple[str, ...] = ()


class _Refusals(msgspec.Struct):
    refusals: tuple[RefusalView, ...]


_Answer = TypeVar("_Answer", _Nodes, _Pods, _Refusals)


class _StayingHandler(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: it would take the token along to wherever it leads."""

    def redirect_request(self, *_: object) -> None:
        return None


_OPENER: Final = urllib.request.build_opener(_StayingHandler)


class Server:
    """The administration port of a running gpusched, such as `http://127.0.0.1:8080`."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url.rstrip("/")
        self._token = token

    def look(self) -> TopView:
        """What the caller may read of it. Raises Unavailable."""
        nodes, pods = self._get("nodes", _Nodes), self._get("pods", _Pods)
        problems = tuple(note for note in nodes.notes if note.startswith("What is shown may be old"))
        return TopView(
            totals=nodes.totals,
            nodes=nodes.nodes,
            waiting=pods.pods,
            waiting_total=pods.total,
            refusals=self._get("refusals", _Refusals).refusals,
            notes=problems,
        )

    def _get(self, name: str, of: type[_Answer]) -> _Answer:
        url = f"{self._url}/api/v1/{name}"
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        try:
            request = urllib.request.Request(url, headers=headers)  # noqa: S310 - the scheme was looked at
            with _OPENER.open(request, timeout=_SECONDS) as answer:
                return msgspec.json.decode(answer.read(), type=of)
        except urllib.error.HTTPError as error:
            with error:
                raise Unavailable(f"{url}: {_sentence(error)}") from error
        except (OSError, ValueError) as error:
            raise Unavailable(f"{url} does not answer: {getattr(error, 'reason', error)}") from error


def is_server_url(text: str) -> bool:
    """Whether a text is the address of an HTTP server."""
    parts = urlsplit(text)
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


def look_at_world(world: World, standing: Sequence[Manifest], nodes: Iterable[NodeState]) -> TopView:
    """The same of a cluster that was read as a whole; `nodes` are those to show."""
    states = sorted(nodes, key=lambda state: state.node.name)
    found: dict[str, FamilyTotal] = {}
    for _ in sum_up(states, found):
        pass
    records = waiting(world.cluster, EVERYTHING)
    pods = {(item.namespace, item.name): item for item in standing if item.kind == "Pod" and not item.group}
    explained = [record.pod for record in records[:_EXPLAINED]]
    known = {pod: _why(pods, pod, world) for pod in map(_name_of, explained)}
    return TopView(
        totals=tuple(totals(found.values())),
        nodes=tuple(node_view(state, EVERYTHING) for state in states if is_shown(state)),
        waiting=tuple(pod_view(record, lambda pod: known.get(_name_of(pod))) for record in records),
        waiting_total=len(records),
    )


def _name_of(pod: Pod) -> tuple[str, str]:
    return pod.namespace, pod.name


def _why(pods: Mapping[tuple[str, str], Manifest], name: tuple[str, str], world: World) -> WhyView | None:
    manifest = pods.get(name)
    return None if manifest is None else why_view(dict(manifest.tree), world)


def _sentence(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(error.read())["error"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {error.code}"
