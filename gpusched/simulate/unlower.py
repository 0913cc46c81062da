"""Takes the affinity that admission lowered into a pod out of it again, so that the pod is as its author wrote it."""

from collections.abc import Iterable, Mapping
from typing import Final

from gpusched.core.names import LOWERED_ANNOTATION, PREFIX, STATUS_PREFIX
from gpusched.core.selector import Operator, Requirement
from gpusched.dialects.labels import MIXED
from gpusched.simulate.tree_edit import drop, put

_AFFINITY: Final = ("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")


def unlowered(tree: Mapping[str, object], selectors: Iterable[Requirement] = ()) -> Mapping[str, object]:
    """The pod without lowered terms; one that carries none is given back as it is.

    `selectors` are the requirements of `node-selector` in force: lowered too, and no different from a user's own.
    """
    metadata = tree.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    if not isinstance(annotations, Mapping) or LOWERED_ANNOTATION not in annotations:
        return tree
    required = _at(tree, _AFFINITY)
    terms = required.get("nodeSelectorTerms") if isinstance(required, Mapping) else None
    if not isinstance(terms, list):
        return tree
    lowered = set(selectors)
    own = _own_terms([term for term in terms if isinstance(term, Mapping)], lowered)
    if not own or {} in own:
        return drop(tree, _AFFINITY)
    return put(tree, (*_AFFINITY, "nodeSelectorTerms"), own)


def as_written(tree: Mapping[str, object], selectors: Iterable[Requirement] = ()) -> Mapping[str, object]:
    """The pod without lowered terms, and without the annotations in which gpusched says what it did."""
    metadata = tree.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    result = unlowered(tree, selectors)
    if not isinstance(annotations, Mapping):
        return result
    kept = {key: value for key, value in annotations.items() if not str(key).startswith(STATUS_PREFIX)}
    return result if len(kept) == len(annotations) else put(result, ("metadata", "annotations"), kept)


def _at(tree: Mapping[str, object], path: tuple[str, ...]) -> object:
    found: object = tree
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _expressions(term: Mapping[str, object]) -> list[Mapping[str, object]]:
    items = term.get("matchExpressions")
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []


def _own_terms(terms: list[Mapping[str, object]], lowered: set[Requirement]) -> list[dict[str, object]]:
    """The author's terms. Each stands among the lowered ones together with `gpusched.io/mixed`, and again, with more
    beside it, in the words of every cloud or autoscaler; those are the ones that go.
    """
    parts = [(_own_part(term, lowered), any(item.get("key") == MIXED for item in _expressions(term))) for term in terms]
    sure = [part for part, mixed in parts if mixed]
    own: list[dict[str, object]] = []
    for part, _ in parts:
        if part not in own and (part in sure or not any(_narrower(part, other) for other in sure)):
            own.append(part)
    return own


def _narrower(part: Mapping[str, object], other: Mapping[str, object]) -> bool:
    """Whether the part asks all that the other does, and more of node labels."""
    held = _expressions(part)
    return all(item in held for item in _expressions(other)) and part.get("matchFields") == other.get("matchFields")


def _own_part(term: Mapping[str, object], lowered: set[Requirement]) -> dict[str, object]:
    kept = [
        item
        for item in _expressions(term)
        if not str(item.get("key")).startswith(PREFIX) and _requirement(item) not in lowered
    ]
    rest = {key: value for key, value in term.items() if key != "matchExpressions" and value}
    return rest | ({"matchExpressions": kept} if kept else {})


def _requirement(item: Mapping[str, object]) -> Requirement | None:
    operator, values = item.get("operator"), item.get("values")
    if not isinstance(operator, str) or operator not in set(Operator):
        return None
    texts = tuple(sorted(str(value) for value in values)) if isinstance(values, list) else ()
    return Requirement(str(item.get("key")), Operator(operator), texts)
