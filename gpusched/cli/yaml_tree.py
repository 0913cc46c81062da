"""Builds plain trees from a YAML parser's events, with the checks that PyYAML's own constructor lacks."""

from math import isfinite
from typing import Final, cast

import yaml
from yaml.error import Mark
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from gpusched.cli.reading import MAX_DEPTH, Reading, child_path, shorten
from gpusched.cli.yaml_scalars import key_text, plain
from gpusched.core.fault import Fault

#: Values that a document may gain by using anchors again: more is a bomb, not a manifest.
MAX_ALIASED: Final = 200_000

_TYPED: Final = frozenset(f"tag:yaml.org,2002:{name}" for name in ("int", "float", "bool", "null"))
_NO_KEY: Final = object()
_MERGE: Final = object()
_UNFINISHED: Final = object()


class _Frame:
    """A mapping or list under construction; `merged` are the keys that only a merge (`<<`) has brought in."""

    __slots__ = ("anchor", "key", "merged", "value")

    def __init__(self, value: dict[str, object] | list[object], anchor: str | None) -> None:
        self.value = value
        self.anchor = anchor
        self.key: object = _NO_KEY
        self.merged: set[str] = set()


class TreeBuilder:
    """Takes the events of a stream. What cannot be read on is raised as `yaml.MarkedYAMLError`.

    `faults` is what else is wrong with the document that is being read.
    """

    def __init__(self, first_line: int = 1) -> None:
        self._first_line = first_line
        self._reset()

    def take(self, event: Event) -> bool:
        """Add one event; true when it ends a document."""
        if isinstance(event, ScalarEvent):
            self._scalar(event)
        elif isinstance(event, MappingStartEvent):
            self._open({}, event)
        elif isinstance(event, SequenceStartEvent):
            self._open([], event)
        elif isinstance(event, MappingEndEvent | SequenceEndEvent):
            self._close(event)
        elif isinstance(event, AliasEvent):
            self._put(self._alias(event), event)
        return isinstance(event, DocumentEndEvent)

    def finish(self) -> Reading:
        """The document that just ended; the builder is ready for the next."""
        reading = Reading(self._root, tuple(self.faults), self._usable)
        self._reset()
        return reading

    def path(self) -> str:
        """Where the parser stands, such as `spec.containers[0].image`."""
        path = ""
        for frame in self._stack:
            if isinstance(frame.value, list):
                path = child_path(path, len(frame.value))
            elif isinstance(frame.key, str):
                path = child_path(path, frame.key)
        return path

    def partial(self) -> object:
        """What there is of the object being read, enough to name it: an item where a List is read."""
        mappings = [frame.value for frame in self._stack if isinstance(frame.value, dict)]
        objects = [mapping for mapping in mappings if {"apiVersion", "kind", "metadata"} <= mapping.keys()]
        return objects[-1] if objects else next(iter(mappings), None)

    def _reset(self) -> None:
        self._stack: list[_Frame] = []
        self._root: object = None
        self.faults: list[Fault] = []
        self._usable = True
        self._anchors: dict[str, object] = {}
        self._aliased = 0

    def _scalar(self, event: ScalarEvent) -> None:
        untagged = event.implicit[0] and event.tag is None
        value: object = plain(event.value) if untagged or event.tag in _TYPED else event.value
        if type(value) is float and not isfinite(value):
            self._fault(event, f"JSON has no number {event.value}: write a finite one, or put it in quotes")
            self._usable = False
        if event.anchor is not None:
            self._anchors[event.anchor] = value
        self._put(_MERGE if untagged and value == "<<" and self._awaits_key() else value, event)

    def _awaits_key(self) -> bool:
        return bool(self._stack) and self._stack[-1].key is _NO_KEY and isinstance(self._stack[-1].value, dict)

    def _open(self, value: dict[str, object] | list[object], event: MappingStartEvent | SequenceStartEvent) -> None:
        if len(self._stack) >= MAX_DEPTH:
            raise _problem(event, f"nested deeper than {MAX_DEPTH} levels")
        if event.anchor is not None:
            self._anchors[event.anchor] = _UNFINISHED
        self._stack.append(_Frame(value, event.anchor))

    def _close(self, event: Event) -> None:
        frame = self._stack.pop()
        if frame.anchor is not None:
            self._anchors[frame.anchor] = frame.value
        self._put(frame.value, event)

    def _put(self, value: object, event: Event) -> None:
        if not self._stack:
            self._root = value
            return
        frame = self._stack[-1]
        if isinstance(frame.value, list):
            frame.value.append(value)
        elif frame.key is _NO_KEY:
            self._start_member(frame, frame.value, value, event)
        else:
            if isinstance(frame.key, str):
                frame.value[frame.key] = value
            else:
                self._merge(frame, frame.value, value, event)
            frame.key = _NO_KEY

    def _start_member(self, frame: _Frame, mapping: dict[str, object], value: object, event: Event) -> None:
        if value is _MERGE:
            frame.key = _MERGE
            return
        if isinstance(value, dict | list):
            raise _problem(event, f"a key must be text, not a {'mapping' if isinstance(value, dict) else 'list'}")
        if value is None:
            raise _problem(event, "a key is missing or null: write it, or put it in quotes")
        key = value if isinstance(value, str) else key_text(value)
        frame.key = key
        if key in mapping:
            if key not in frame.merged:
                self._fault(event, f'"{shorten(key)}" is written twice: keep one (the last counts)')
            frame.merged.discard(key)

    def _merge(self, frame: _Frame, mapping: dict[str, object], value: object, event: Event) -> None:
        # As Kubernetes' parser has it, a merge also replaces what the mapping wrote above it; the first of a list wins.
        for source in reversed(value) if isinstance(value, list) else [value]:
            if not isinstance(source, dict):
                raise _problem(event, "<< takes a mapping or a list of mappings")
            mapping.update(source)
            frame.merged.update(source)

    def _alias(self, event: AliasEvent) -> object:
        name = event.anchor
        if name not in self._anchors:
            raise _problem(event, f"*{name} stands for an anchor that is not there: write &{name} above, or use quotes")
        if self._anchors[name] is _UNFINISHED:
            raise _problem(event, f"the anchor &{name} contains itself")
        return self._copy(self._anchors[name], len(self._stack), event)

    def _copy(self, value: object, depth: int, event: AliasEvent) -> object:
        self._aliased += 1
        if self._aliased > MAX_ALIASED:
            raise _problem(event, f"anchors add more than {MAX_ALIASED:,} values: write them out")
        if not isinstance(value, dict | list):
            return value
        if depth >= MAX_DEPTH:
            raise _problem(event, f"nested deeper than {MAX_DEPTH} levels")
        if isinstance(value, dict):
            return {key: self._copy(member, depth + 1, event) for key, member in value.items()}
        return [self._copy(member, depth + 1, event) for member in value]

    def _fault(self, event: Event, message: str) -> None:
        line = event.start_mark.line if event.start_mark is not None else 0
        self.faults.append(Fault(self.path(), f"line {self._first_line + line}: {message}"))


def _problem(event: Event, problem: str) -> yaml.MarkedYAMLError:
    # The C parser's marks count lines as the others do, though the stubs know them as another type.
    return yaml.MarkedYAMLError(problem=problem, problem_mark=cast("Mark", event.start_mark))
