"""Fake nodes from dumps of real ones: labels, taints and allocatable as they were, without the rest of their lives."""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from gpusched.local.api import Api, Response
from gpusched.local.errors import ApiError

Tree = Mapping[str, object]

_METADATA: Final = ("name", "labels", "annotations")
#: providerID is there because autoscalers and clouds read it; pod networks of two clusters would overlap.
_SPEC: Final = ("providerID", "taints", "unschedulable")
_STATUS: Final = ("capacity", "allocatable", "conditions", "addresses", "nodeInfo")
_READY: Final = {
    "type": "Ready",
    "status": "True",
    "reason": "KubeletReady",
    "message": "kubelet is posting ready status",
}
_PATH: Final = "/api/v1/nodes"
_AT_ONCE: Final = 4


def prepare(tree: Tree) -> dict[str, object]:
    """The node to create: what the dump says about its hardware, Ready unless the dump says otherwise."""
    status = _part(tree, "status", _STATUS)
    status.setdefault("capacity", status.get("allocatable", {}))
    if not status.get("conditions"):
        status["conditions"] = [_READY]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": _part(tree, "metadata", _METADATA),
        "spec": _part(tree, "spec", _SPEC),
        "status": status,
    }


def create_nodes(api: Api, trees: Iterable[Tree]) -> None:
    """Create the nodes of a dump, and take off the taint that an API server puts on new ones.

    Raises:
        ApiError: some were refused; the others are there, and the message names each.

    """
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = list(pool.map(lambda tree: _create(api, prepare(tree)), trees))
    refused = [answer for answer in answers if not answer.ok]
    if refused:
        raise ApiError(refused[0].status, "\n".join(answer.message for answer in refused))


def _create(api: Api, tree: Tree) -> Response:
    answer = api.request("POST", _PATH, tree)
    if not answer.ok:
        return answer
    wanted = _part(tree, "spec", _SPEC).get("taints") or []
    if (_part(answer.expect(), "spec", _SPEC).get("taints") or []) == wanted:
        return answer
    name = _part(tree, "metadata", _METADATA)["name"]
    patch = {"spec": {"taints": wanted}}
    return api.request("PATCH", f"{_PATH}/{name}", patch, content_type="application/merge-patch+json")


def _part(tree: Tree, key: str, kept: Iterable[str]) -> dict[str, object]:
    part = tree.get(key)
    return {name: part[name] for name in kept if name in part} if isinstance(part, Mapping) else {}
