"""Whatever happens, users see one line and an exit code."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from gpusched.cli import main as module
from tests.build import pod, t4_node
from tests.cli.commands import Folder, run

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "gpusched"]


def _arguments(folder: Folder) -> list[str]:
    files = folder.documents("p.yaml", pod("p"))
    return ["simulate", "-f", files, "--cluster", folder.documents("c.yaml", t4_node())]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--frobnicate"], "No such option '--frobnicate'."),
        (["frobnicate"], "No such command 'frobnicate'."),
        (["simulate", "--frobnicate"], "No such option '--frobnicate'."),
        (["simulate", "-o", "xml"], "Invalid value for '-o' / '--output'"),
        (["simulate", "surplus"], "Got unexpected extra argument (surplus)"),
        (["simulate", "-f"], "Option '-f' requires an argument."),
        (["config", "check"], "Missing argument 'FILE'."),
    ],
)
def test_bad_usage(arguments: list[str], message: str) -> None:
    ran = run(*arguments)

    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


@pytest.mark.parametrize(
    "arguments", [["--help"], ["simulate", "-h"], ["config", "scheduler", "--help"], ["--version"]]
)
def test_help_and_version(arguments: list[str]) -> None:
    ran = run(*arguments)

    assert (ran.code, ran.err) == (0, "")
    assert ran.out


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (click.Abort(), 130, "interrupted"),
        (OSError(28, "No space left on device"), 2, "error: [Errno 28] No space left on device"),
        (MemoryError(), 2, "error: MemoryError"),
        (RecursionError("too deep"), 2, "error: too deep"),
        (click.UsageError("that is\nwrong"), 2, "Error: that is\nwrong"),
    ],
)
def test_what_goes_wrong_is_one_line(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, message: str
) -> None:
    def broken(**_options: object) -> None:
        raise error

    monkeypatch.setattr(module.gpusched, "main", broken)
    ran = run("simulate")

    assert (ran.code, ran.out, ran.err.strip()) == (code, "", message)


def test_a_bug_is_one_line_with_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_options: object) -> None:
        raise KeyError("nobody")

    monkeypatch.setattr(module.gpusched, "main", broken)
    ran = run("simulate")

    assert ran.code == 2
    assert ran.err.startswith("error: a bug in gpusched, please report it: KeyError: 'nobody' at ")
    assert ran.err.count("\n") == 1


def test_a_reader_that_goes_away_is_no_error(folder: Folder) -> None:
    arguments = [*COMMAND, *_arguments(folder), "-o", "json"]
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(arguments, stdout=writer, stderr=subprocess.PIPE, cwd=ROOT, check=False)
    finally:
        os.close(writer)

    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("closing", [">&-", "2>&-", "<&-", ">&- 2>&-"])
def test_closed_streams_are_no_error(folder: Folder, closing: str) -> None:
    line = " ".join([*COMMAND, *_arguments(folder), closing])
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, cwd=ROOT, check=False)

    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_line(folder: Folder) -> None:
    line = " ".join([*COMMAND, *_arguments(folder), ">/dev/full"])
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, cwd=ROOT, check=False)

    assert (done.returncode, done.stderr) == (2, b"error: [Errno 28] No space left on device\n")


def test_an_interrupt_is_one_line(folder: Folder) -> None:
    arguments = ["simulate", "-f", "-", "--cluster", folder.documents("c.yaml", t4_node())]
    with subprocess.Popen(
        [*COMMAND, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    ) as process:
        assert process.stdin is not None
        # More than a pipe holds: once it is written, the command is reading, and waits for the rest.
        process.stdin.write(b"# filling\n" * 200_000)
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()

    assert (process.returncode, out, err.split()) == (130, b"", [b"interrupted"])


def test_an_interrupt_while_modules_are_read_is_silent() -> None:
    code = """
import signal, sys

class Finder:
    def find_spec(self, name, *_):
        if name == "click":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Finder())
from gpusched.cli.entry import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code, "nodes"], capture_output=True, cwd=ROOT, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


@pytest.mark.parametrize("group", [[], ["config"]])
def test_no_line_about_a_command_is_cut(group: list[str]) -> None:
    assert "..." not in run(*group, "--help").out.partition("Commands:")[2]
