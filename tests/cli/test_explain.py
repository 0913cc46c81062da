from gpusched.core.codes import Code, Reason
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

    assert codes == [*map(str, Code), *map(str, Reason)]


def test_a_code_that_is_none():
    ran = run("explain", "gpu-clam")

    assert (ran.code, ran.out) == (2, "")
    assert "no code gpu-clam; did you mean gpu-claim?" in ran.err


def test_the_beginning_of_codes():
    assert "no code native; there are native-resources, native-taint, native-" in run("explain", "native").err
    assert "no code runtime-; there are runtime-class-missing" in run("explain", "runtime-").err
