"""Annotations that stand in the dump and cannot be read: nothing refuses them any more, and nothing obeys them."""

from collections.abc import Collection, Iterator

from gpusched.core.fault import Fault
from gpusched.core.names import FACTS_ANNOTATION, PREFIX
from gpusched.core.node import Node
from gpusched.policy.annotations import parse_namespace
from gpusched.policy.model import Parsed
from gpusched.policy.nearest import nearest
from gpusched.simulate.world import World

#: Objects named of those with one fault in common.
_NAMED = 3


def unread_annotations(world: World, replaced: Collection[str] = ()) -> list[str]:
    """One line for every fault, with the objects that have it: first Namespaces, then Nodes.

    `replaced` are Namespaces whose annotations come from elsewhere.
    """
    faults: dict[str, list[str]] = {}
    for name in sorted(world.cluster.namespaces()):
        standing = world.cluster.namespace_object(name)
        if standing is None or name in replaced:
            continue
        for text in unread(parse_namespace(standing.annotations)):
            faults.setdefault(text, []).append(f"Namespace {name}")
    for name, state in sorted(world.cluster.nodes.items()):
        for text in _node_faults(state.node):
            faults.setdefault(text, []).append(f"Node {name}")
    return [f"{_named(objects)}: {text}" for text, objects in faults.items()]


def unread(parsed: Parsed) -> list[str]:
    """What a Namespace's annotations have wrong, what to write instead, and what follows until then."""
    return [
        *(f"{_where(fault)}; until then it means nothing" for fault in parsed.unknown),
        *(f"{_where(fault)}; until then its GPU pods are refused where it enforces" for fault in parsed.malformed),
    ]


def _where(fault: Fault) -> str:
    key = fault.path.removeprefix("metadata.annotations[").removesuffix("]")
    return fault.message if key in fault.message else f"{key}: {fault.message}"


def _node_faults(node: Node) -> Iterator[str]:
    for key in sorted(node.object.annotations):
        if key != FACTS_ANNOTATION and key.startswith(PREFIX):
            close = nearest(key.removeprefix(PREFIX), [FACTS_ANNOTATION.removeprefix(PREFIX)])
            hint = f"write {FACTS_ANNOTATION}" if close is not None else "take it off"
            yield f"{key} is no known key of Nodes; {hint}"
    yield from (note for note in node.notes if note.startswith(FACTS_ANNOTATION))


def _named(objects: list[str]) -> str:
    more = f" and {len(objects) - _NAMED} more" if len(objects) > _NAMED else ""
    return f"{', '.join(objects[:_NAMED])}{more}"
