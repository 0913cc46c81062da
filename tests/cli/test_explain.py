import pytest

from gpusched.core.codes import Code, Reason
from gpusched.doctor.examine import CHECKS
from gpusched.doctor.preflight_problems import OWN
from gpusched.serve.telling.told import EventReason
from tests.cli.commands import run


def test_one_code():
    ran = run("explain", "gpu-quantity")

    assert ran.code == 0
    assert ran.out.splitlines()[0] == "gpu-quantity  (admission)"
    assert [line.split()[0] for line in ran.out.splitlines()[1:] if line[0] != " "] == ["Cause", "Fix", "Example"]


def test_as_it_is_copied_from_a_message():
    assert run("explain", "GPU-Claim:", "-o", "json").json["code"] == "gpu-claim"


def test_every_code():
    codes = [item["code"] for item in run("explain", "-o", "json").json["codes"]]

    known = [*map(str, Code), *map(str, Reason)]
    assert codes[: len(known)] == known
    others = [*map(str, EventReason), *(check.name for check in CHECKS), *(problem.check for problem in OWN)]
    assert codes[len(known) :] == [name for name in dict.fromkeys(others) if name not in known]


@pytest.mark.parametrize(
    ("code", "kind"),
    [("GPUUnschedulable", "event"), ("gpuquotawait:", "event"), ("stale-gate", "doctor"), ("not-examined", "doctor")],
)
def test_reasons_of_events_and_checks(code, kind):
    ran = run("explain", code)

    assert (ran.code, ran.out.splitlines()[0].lower()) == (0, f"{code.rstrip(':').lower()}  ({kind})")


def test_a_code_that_is_none():
    ran = run("explain", "gpu-clam")

    assert (ran.code, ran.out) == (2, "")
    assert "no code gpu-clam; did you mean gpu-claim?" in ran.err


def test_the_beginning_of_codes():
    assert "no code native; there are native-resources, native-taint, native-" in run("explain", "native").err
    assert "no code runtime-; there are runtime-class-missing" in run("explain", "runtime-").err
