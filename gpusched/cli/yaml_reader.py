"""Reads YAML as kubectl does, one document at a time, so that a bad document never takes its neighbours with it."""

import re
from collections.abc import Callable, Iterator
from typing import Final

import msgspec
import yaml

from gpusched.cli.reading import Reading
from gpusched.cli.yaml_problems import sentence
from gpusched.cli.yaml_tree import TreeBuilder
from gpusched.core.fault import Fault

#: libyaml parses ten times faster; the Python parser does the same where PyYAML was built without it.
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TICK: Final = 10_000  # events between two signs of life
_SEPARATOR: Final = re.compile(r"^(---|\.\.\.)(?=\s|$)", re.MULTILINE)
_LINE: Final = re.compile(r"[^\n]+")
#: A line that starts no value: blank, comment, directive, or a document marker on its own.
_EMPTY_LINE: Final = re.compile(r"\s*(#.*)?|%.*|(---|\.\.\.)\s*(#.*)?")


class Chunk(msgspec.Struct, frozen=True):
    """The text of one document and the line at which it starts, from 1."""

    text: str
    line: int


def chunks(text: str) -> Iterator[Chunk]:
    """Cut a text at the lines `---` and `...`; parts that hold nothing but comments are left out."""
    start, line = 0, 1
    for end in [*(match.start() for match in _SEPARATOR.finditer(text)), len(text)]:
        part = text[start:end]
        if any(not _EMPTY_LINE.fullmatch(content[0]) for content in _LINE.finditer(part)):
            yield Chunk(part.removeprefix("..."), line)
        line += part.count("\n")
        start = end


def read_chunk(chunk: Chunk, tick: Callable[[int], None] = lambda _line: None) -> Iterator[Reading]:
    """The documents of a chunk; null documents are left out, a broken one is the last. `tick` is told the line."""
    builder = TreeBuilder(chunk.line)
    taken = 0
    try:
        loader = _LOADER(chunk.text)
        while loader.check_event():
            event = loader.get_event()
            if builder.take(event) and (reading := builder.finish()).tree is not None:
                yield reading
            taken += 1
            if taken % _TICK == 0:
                tick(chunk.line + event.start_mark.line)
    except yaml.YAMLError as error:
        fault = Fault(builder.path(), sentence(error, chunk.text, chunk.line))
        yield Reading(builder.partial(), (*builder.faults, fault), usable=False)
