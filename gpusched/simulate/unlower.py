"""Takes the affinity that admission lowered into a pod out of it again, so that the pod is as its author wrote it."""

from collections.abc import Iterable, Mapping
from typing import Final

from gpusched.core.names import LOWERED_ANNOTATION, PREFIX
from gpusched.core.selector import Operator, Requirement
from gpusched.simulate.tree_edit import drop, put

_AFFINITY: Final = ("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
#: Marks the terms that speak of nodes in the words of a cloud or autoscaler.
_UNLABELLED: Final = PREFIX + "vendor"


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
    own: list[dict[str, object]] = []
    for term in terms:
        if isinstance(term, Mapping) and not _native(term):
            kept = _own_part(term, lowered)
            if kept not in own:
                own.append(kept)
    if not own or {} in own:
        return drop(tree, _AFFINITY)
    return put(tree, (*_AFFINITY, "nodeSelectorTerms"), own)


def _at(tree: Mapping[str, object], path: tuple[str, ...]) -> object:
    found: object = tree
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _expressions(term: Mapping[str, object]) -> list[Mapping[str, object]]:
    items = term.get("matchExpressions")
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []


def _native(term: Mapping[str, object]) -> bool:
    return any(
        item.get("key") == _UNLABELLED and item.get("operator") == Operator.DOES_NOT_EXIST
        for item in _expressions(term)
    )


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
    if operator not in set(Operator):
        return None
    texts = tuple(sorted(str(value) for value in values)) if isinstance(values, list) else ()
    return Requirement(str(item.get("key")), Operator(str(operator)), texts)
