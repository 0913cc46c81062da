"""Where `gpusched top` has its figures from: a running gpusched, a live cluster or a dump; all in one shape."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from gpusched.cli.service import Service
from gpusched.core.pod import Pod
from gpusched.serve.view.access import EVERYTHING, Extent
from gpusched.serve.view.nodes import NodeView, is_shown, node_view
from gpusched.serve.view.pods import PodView, pod_view, waiting
from gpusched.serve.view.refusals import RefusalView
from gpusched.serve.view.totals import FamilyTotal, sum_up, totals
from gpusched.serve.view.why import WhyView, why_view
from gpusched.simulate.manifest import Manifest
from gpusched.simulate.reasons.why import why_standing
from gpusched.simulate.world import World
from gpusched.state.node_state import NodeState

#: Waiting pods that are explained; a screen shows no more.
_EXPLAINED: Final = 20


class TopView(msgspec.Struct, frozen=True):
    """One look at the cluster. `waiting_total` counts waiting pods that are not listed too; `seen` says of how many
    namespaces pods and refusals are told.
    """

    totals: tuple[FamilyTotal, ...]
    nodes: tuple[NodeView, ...]
    waiting: tuple[PodView, ...]
    waiting_total: int
    refusals: tuple[RefusalView, ...] = ()
    seen: Extent = "all"
    notes: tuple[str, ...] = ()


class _Nodes(msgspec.Struct):
    totals: tuple[FamilyTotal, ...]
    nodes: tuple[NodeView, ...]
    notes: tuple[str, ...] = ()


class _Pods(msgspec.Struct):
    total: int
    pods: tuple[PodView, ...]
    seen: Extent
    notes: tuple[str, ...] = ()


class _Refusals(msgspec.Struct):
    refusals: tuple[RefusalView, ...]


def look_at_service(service: Service) -> TopView:
    """What the caller may read of a running gpusched. Raises Forbidden or Unavailable."""
    nodes, pods = service.get("nodes", _Nodes), service.get("pods", _Pods)
    return TopView(
        totals=nodes.totals,
        nodes=nodes.nodes,
        waiting=pods.pods,
        waiting_total=pods.total,
        refusals=service.get("refusals", _Refusals).refusals,
        seen=pods.seen,
        notes=tuple(note for note in nodes.notes if note.startswith("What is shown may be old")),
    )


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
        nodes=tuple(node_view(state, EVERYTHING, world.cluster) for state in states if is_shown(state)),
        waiting=tuple(pod_view(record, lambda pod: known.get(_name_of(pod))) for record in records),
        waiting_total=len(records),
    )


def _name_of(pod: Pod) -> tuple[str, str]:
    return pod.namespace, pod.name


def _why(pods: Mapping[tuple[str, str], Manifest], name: tuple[str, str], world: World) -> WhyView | None:
    manifest = pods.get(name)
    return None if manifest is None else why_view(why_standing(manifest, world))
