"""What `why` gives programs: the pod of `simulate`, with its state, the nearest node and an example of each reason."""

import msgspec

from gpusched.simulate.reasons.why import Why, state_of
from gpusched.simulate.result import PodView, ReasonView


class ExampleView(ReasonView, frozen=True):
    """A reason with one of the nodes that give it."""

    example: str = ""


class NearestView(msgspec.Struct, frozen=True):
    """The node that lacks least, and what."""

    node: str
    lacks: str


class AnswerView(PodView, frozen=True):
    """One answer. `state` is that of `state_of`; `others` of a workload are those about its other pods that have no
    node.
    """

    state: str = ""
    nearest: NearestView | None = None
    others: tuple["AnswerView", ...] | msgspec.UnsetType = msgspec.UNSET


def answer_view(answer: Why, *others: Why) -> AnswerView:
    """The answer for programs, with others that belong to it."""
    pod, explanation = answer.view, answer.explanation
    told = {name: getattr(pod, name) for name in PodView.__struct_fields__}
    if pod.unschedulable is not None:
        examples = explanation.examples if explanation is not None else {}
        reasons = tuple(
            ExampleView(item.code, item.message, item.nodes, examples.get(item.code, ""))
            for item in pod.unschedulable.reasons
        )
        told["unschedulable"] = msgspec.structs.replace(pod.unschedulable, reasons=reasons)
    nearest = None
    if explanation is not None and explanation.nearest is not None:
        nearest = NearestView(explanation.nearest, explanation.nearest_lacks)
    besides = tuple(map(answer_view, others)) or msgspec.UNSET
    return AnswerView(**told, state=state_of(answer), nearest=nearest, others=besides)
