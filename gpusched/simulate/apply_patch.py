"""Applies admission's own patches, as the API server would: add, replace and remove of RFC 6902."""

from collections.abc import Iterable, Mapping

from gpusched.admission.admission import Op


class PatchError(ValueError):
    """A patch that does not apply: always a bug of ours, since admission makes patches from the object itself."""


def apply_patch(tree: Mapping[str, object], ops: Iterable[Op]) -> dict[str, object]:
    """The patched object. The given tree is not changed; untouched parts are shared with it.

    Raises:
        PatchError: an operation names a place that is not there.

    """
    result: object = dict(tree)
    for op in ops:
        result = _apply(result, [_unescape(part) for part in op.path.split("/")[1:]], op)
    if not isinstance(result, dict):
        raise PatchError("the patch replaced the object itself")
    return result


def _unescape(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")


def _apply(node: object, parts: list[str], op: Op) -> object:
    """Copy the way down to the place, so that the original stays as it was."""
    if not parts:
        return op.value
    head, rest = parts[0], parts[1:]
    if isinstance(node, Mapping):
        return _apply_to_mapping(dict(node), head, rest, op)
    if isinstance(node, list):
        return _apply_to_list(list(node), head, rest, op)
    raise PatchError(f"{op.op} {op.path}: nothing to descend into at {head!r}")


def _apply_to_mapping(node: dict[str, object], head: str, rest: list[str], op: Op) -> dict[str, object]:
    if (rest or op.op != "add") and head not in node:
        raise PatchError(f"{op.op} {op.path}: {head!r} is not there")
    if rest or op.op != "remove":
        node[head] = _apply(node.get(head), rest, op)
    else:
        del node[head]
    return node


def _apply_to_list(node: list[object], head: str, rest: list[str], op: Op) -> list[object]:
    if head == "-" and op.op == "add" and not rest:
        return [*node, op.value]
    if not head.isdigit() or int(head) >= len(node) + (op.op == "add" and not rest):
        raise PatchError(f"{op.op} {op.path}: no element {head!r}")
    index = int(head)
    if rest or op.op == "replace":
        node[index] = _apply(node[index], rest, op)
    elif op.op == "remove":
        del node[index]
    else:
        node.insert(index, op.value)
    return node
