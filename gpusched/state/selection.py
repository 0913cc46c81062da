"""Which nodes a node selector leaves out, kept from one question to the next."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from gpusched.core.selector import Requirement
from gpusched.state.node_state import NodeState

#: Selectors kept; users write them, so they must not fill the memory.
_SELECTORS: Final = 64


class Selection:
    """Names of the nodes that do not match, by selector. `look_again` must be told of every node that is new, gone or
    has other labels.
    """

    def __init__(self, nodes: Mapping[str, NodeState]) -> None:
        self._nodes = nodes
        self._left_out: dict[tuple[Requirement, ...], set[str]] = {}

    def left_out(self, selector: tuple[Requirement, ...]) -> AbstractSet[str]:
        """Names of the nodes on which some requirement does not hold; not to be changed or kept."""
        found = self._left_out.get(selector)
        if found is None:
            if len(self._left_out) >= _SELECTORS:
                self._left_out.clear()
            found = {name for name, state in self._nodes.items() if not _matches(selector, state)}
            self._left_out[selector] = found
        return found

    def look_again(self, name: str) -> None:
        """Bring every answer up to date with this node."""
        state = self._nodes.get(name)
        for selector, names in self._left_out.items():
            if state is None or _matches(selector, state):
                names.discard(name)
            else:
                names.add(name)


def _matches(selector: tuple[Requirement, ...], state: NodeState) -> bool:
    labels = state.node.object.labels
    return all(requirement.matches(labels) for requirement in selector)
