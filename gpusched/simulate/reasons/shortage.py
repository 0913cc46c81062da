"""What nodes have too little of for one pod, in words: amounts asked and free, host ports and who holds them."""

from collections.abc import Iterator, Mapping, Sequence

from gpusched.core.node import NodeObject
from gpusched.core.quantity import round_mib
from gpusched.native.node import NativeNode
from gpusched.native.ports import HostPort, keeps_from, ports_taken
from gpusched.native.resources import missing
from gpusched.policy.rule import named
from gpusched.simulate.admit import Candidate
from gpusched.simulate.world import World
from gpusched.state.node_state import NodeState


def never_offered(candidate: Candidate, state: NodeState) -> list[str]:
    """GPU resources asked for that the node has none of: neither in use, nor unhealthy, nor through DRA."""
    asked = candidate.request.demand.slots if candidate.request is not None else {}
    return sorted(name for name in asked if not _ever(name, state.node.object) and name not in state.node.dra_resources)


def offer_text(candidate: Candidate, states: Sequence[NodeState]) -> str:
    """The GPU resources that these nodes do not have, and what GPUs they have instead."""
    lacking = sorted({name for state in states for name in never_offered(candidate, state)})
    others = sorted({pool.resource for state in states for pool in state.node.pools if pool.slots})
    there = f"; there is {named(others)}" if others else ""
    return f"no {' and no '.join(lacking)} at all{there}" if lacking else ""


def shortage(candidate: Candidate, states: Sequence[NodeState], world: World) -> str:
    """What these nodes lack, each shortage once, with the number of nodes where not all have it. Empty where none lacks
    anything.
    """
    found: dict[HostPort | str, list[NativeNode]] = {}
    for state in states:
        for what in _lacks(candidate, state, world):
            found.setdefault(what, []).append(world.ledger.node(state.node.name))
    texts = []
    # A node that is given twice stands for others, of which nobody knows.
    counted = len({state.node.name for state in states}) == len(states)
    for what, books in found.items():
        text = _amount(what, candidate.requests, books) if isinstance(what, str) else _port(what, books, world)
        texts.append(f"{text} (on {len(books)} of them)" if counted and len(books) < len(states) else text)
    return "; ".join(texts)


def shortage_of_each(candidate: Candidate, state: NodeState, world: World) -> str:
    """What the node lacks without any amount or name: equal for nodes that lack the same."""
    found = _lacks(candidate, state, world)
    texts = [f"not enough {what}" if isinstance(what, str) else _port_text(what) for what in found]
    return ", ".join(texts)


def _lacks(candidate: Candidate, state: NodeState, world: World) -> Iterator[HostPort | str]:
    books = world.ledger.node(state.node.name)
    yield from ports_taken(world.ledger.outlook(candidate.pod).ports, books.ports)
    yield from missing(candidate.requests, books, state.node.dra_resources)


def amount_text(name: str, amount: int) -> str:
    """An amount as people write it: cpu is in milli-cores, memory and storage are in bytes."""
    if name == "cpu":
        return f"{amount / 1000:g}"
    if name in {"memory", "ephemeral-storage"} or name.startswith("hugepages-"):
        return round_mib(amount >> 20)
    return str(amount)


def _port(port: HostPort, books: Sequence[NativeNode], world: World) -> str:
    what = _port_text(port)
    if len(books) > 1:
        return what
    pod = next(item.pod for item in books[0].bound.values() if keeps_from(item.pod, port))
    known = world.may_name(pod.namespace)
    return f"{what} by pod {pod.namespace}/{pod.name}" if known else f"{what} by a pod of another namespace"


def _port_text(port: HostPort) -> str:
    protocol, _, number = port
    return f"host port {number}{'' if protocol == 'TCP' else f'/{protocol}'} is taken"


def _amount(name: str, requests: Mapping[str, int], books: Sequence[NativeNode]) -> str:
    if name == "pods":
        return f"not enough pods: all {max(node.pod_limit for node in books)} places are in use"
    if not any(_ever(name, node.object) for node in books):
        return f"no {name} at all"
    asked = f"not enough {name}: asks for {amount_text(name, requests[name])}"
    best = max(books, key=lambda node: node.free.get(name, 0))
    offered, free = best.object.allocatable.get(name, 0), max(best.free.get(name, 0), 0)
    if not offered:
        return f"{asked}, none of {best.object.capacity.get(name, 0)} is healthy"
    if not free:
        return f"{asked}, none free"
    most = "at most " if len(books) > 1 else ""
    return f"{asked}, {most}{amount_text(name, free)} of {amount_text(name, offered)} free"


def _ever(name: str, node: NodeObject) -> bool:
    return bool(node.allocatable.get(name) or node.capacity.get(name))
