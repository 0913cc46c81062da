"""Why a pod waits or where it is, as JSON, in the words of `gpusched why`."""

import msgspec

from gpusched.simulate.reasons.why import Why


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


def why_view(why: Why, name: str = "") -> WhyView:
    """The answer, which holds for a pod of another `name` too that is alike."""
    pod, explanation = why.view, why.explanation
    waits = pod.unschedulable
    state = "finished" if why.finished else "placed" if pod.placement else "gated" if pod.gated else "pending"
    examples = explanation.examples if explanation is not None else {}
    return WhyView(
        namespace=pod.namespace,
        name=name or pod.name,
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
        notes=pod.notes,
    )
