"""Which nodes changed since when: looked up when somebody asks, so that nothing is done while nobody looks."""

from collections import deque
from typing import Final

import msgspec

from gpusched.serve.view.nodes import is_shown
from gpusched.state.cluster import Cluster
from gpusched.state.node_state import NodeState

#: Nodes gone that are remembered. Who asks for changes from before the first of them gets everything.
_GONE: Final = 5_000


class Changes(msgspec.Struct, frozen=True):
    """What changed since a generation. `complete` says that `nodes` are all there are, not only the changed ones."""

    complete: bool
    nodes: tuple[str, ...]
    gone: tuple[str, ...]


class ChangeLog:
    """Remembers for every node the generation at which its last change was noticed."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._states: dict[str, tuple[NodeState, int]] = {}
        self._changed: dict[str, int] = {}
        self._gone: deque[tuple[int, str]] = deque()
        self._forgotten = 0
        self._looked = -1

    @property
    def generation(self) -> int:
        """The generation of the last look."""
        return self._looked

    def look(self) -> int:
        """Notice what changed until now; the generation of it."""
        generation = self._cluster.generation
        if generation == self._looked:
            return generation
        nodes = self._cluster.nodes
        for name, state in nodes.items():
            seen = (state, state.version)
            if self._states.get(name) != seen:
                self._states[name] = seen
                self._changed[name] = generation
        if len(self._states) > len(nodes):
            for name in [name for name in self._states if name not in nodes]:
                del self._states[name], self._changed[name]
                self._gone.append((generation, name))
        while len(self._gone) > _GONE:
            self._forgotten = self._gone.popleft()[0]
        self._looked = generation
        return generation

    def since(self, generation: int | None) -> Changes:
        """What changed after a generation that this log has named before; everything for None and unknown ones."""
        self.look()
        states = self._cluster.nodes
        if generation is None or not self._forgotten <= generation <= self._looked:
            names = (name for name, state in states.items() if is_shown(state))
            return Changes(complete=True, nodes=tuple(sorted(names)), gone=())
        changed = sorted(name for name, when in self._changed.items() if when > generation)
        # A node that lost its GPUs is gone for those who look at GPUs.
        gone = [name for when, name in self._gone if when > generation and name not in states]
        gone += [name for name in changed if not is_shown(states[name])]
        return Changes(
            complete=False,
            nodes=tuple(name for name in changed if is_shown(states[name])),
            gone=tuple(sorted(set(gone))),
        )
