from pathlib import Path

import pytest

from gpusched.cli import session
from gpusched.cli.progress import Progress
from gpusched.cli.session import error_views
from gpusched.simulate.manifest import InputFault
from gpusched.simulate.result import ErrorView
from tests.build import pod, t4_node
from tests.cli.commands import Folder, run


@pytest.mark.parametrize(
    "arguments",
    [
        ["simulate", "-f", "-", "--cluster", "-"],
        ["simulate", "-f", "-", "-f", "-", "--cluster", "x"],
        ["check", "-f", "-", "--config", "-"],
        ["nodes", "--cluster", "-", "--cluster", "-"],
        ["why", "p", "-f", "-", "--cluster", "-"],
        ["report", "--cluster", "-", "--policy", "-"],
        ["config", "scheduler", "--config", "-", "--merge", "-"],
    ],
)
def test_standard_input_serves_one_input(arguments: list[str]) -> None:
    ran = run(*arguments, stdin="apiVersion: v1")

    assert (ran.code, ran.out) == (2, "")
    assert "standard input (-) can be given for one input only; put the others into files" in ran.err


def test_each_input_may_be_standard_input(folder: Folder) -> None:
    files, dump = folder.documents("p.yaml", pod("p")), folder.documents("c.yaml", t4_node())

    assert run("simulate", "-f", "-", "--cluster", dump, stdin=Path(files).read_text()).code == 0
    assert run("simulate", "-f", files, "--cluster", "-", stdin=Path(dump).read_text()).code == 0


def test_errors_are_told_once() -> None:
    fault = InputFault("f:1", "spec", "wrong")

    assert error_views([fault, fault]) == (ErrorView("f:1", "spec", "wrong"),)


def test_errors_and_notes_are_lines_on_standard_error(folder: Folder) -> None:
    ran = run("simulate", "-f", "/no\nwhere", "--cluster", folder.documents("c.yaml", t4_node()))

    assert (ran.code, ran.err) == (2, "error: /no where: no such file or directory\n")


def test_colour_is_for_terminals_only(folder: Folder) -> None:
    ran = run(
        "simulate", "-f", folder.documents("p.yaml", pod("p")), "--cluster", folder.documents("c.yaml", t4_node())
    )

    assert "\x1b[" not in ran.out


@pytest.mark.parametrize(
    "arguments", [["doctor"], ["quota"], ["top", "--once"], ["report"], ["nodes"], ["why"], ["install", "preflight"]]
)
def test_taking_in_a_large_cluster_is_told(
    monkeypatch: pytest.MonkeyPatch, folder: Folder, arguments: list[str]
) -> None:
    began: list[str] = []
    monkeypatch.setattr(session, "_MANY", 1)
    monkeypatch.setattr(Progress, "begin", lambda _self, line: began.append(line))
    run(*arguments, "--cluster", folder.documents("c.yaml", t4_node(), pod("p")))

    assert "taking in 2 objects" in began
