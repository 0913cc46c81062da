"""Runs the commands of console blocks as a reader types them in a checkout."""

import os
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager

from tests.cli.commands import run
from tests.docs.digest import digest
from tests.docs.page import DOCS, ROOT, Block, Step, steps

#: A command with its words; answers exit code and output.
Program = Callable[[list[str]], tuple[int, str]]


class Shell:
    """The programs that pages may use: gpusched, `cat`, and `echo $?`; further ones by name.

    `kubeconfig` is the cluster that gpusched asks without a dump; without one there is none.
    """

    def __init__(self, kubeconfig: str = "/nonexistent", programs: dict[str, Program] | None = None) -> None:
        self._kubeconfig = kubeconfig
        self._programs: dict[str, Program] = {"gpusched": gpusched, "cat": cat, **(programs or {})}
        self._code = 0

    def run(self, command: str) -> str:
        """What a terminal shows of a command: its output, then what it says on standard error."""
        if command == "echo $?":
            return f"{self._code}\n"
        variables, words = _split(command)
        program = self._programs.get(words[0])
        assert program is not None, f"no page may use {words[0]}: {command}"
        with chdir(ROOT), _environment({"KUBECONFIG": self._kubeconfig, "NO_COLOR": "1", **variables}):
            self._code, out = program(words[1:])
        return out


def derived(block: Block, shell: Shell) -> str | None:
    """What a block should read: the file or digest that its mark names, or its commands with their output; None where
    it is a text of its own, or needs a live cluster.
    """
    kind, _, place = block.mark.partition(" ")
    if kind == "file":
        return (DOCS / place).read_text(encoding="utf-8")
    if kind == "digest":
        return digest(DOCS / place)
    return shown(block, shell) if block.language == "console" and not kind else None


def shown(block: Block, shell: Shell) -> str:
    """A console block as it should read."""
    return "".join(_with_output(step, shell.run(step.command)) for step in steps(block))


def gpusched(words: list[str]) -> tuple[int, str]:
    """One run of the command line."""
    ran = run(*words)
    return ran.code, ran.out + ran.err


def cat(words: list[str]) -> tuple[int, str]:
    """Files of the checkout."""
    return 0, "".join((ROOT / word).read_text(encoding="utf-8") for word in words)


def _with_output(step: Step, output: str) -> str:
    command = step.command.replace("\n", "\\\n")
    return f"$ {command}\n{output}"


def _split(command: str) -> tuple[dict[str, str], list[str]]:
    """Assignments before a command, and its words without a comment."""
    words = shlex.split(command, comments=True)
    variables: dict[str, str] = {}
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        name, _, value = words.pop(0).partition("=")
        variables[name] = value
    return variables, words


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
