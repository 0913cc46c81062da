"""Edits of a pod's JSON tree for what-if questions; the tree given is never changed."""

from collections.abc import Mapping

from gpusched.core.node import Taint

_Tree = Mapping[str, object]


def put(tree: _Tree, path: tuple[str, ...], value: object) -> dict[str, object]:
    """Set the value at a path of mapping keys, making mappings on the way."""
    head, *rest = path
    inner = tree.get(head)
    below = inner if isinstance(inner, Mapping) else {}
    return {**tree, head: put(below, tuple(rest), value) if rest else value}


def drop(tree: _Tree, path: tuple[str, ...]) -> dict[str, object]:
    """Remove what stands at a path of mapping keys; nothing happens when it is not there."""
    head, *rest = path
    if not rest:
        return {key: value for key, value in tree.items() if key != head}
    inner = tree.get(head)
    return {**tree, head: drop(inner, tuple(rest))} if isinstance(inner, Mapping) else dict(tree)


def tolerate(tree: _Tree, taint: Taint) -> dict[str, object]:
    """Append the toleration of one taint."""
    spec = tree.get("spec")
    tolerations = spec.get("tolerations") if isinstance(spec, Mapping) else None
    kept = list(tolerations) if isinstance(tolerations, list) else []
    added = {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
    return put(tree, ("spec", "tolerations"), [*kept, added])


def with_resource(tree: _Tree, container: str, resource: str, amount: str | None) -> dict[str, object]:
    """Set a resource of a named container, in limits and wherever it stood in requests; None removes it."""
    spec = tree.get("spec")
    if not isinstance(spec, Mapping):
        return dict(tree)
    changed = dict(spec)
    for field in ("containers", "initContainers"):
        items = spec.get(field)
        if isinstance(items, list):
            changed[field] = [_with_resource(item, container, resource, amount) for item in items]
    return {**tree, "spec": changed}


def _with_resource(item: object, container: str, resource: str, amount: str | None) -> object:
    if not isinstance(item, Mapping) or item.get("name") != container:
        return item
    if amount is None:
        return drop(drop(item, ("resources", "limits", resource)), ("resources", "requests", resource))
    resources = item.get("resources")
    result = dict(item)
    for side in ("limits", "requests"):
        amounts = resources.get(side) if isinstance(resources, Mapping) else None
        if isinstance(amounts, Mapping) and resource in amounts:
            result = put(result, ("resources", side, resource), amount)
    if not _asks(result, resource):
        result = put(result, ("resources", "limits", resource), amount)
    return result


def _asks(item: _Tree, resource: str) -> bool:
    resources = item.get("resources")
    if not isinstance(resources, Mapping):
        return False
    return any(isinstance(side, Mapping) and resource in side for side in resources.values())
