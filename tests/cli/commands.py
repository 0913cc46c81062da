"""Runs the command line in this process, with streams of its own."""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from gpusched.cli.main import main
from gpusched.cli.output import as_yaml


class Ran(msgspec.Struct, frozen=True):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as JSON."""
        return msgspec.json.decode(self.out)

    @property
    def errors(self) -> list[str]:
        """Lines on standard error that report errors."""
        return [line.removeprefix("error: ") for line in self.err.splitlines() if line.startswith("error: ")]

    @property
    def notes(self) -> list[str]:
        """Lines on standard error that are notes."""
        return [line.removeprefix("note: ") for line in self.err.splitlines() if line.startswith("note: ")]


def run(*arguments: object, stdin: str | bytes = b"") -> Ran:
    """One run of `gpusched`; whatever the arguments are, they become text."""
    given = stdin.encode() if isinstance(stdin, str) else stdin
    with _streams(given) as (out, err):
        code: object = 0
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as ended:
            code = ended.code
    return Ran(code if isinstance(code, int) else 0, _text(out), _text(err))


@contextmanager
def _streams(given: bytes) -> Iterator[tuple[io.TextIOWrapper, io.TextIOWrapper]]:
    before = sys.stdin, sys.stdout, sys.stderr
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO(given), encoding="utf-8"), out, err
    try:
        yield out, err
    finally:
        sys.stdin, sys.stdout, sys.stderr = before


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode()


class Folder:
    """Writes input files of a test."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, name: str, content: str | bytes) -> str:
        """A file of this content; its path."""
        place = self.path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(place)

    def documents(self, name: str, *trees: object) -> str:
        """A file of these objects as YAML; its path."""
        return self.write(name, "---\n".join(as_yaml(tree) for tree in trees))
