"""Changes of the processors, memory and disk that a pod asks for, down to what some node has left."""

from collections.abc import Iterator, Mapping
from typing import Final

from gpusched.core import quantity
from gpusched.core.pod import Container, ContainerKind
from gpusched.simulate.admit import Candidate
from gpusched.simulate.remedies.change import Change, Loss
from gpusched.simulate.remedies.offer import Offer, Room
from gpusched.simulate.tree_edit import with_resource

#: From so much on nobody writes thousandths of a processor, or MiB.
_WHOLE_CPUS: Final = 10
_WHOLE_GIB: Final = 16
_GIB: Final = 2**30


def amount_changes(tree: Mapping[str, object], candidate: Candidate, offer: Offer) -> Iterator[Change]:
    """One change for each node that lacks nothing else."""
    for room in offer.rooms:
        change = _into(room, tree, candidate)
        if change is not None:
            yield change


def amount_text(name: str, amount: int) -> str:
    """An amount of a shared resource, milli-cores or bytes, as people write it: never more than it is."""
    if name == "cpu":
        whole = amount % 1000 == 0 or amount >= _WHOLE_CPUS * 1000
        return str(amount // 1000) if whole else f"{amount}m"
    whole = amount % _GIB == 0 or amount >= _WHOLE_GIB * _GIB
    return f"{amount // _GIB}Gi" if whole else f"{amount // 2**20}Mi"


def _into(room: Room, tree: Mapping[str, object], candidate: Candidate) -> Change | None:
    """Each resource is taken from the container that asks for the most of it."""
    parts, loss = [], Loss.LESS
    for name, free in room.items():
        wanted = candidate.requests[name]
        asking = {item.name: _own(item, name) for item in candidate.plain.containers if item.kind is ContainerKind.APP}
        largest = max(asking, key=asking.__getitem__, default="")
        text = amount_text(name, asking.get(largest, 0) - (wanted - free))
        if text.startswith(("-", "0")):
            return None
        parts.append(f"ask for {name}: {text} in container {largest}")
        tree = with_resource(tree, largest, name, text)
        loss = max(loss, Loss.OTHER if 2 * free < wanted else Loss.LESS)
    return Change(" and ".join(parts), tree, loss)


def _own(container: Container, name: str) -> int:
    text = container.requests.get(name) or container.limits.get(name) or "0"
    return (quantity.milli(text) if name == "cpu" else quantity.whole(text)) or 0
