"""Scope: one place of a workload at which a pod template was found, from which counts and names are read."""

from collections.abc import Iterator, Mapping
from typing import Final

from gpusched.core.fields import Field

#: A mapping with `metadata` and `spec`, as PodTemplateSpec.
Tree = Mapping[str, object]

EACH_ITEM: Final = "[*]"
EACH_ENTRY: Final = "{*}"


class Scope:
    """The object and the items of lists and entries of maps passed on the way, outermost first.

    Paths are dotted; `[*]` and `{*}` in them stand for the items and entries already chosen.
    """

    __slots__ = ("_chosen", "keys", "root")

    def __init__(self, root: Field, chosen: tuple[Field, ...] = (), keys: tuple[str, ...] = ()) -> None:
        self.root = root
        self._chosen = chosen
        #: Names of the entries and items chosen.
        self.keys = keys

    def at(self, path: str) -> Field:
        """The field at a path whose wildcards are those of this scope."""
        return self._at(steps_of(path))

    def _at(self, steps: list[str]) -> Field:
        field, depth = self.root, 0
        for step in steps:
            if step in (EACH_ITEM, EACH_ENTRY):
                field = self._chosen[depth]
                depth += 1
            else:
                field = field.get(step)
        return field

    def count(self, path: str, default: int = 1) -> int:
        """A number of pods: the whole number at a path, which must not be negative."""
        field = self.at(path)
        number = field.integer(default)
        if number < 0:
            field.fault(f"must not be negative: write 0 or more, not {number}")
            return default
        return number

    def mapping(self, path: str) -> dict[str, object]:
        """The mapping at a path, empty when there is none (anything else there is a fault)."""
        return {key: field.value for key, field in self.at(path).entries()}

    def find(self, path: str) -> Iterator["Scope"]:
        """Every place a path leads to, in the object's order; none where something on the way is missing."""
        steps = steps_of(path)
        scopes = [Scope(self.root)]
        for position, step in enumerate(steps):
            if step in (EACH_ITEM, EACH_ENTRY):
                scopes = [inner for scope in scopes for inner in scope.descend(steps[:position], step)]
        return iter(scopes)

    def descend(self, steps: list[str], wildcard: str) -> Iterator["Scope"]:
        """A scope for each item or entry of what stands at `steps`."""
        for key, field in _children(self._at(steps), wildcard):
            yield Scope(self.root, (*self._chosen, field), (*self.keys, key))


def steps_of(path: str) -> list[str]:
    """The steps of a dotted path; wildcards are steps of their own."""
    return path.replace(EACH_ITEM, f".{EACH_ITEM}").replace(EACH_ENTRY, f".{EACH_ENTRY}").split(".") if path else []


def _children(above: Field, wildcard: str) -> Iterator[tuple[str, Field]]:
    if wildcard == EACH_ENTRY:
        yield from above.entries()
        return
    for index, item in enumerate(above.items()):
        yield _name(item) or str(index), item


def _name(item: Field) -> str:
    value = item.value
    if not isinstance(value, Mapping):
        return ""
    name = value.get("name") or value.get("groupName")
    return name if isinstance(name, str) else ""
