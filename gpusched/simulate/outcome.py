"""What became of one pod of a simulation, and what makes two of them alike."""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from gpusched.admission.admission import Admission
from gpusched.core.codes import Reason
from gpusched.core.names import QUOTA_GATE
from gpusched.core.pod import Pod
from gpusched.simulate.admit import Candidate
from gpusched.simulate.expand import PlannedPod
from gpusched.simulate.result import PlacementView, UnschedulableView

#: The best score of the extender protocol; the chosen node always has it.
_BEST_SCORE: Final = 10


class Outcome(msgspec.Struct):
    """What became of one pod. At most one of `node`, `gated` and `waiting` is set; none when it was refused."""

    planned: PlannedPod
    admission: Admission
    candidate: Candidate | None = None
    node: str | None = None
    gated: str | None = None
    waiting: bool = False
    notes: tuple[str, ...] = ()


def never_text(namespace: str) -> str:
    """What is said of a pod behind the quota gate that stays there for ever."""
    return f"it asks for more than the whole quota of namespace {namespace} and never goes: ask for less"


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
