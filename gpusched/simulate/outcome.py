"""What became of one pod of a simulation, and what makes two of them alike."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from gpusched.admission.admission import Admission
from gpusched.core.codes import Reason
from gpusched.core.names import QUOTA_GATE
from gpusched.core.pod import Pod
from gpusched.core.quantity import round_mib
from gpusched.placement.allowance import Excess
from gpusched.simulate.admit import Candidate
from gpusched.simulate.expand import PlannedPod
from gpusched.simulate.result import PlacementView, UnschedulableView

#: The best score of the extender protocol; the chosen node always has it.
_BEST_SCORE: Final = 10
_NEVER: Final = " and never goes: "


class Outcome(msgspec.Struct):
    """What became of one pod. At most one of `node`, `gated` and `waiting` is set; none when it was refused."""

    planned: PlannedPod
    admission: Admission
    candidate: Candidate | None = None
    node: str | None = None
    gated: str | None = None
    waiting: bool = False
    notes: tuple[str, ...] = ()


def never_text(namespace: str, over: Sequence[Sequence[Excess]]) -> str:
    """What is said of a pod behind the quota gate that stays there for ever; `over` are the limits that it exceeds
    alone, by each draw that it might make.
    """
    said = dict.fromkeys(" and ".join(map(_over, draw)) for draw in over)
    return f"it asks for {' or '.join(said)} in namespace {namespace}{_NEVER}{_less(over)}"


def is_never(note: str) -> bool:
    """Whether a note says that of its pod."""
    return _NEVER in note


def _over(excess: Excess) -> str:
    if not excess.key:
        return f"{round_mib(excess.asked)} of GPU memory of a quota of {round_mib(excess.limit)}"
    family = "GPUs" if excess.key == "*" else excess.key
    return f"{excess.asked} {family} of a quota of {excess.key}={excess.limit}"


def _less(over: Sequence[Sequence[Excess]]) -> str:
    """How much less would go; without a number where slots and memory, or several families, exceed their limits."""
    of_slots = {bool(excess.key) for draw in over for excess in draw}
    if len(of_slots) > 1 or any(len({excess.asked for excess in draw}) > 1 for draw in over):
        return "ask for less"
    most = max(min(excess.limit for excess in draw) for draw in over)
    return f"ask for {most if of_slots == {True} else round_mib(most)} or less" if most else "it allows none"


class Cause(msgspec.Struct, frozen=True):
    """What the many pods of a DaemonSet have in common that wait for one cause: their admission and what is said."""

    admission: int
    reason: Reason
    said: str


def waiting_daemons(outcomes: Iterable[Outcome]) -> Counter[int]:
    """How many pods of each DaemonSet wait, by the identity of their common admission."""
    return Counter(id(outcome.admission) for outcome in outcomes if outcome.waiting and outcome.planned.pinned)


def of_any_node(explained: UnschedulableView, said: str) -> UnschedulableView:
    """The explanation of one pod for all of which the same is `said`: pods to wait for are others on every node."""
    explained = msgspec.structs.replace(
        explained, reasons=tuple(msgspec.structs.replace(reason, message=said) for reason in explained.reasons)
    )
    if not explained.suggestion.startswith("Wait: "):
        return explained
    return msgspec.structs.replace(explained, suggestion="Wait: pods on the node hold it")


def likeness(outcome: Outcome) -> object:
    """Equal for pods that differ in nothing but their name: pods judged as one share the verdict."""
    return outcome.planned.pinned, id(outcome.admission)


def placement_view(outcome: Outcome) -> PlacementView | None:
    """Where the pod went, as it is printed; None when it went nowhere."""
    if outcome.node is None or outcome.candidate is None:
        return None
    request = outcome.candidate.request
    resources = dict(sorted(request.demand.slots.items())) if request is not None else {}
    scored = request is not None and not outcome.candidate.pod.spec.node_name
    return PlacementView(node=outcome.node, resources=resources, score=_BEST_SCORE if scored else 0)


def gate_notes(gates: Iterable[str]) -> tuple[str, ...]:
    """Who must lift the gates that are not gpusched's."""
    names = ", ".join(gate for gate in gates if gate != QUOTA_GATE)
    return (f"scheduling gate {names}: whoever set it must lift it, gpusched does not",) if names else ()


def ungated(pod: Pod) -> Pod:
    """The pod after the quota let it go."""
    gates = tuple(gate for gate in pod.spec.gates if gate != QUOTA_GATE)
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, gates=gates))


def fingerprint(planned: PlannedPod) -> str:
    """The pod without its name, as text that is equal for equal trees."""
    metadata = planned.tree.get("metadata")
    kept = {key: value for key, value in metadata.items() if key != "name"} if isinstance(metadata, dict) else None
    return json.dumps([planned.manifest.namespace, kept, planned.tree.get("spec")], sort_keys=True)
