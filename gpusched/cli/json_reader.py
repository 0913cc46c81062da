"""Reads JSON text: one object, or several one after the other, as kubectl accepts them."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from math import isfinite
from typing import Final

from gpusched.cli.reading import MAX_DEPTH, Reading, child_path, shorten, unreadable, walk
from gpusched.cli.yaml_scalars import whole
from gpusched.core.fault import Fault

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_CONTAINERS: Final = frozenset({dict, list})
_DEEP: Final = f"nested deeper than {MAX_DEPTH} levels"
_LONG: Final = "a number of thousands of digits: shorten it, or put it in quotes"


def read_json(text: str) -> Iterator[Reading]:
    """The documents of a text; after a broken one reading goes on at the next line that starts with `{`."""
    position = _skip_space(text, 0)
    while position < len(text):
        reading, end = _Decoder().read(text, position)
        if reading.tree is not None or not reading.usable:
            yield reading
        position = _skip_space(text, end)


class _Decoder:
    """Decodes one document and keeps what the decoder's hooks see: keys written twice, numbers that JSON lacks."""

    def __init__(self) -> None:
        # The mapping is kept beside its keys, so that its identity stays its own.
        self._repeated: dict[int, tuple[dict[str, object], list[str]]] = {}
        self._all_finite = True
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._mapping, parse_float=self._number, parse_constant=self._number
        )

    def read(self, text: str, start: int) -> tuple[Reading, int]:
        """The document that starts there, and where to go on."""
        try:
            tree, end = self._decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            return unreadable(_sentence(error)), _next_object(text, max(error.pos - 1, start))
        except RecursionError:
            return unreadable(_DEEP), _next_object(text, start)
        except ValueError:
            return unreadable(_LONG), _next_object(text, start)
        if _too_deep(tree):
            return unreadable(_DEEP), end
        faults = tuple(self._faults(tree))
        if _ESCAPED_SURROGATE.search(text, start, end):
            tree = _without_surrogates(tree)
        return Reading(tree, faults, usable=self._all_finite), end

    def _mapping(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        tree = dict(pairs)
        if len(tree) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            self._repeated[id(tree)] = tree, [key for key in tree if counts[key] > 1]
        return tree

    def _number(self, text: str) -> int | float:
        value = float(text)
        if not isfinite(value):
            self._all_finite = False
            return value
        return whole(value)

    def _faults(self, tree: object) -> Iterator[Fault]:
        if self._all_finite and not self._repeated:
            return
        for path, value in walk(tree):
            if isinstance(value, float) and not isfinite(value):
                yield Fault(path, "not a number that JSON has: write a finite one, or put it in quotes")
            _, keys = self._repeated.get(id(value), (None, ()))
            for key in keys:
                yield Fault(child_path(path, key), f'"{shorten(key)}" is written twice: keep one (the last counts)')


def _skip_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _next_object(text: str, position: int) -> int:
    line = text.find("\n{", position)
    return len(text) if line < 0 else line + 1


def _sentence(error: json.JSONDecodeError) -> str:
    end = error.doc.find("\n", error.pos)
    content = error.doc[error.doc.rfind("\n", 0, error.pos) + 1 : None if end < 0 else end]
    place = f"line {error.lineno}" + (f" ({shorten(content)})" if content.strip() else "")
    return f"{place}: not JSON: {error.msg[:1].lower()}{error.msg[1:]}"


def _too_deep(tree: object) -> bool:
    level: list[object] = [tree]
    for _ in range(MAX_DEPTH + 1):
        # One loop over millions of values: what the decoder makes are mappings and lists of these very types.
        mappings = [value for value in level if type(value) is dict]
        lists = [value for value in level if type(value) is list]
        level = [member for value in mappings for member in value.values() if type(member) in _CONTAINERS]
        level += [member for value in lists for member in value if type(member) in _CONTAINERS]
        if not level:
            return False
    return True


def _without_surrogates(value: object) -> object:
    """The tree with U+FFFD for halves of surrogate pairs, as Go's decoder has it: no output can carry them."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_SURROGATE.sub("\ufffd", key): _without_surrogates(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_without_surrogates(member) for member in value]
    return value
