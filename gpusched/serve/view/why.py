"""Why a pod waits or where it is, or what a workload lacks, as JSON, in the words of `gpusched why`."""

import msgspec

from gpusched.simulate.reasons.why import Why, state_of
from gpusched.simulate.result import AdmissionView


class ReasonView(msgspec.Struct, frozen=True):
    """A reason, how many nodes give it, and one of them."""

    code: str
    message: str
    nodes: int
    example: str


class WhyView(msgspec.Struct, frozen=True):
    """The answer. `state` is pending, gated, placed or finished, of workloads also refused or no-pods; texts are empty
    where there is nothing to say.

    `suggestion` is the smallest change that fits, `line` the place in the quota line, `nearest` the node that comes
    closest, with what it lacks; `scaling` says why no autoscaler helps. `owner` is the workload, such as `Job/train`,
    `lacks` how many of its pods are refused and why, `admission` gpusched's own word on a pod that is not there yet.
    `created` is RFC 3339, `phase` that of a pod that has ended.
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
    owner: str = ""
    created: str = ""
    scaling: str = ""
    phase: str = ""
    lacks: str = ""
    admission: AdmissionView | None = None


def why_view(why: Why, name: str = "", created: str = "") -> WhyView:
    """The answer, which holds for a pod of another `name` too that is alike, `created` at another time."""
    pod, explanation = why.view, why.explanation
    waits = pod.unschedulable
    examples = explanation.examples if explanation is not None else {}
    return WhyView(
        namespace=pod.namespace,
        name=name or pod.name,
        state=state_of(why),
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
        owner=pod.owner or "",
        created=created or why.created,
        scaling=explanation.scaling if explanation else "",
        phase=why.finished,
        lacks=why.lacks,
        admission=pod.admission,
    )
