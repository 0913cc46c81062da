"""Why a pod waits or where it is, in the words of `gpusched why`, for pods of the live cluster."""

from typing import Final

import msgspec

from gpusched.simulate.manifest import Manifest
from gpusched.simulate.why import Why, why_standing
from gpusched.simulate.world import World

NO_CPU_BOOKS: Final = (
    "Processors and memory that pods without a GPU use are not known to the service; "
    "`gpusched why --cluster` on a dump counts them too."
)


class ReasonView(msgspec.Struct, frozen=True):
    """A reason, how many nodes give it, and one of them."""

    code: str
    message: str
    nodes: int
    example: str


class WhyView(msgspec.Struct, frozen=True):
    """The answer. `state` is pending, gated, placed or finished; texts are empty where there is nothing to say.

    `suggestion` is the smallest change that fits, `line` the place in the quota line, `nearest` the node that comes
    closest, with what it lacks.
    """

    namespace: str
    name: str
    state: str
    demand: str
    node: str
    reasons: tuple[ReasonView, ...]
    suggestion: str
    nearest: str
    nearest_lacks: str
    line: str
    history: str
    notes: tuple[str, ...]


def why_view(tree: dict[str, object], world: World) -> WhyView:
    """The answer about one pod as the API server has it."""
    metadata = tree.get("metadata")
    about = metadata if isinstance(metadata, dict) else {}
    manifest = Manifest(
        source="the cluster",
        tree=tree,
        kind="Pod",
        name=str(about.get("name", "")),
        namespace=str(about.get("namespace", "")),
    )
    return _view(why_standing(manifest, world))


def _view(why: Why) -> WhyView:
    pod, explanation = why.view, why.explanation
    waits = pod.unschedulable
    state = "finished" if why.finished else "placed" if pod.placement else "gated" if pod.gated else "pending"
    examples = explanation.examples if explanation is not None else {}
    notes = (*pod.notes, *([f"gate {pod.gated}"] if pod.gated not in {None, "quota"} else []))
    return WhyView(
        namespace=pod.namespace,
        name=pod.name,
        state=state,
        demand=why.demand,
        node=pod.placement.node if pod.placement else "",
        reasons=tuple(
            ReasonView(reason.code, reason.message, reason.nodes, examples.get(reason.code, ""))
            for reason in (waits.reasons if waits else ())
        ),
        suggestion=waits.suggestion if waits else "",
        nearest=(explanation.nearest or "") if explanation else "",
        nearest_lacks=explanation.nearest_lacks if explanation else "",
        line=why.line,
        history=why.history,
        notes=notes,
    )
