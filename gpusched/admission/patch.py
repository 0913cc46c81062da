"""PatchBuilder: collects edits of a raw object as a short RFC 6902 patch that leaves everything else alone."""

from collections.abc import Mapping
from functools import lru_cache

from gpusched.admission.admission import Op
from gpusched.core.pod import Container, ContainerKind

#: Keys and list indexes from the root of the object.
Steps = tuple[str | int, ...]


class PatchBuilder:
    """Edits over one raw object, which itself is never changed.

    A missing parent (or one that is null, which Kubernetes reads as missing) is added once; later edits below it go
    into the value that is added. An edit below something of the wrong type is dropped: the API server refuses such an
    object anyway, and says so better than a patch that does not apply (apiserver mutating dispatcher: a 500).
    """

    __slots__ = ("_added", "_ops", "_tree")

    def __init__(self, tree: Mapping[str, object]) -> None:
        self._tree = tree
        self._ops: list[Op] = []
        self._added: dict[Steps, object] = {}

    @property
    def ops(self) -> tuple[Op, ...]:
        """The patch, in the order in which its places were first edited."""
        return tuple(self._ops)

    def get(self, *steps: str | int) -> object:
        """The value in the object as it came, None where there is none or something in the way has the wrong type."""
        depth, value = _reach(self._tree, steps)
        return value if depth == len(steps) else None

    def set(self, steps: Steps, value: object) -> None:
        """Make the member of a mapping this value."""
        above = self._covering(steps[:-1])
        if above is not None:
            _insert(self._added[above], steps[len(above) :], value)
            return
        depth, there = _reach(self._tree, steps)
        if depth < len(steps):
            self._create(steps, depth, there, value)
        elif there != value and isinstance(steps[-1], str):
            self._add(steps, value)

    def append(self, steps: Steps, value: object) -> None:
        """Add one element to the end of the list."""
        above = self._covering(steps)
        if above is not None:
            _extend(self._added[above], steps[len(above) :], value)
            return
        depth, there = _reach(self._tree, steps)
        if depth < len(steps):
            self._create(steps, depth, there, [value])
        elif isinstance(there, list):
            self._ops.append(Op("add", pointer((*steps, "-")), value))

    def remove(self, steps: Steps) -> None:
        """Remove a member of a mapping, if it is there."""
        parent = self.get(*steps[:-1])
        if isinstance(parent, dict) and steps[-1] in parent:
            self._ops.append(Op("remove", pointer(steps)))

    def _covering(self, steps: Steps) -> Steps | None:
        return next((steps[:depth] for depth in range(1, len(steps) + 1) if steps[:depth] in self._added), None)

    def _create(self, steps: Steps, depth: int, parent: object, value: object) -> None:
        """Add the member of `parent` that is missing, with all below it."""
        if isinstance(parent, dict) and isinstance(steps[depth], str):
            self._add(steps[: depth + 1], _nest(steps[depth + 1 :], value))

    def _add(self, steps: Steps, value: object) -> None:
        self._ops.append(Op("add", pointer(steps), value))
        self._added[steps] = value


def container_steps(container: Container) -> Steps:
    """Where a container of a pod stands."""
    return ("spec", "containers" if container.kind is ContainerKind.APP else "initContainers", container.index)


@lru_cache(maxsize=1024)
def pointer(steps: Steps) -> str:
    """A JSON pointer (RFC 6901): `~` and `/` inside keys are escaped."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def _reach(value: object, steps: Steps) -> tuple[int, object]:
    """How many of the steps lead to a value other than null, and the last such value."""
    for depth, step in enumerate(steps):
        if isinstance(step, str):
            found = value.get(step) if isinstance(value, dict) else None
        else:
            found = value[step] if isinstance(value, list) and 0 <= step < len(value) else None
        if found is None:
            return depth, value
        value = found
    return len(steps), value


def _nest(steps: Steps, value: object) -> object:
    for step in reversed(steps):
        value = {step: value}
    return value


def _insert(root: object, steps: Steps, value: object) -> None:
    parent = _walk(root, steps[:-1])
    if isinstance(parent, dict):
        parent[steps[-1]] = value


def _extend(root: object, steps: Steps, value: object) -> None:
    parent = _walk(root, steps[:-1])
    if steps and isinstance(parent, dict):
        parent = parent.setdefault(steps[-1], [])
    if isinstance(parent, list):
        parent.append(value)


def _walk(root: object, steps: Steps) -> object:
    for step in steps:
        if not isinstance(root, dict):
            return None
        root = root.setdefault(step, {})
    return root
