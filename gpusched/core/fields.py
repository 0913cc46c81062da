"""Field: a cursor over an untyped JSON tree that collects faults instead of raising."""

import re
from collections.abc import Mapping
from math import isfinite
from typing import Final, TypeGuard

import msgspec

from gpusched.core.fault import Fault

_PLAIN_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_STRING: Final = frozenset({str})
#: Longer integers are named, not printed: Python refuses to turn thousands of digits into text.
_PRINTABLE_BITS: Final = 512


class Field(msgspec.Struct, eq=False, gc=False):
    """One place in a tree, with its key or index within its parent, or its whole path where there is no parent, and the
    list that faults go to.

    A missing key and an explicit null are the same, absent, and never a fault. A value of the wrong type is one fault
    and then read as absent. Children share the list of their parent.
    """

    value: object
    _key: str | int = ""
    faults: list[Fault] = []
    _parent: "Field | None" = None

    @property
    def present(self) -> bool:
        """Whether there is a value other than null."""
        return self.value is not None

    @property
    def path(self) -> str:
        """Path from the root, such as `spec.containers[0].resources.limits[nvidia.com/gpu]`."""
        if self._parent is None:
            return str(self._key)
        above, step = self._parent.path, f"[{self._key}]" if isinstance(self._key, int) else _step(self._key)
        return f"{above}.{step}" if above and not step.startswith("[") else f"{above}{step}"

    def fault(self, message: str) -> None:
        """Report a fault at this place, once."""
        fault = Fault(self.path, message)
        if fault not in self.faults:
            self.faults.append(fault)

    def get(self, key: str) -> "Field":
        """The member of a mapping; absent when this is absent, lacks the key, or (a fault) is no mapping."""
        value = self.value
        # What JSON gives; asking whether something is a Mapping costs ten times as much.
        if type(value) is dict:
            return Field(value.get(key), key, self.faults, self)
        return Field(None if value is None else self._mapping().get(key), key, self.faults, self)

    def items(self) -> list["Field"]:
        """The elements of a list; none when absent or (a fault) not a list."""
        if self.value is None:
            return []
        if not isinstance(self.value, list):
            self.fault(f'must be a list, not {_kind(self.value)}: start every item with "- "')
            return []
        return [Field(value, index, self.faults, self) for index, value in enumerate(self.value)]

    def entries(self) -> list[tuple[str, "Field"]]:
        """The members of a mapping in order. Whole-number and boolean keys become text, as kubectl makes them."""
        found: list[tuple[str, Field]] = []
        for key, value in self._mapping().items():
            if isinstance(key, str):
                text = key
            elif isinstance(key, bool | int):
                text = literal(key)
            else:
                self.fault(f"key {literal(key)} must be a string, not {_kind(key)}: write it in quotes")
                continue
            found.append((text, Field(value, text, self.faults, self)))
        return found

    def text(self, default: str = "") -> str:
        """The string; `default` when absent or (a fault) no string."""
        text = self.optional_text()
        return default if text is None else text

    def optional_text(self) -> str | None:
        """The string; None when absent or (a fault) no string."""
        if self.value is None or isinstance(self.value, str):
            return self.value
        if isinstance(self.value, bool | int | float):
            self.fault(_quote_it(self.value))
        else:
            self.fault(f"must be a string, not {_kind(self.value)}")
        return None

    def integer(self, default: int = 0) -> int:
        """The whole number; `default` when absent or (a fault) something else."""
        value = self.value
        if value is None:
            return default
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, float) and isfinite(value) and value.is_integer():
            return int(value)
        hint = ": write it without quotes" if isinstance(value, str) else ""
        self.fault(f"must be a whole number, not {_described(value)}{hint}")
        return default

    def boolean(self, default: bool = False) -> bool:
        """The boolean; `default` when absent or (a fault) something else."""
        if self.value is None:
            return default
        if isinstance(self.value, bool):
            return self.value
        self.fault(f"must be true or false without quotes, not {_described(self.value)}")
        return default

    def strings(self) -> dict[str, str]:
        """A mapping of strings; null values are empty strings, values of other types are faults and left out."""
        if self.value is None:
            return {}
        if _all_strings(self.value):
            return dict(self.value)
        found: dict[str, str] = {}
        for key, field in self.entries():
            text = field.optional_text() if field.present else ""
            if text is not None:
                found[key] = text
        return found

    def quantities(self) -> dict[str, str]:
        """A mapping of resource names to quantities as text, numbers as JSON writes them, null as "0"."""
        if self.value is None:
            return {}
        if _all_strings(self.value):
            return dict(self.value)
        found: dict[str, str] = {}
        for key, field in self.entries():
            text = _quantity(field)
            if text is not None:
                found[key] = text
        return found

    def _mapping(self) -> Mapping[object, object]:
        if self.value is None:
            return {}
        if isinstance(self.value, Mapping):
            return self.value
        self.fault(f'must be a mapping, not {_kind(self.value)}: write "key: value" lines')
        return {}


def _all_strings(value: object) -> TypeGuard[dict[str, str]]:
    return type(value) is dict and {*map(type, value), *map(type, value.values())} <= _STRING


def _quantity(field: Field) -> str | None:
    value = field.value
    match value:
        case None:
            return "0"
        case str():
            return value
        case bool() | list() | dict():
            field.fault(f"must be a quantity, not {_described(value)}: write a number such as 1")
            return None
        case int() if value.bit_length() <= _PRINTABLE_BITS:
            return str(value)
        case float() if isfinite(value):
            return repr(value)
        case _:
            field.fault(f"must be a quantity, not {literal(value)}: write a number such as 1")
            return None


def literal(value: object) -> str:
    """A scalar as one would write it in YAML, cut to a length fit for a message."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value.bit_length() > _PRINTABLE_BITS:
        return "a number of more than 150 digits"
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _step(key: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) else f"[{key}]"


def _quote_it(value: object) -> str:
    # The parsed value is not what stands in the file: 550.90 is 550.9 by now, and off is false.
    what = "" if isinstance(value, bool) else "the number "
    return f"must be a string, but YAML reads it as {what}{literal(value)}: put it in quotes as it was written"


def _described(value: object) -> str:
    match value:
        case str():
            return f'the string "{literal(value)}"'
        case bool() | int() | float():
            return literal(value)
        case _:
            return _kind(value)


def _kind(value: object) -> str:
    match value:
        case Mapping():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case str():
            return "a string"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case None:
            return "null"
        case _:
            return f"a {type(value).__name__}"
