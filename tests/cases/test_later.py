"""The list of known problems is complete: each is tested, waits for a part not built yet, or is none of gpusched's."""

import re
from pathlib import Path
from typing import Final

#: The numbers collected, by section.
_NUMBERS: Final = {
    "AM": range(1, 18, 2),
    "AV": range(2, 19, 2),
    "PO": range(1, 8, 2),
    "IN": range(2, 27, 2),
    "FI": range(1, 22, 2),
    "SC": range(2, 11, 2),
    "BA": range(1, 20, 2),
    "CE": range(2, 7, 2),
    "HA": range(1, 8, 2),
    "CF": range(2, 11, 2),
    "OB": range(1, 10, 2),
}
CASES: Final = frozenset(f"{section}-{number:02d}" for section, numbers in _NUMBERS.items() for number in numbers)

#: Problems of parts that are not built yet: a socket, a watch, certificates, metrics, shipped manifests.
LATER: Final = {
    "BA-05": "the annotations of a decision travel in the Binding",
    "CE-02": "a valid Secret is used again, and the caBundle follows it",
    "CE-04": "warnings before the earlier expiry, and rotation with both authorities",
    "CE-06": "renewal of one authority, of both, and of none",
    "HA-03": "readiness and filter answers before the first complete list of a leader's term",
    "HA-07": "the rules and time-outs of the shipped webhook registration",
    "CF-08": "the lease name of the shipped second scheduler",
    "OB-05": "the labels of every metric",
}

#: Problems that are tested as far as decisions go; what stands here waits for such a part.
PARTLY_LATER: Final = {
    "AM-03": "the counter of RuntimeClasses that are missing",
    "AV-12": "updates of owned annotations are refused by the shipped ValidatingAdmissionPolicy",
    "PO-01": "a live read of a Namespace that the watch has not delivered yet",
    "IN-04": "a metric counts labels that flip",
    "IN-12": "a metric for invalid MIG layouts, and their line in doctor",
    "BA-15": "a promise outlives a time-out until a read shows what became of the pod",
    "BA-17": "a metric for pods that the kubelet refused",
    "BA-19": "bind answered with a refusal of the API server",
    "HA-01": "the namespaceSelector of the shipped webhook registration",
    "CF-06": "the start-up check of configured names, and the counter of unlisted ones",
    "OB-01": "refusals in the log with the pod's UID, and counted by code",
    "OB-03": "the gauge of slots in use",
    "OB-07": "separate metrics for slots and for physical GPUs",
    "OB-09": "the note on the node, and one line in the log",
}

NOT_APPLICABLE: Final = {
    "PO-07": "kube-scheduler does not send pods without GPUs to the extender, and they are never delayed or refused; "
    "taints keep them away from GPU nodes",
    "SC-10": "the kubelet picks the device; an extender ranks nodes only",
}


def _tested() -> frozenset[str]:
    """Problems with a test, by the names of the tests of this directory."""
    found = set()
    for file in Path(__file__).parent.glob("test_*.py"):
        names = re.findall(r"^def test_([a-z]{2})_(\d\d)_", file.read_text(encoding="utf-8"), re.MULTILINE)
        found.update(f"{section.upper()}-{number}" for section, number in names)
    return frozenset(found)


def test_every_problem_has_a_test_or_a_reason_to_have_none() -> None:
    assert len(CASES) == 78
    assert _tested() | LATER.keys() | NOT_APPLICABLE.keys() == CASES


def test_every_reason_is_still_good() -> None:
    """A problem with a test leaves the tables of those without, and one that is partly tested keeps its test."""
    assert not _tested() & (LATER.keys() | NOT_APPLICABLE.keys())
    assert not LATER.keys() & NOT_APPLICABLE.keys()
    assert PARTLY_LATER.keys() <= _tested()
