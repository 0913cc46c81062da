"""Reads the pods of one node, those without a GPU too, which are not followed."""

import asyncio
from typing import Final

import msgspec

from gpusched.core.pod import Pod
from gpusched.core.read_pod import read_pod
from gpusched.kube.errors import Unreachable
from gpusched.kube.pages import ListPage
from gpusched.kube.session import Session

_SECONDS: Final = 10.0
_UNFINISHED: Final = "status.phase!=Succeeded,status.phase!=Failed"


async def pods_on(session: Session, node_name: str) -> tuple[Pod, ...] | None:
    """The unfinished pods bound to a node, None where they cannot be read.

    Version 0 is answered from the API server's own cache, where spec.nodeName is indexed
    (pkg/registry/core/pod/strategy.go). A hundred pods take milliseconds to read, so a thread does it.
    """
    query = {"fieldSelector": f"spec.nodeName={node_name},{_UNFINISHED}", "resourceVersion": "0"}
    try:
        response = await session.request("GET", "/api/v1/pods", query=query, timeout=_SECONDS)
    except Unreachable:
        return None
    return await asyncio.to_thread(_pods, response.body) if response.ok else None


def _pods(body: bytes) -> tuple[Pod, ...] | None:
    try:
        page = msgspec.json.decode(body, type=ListPage)
        return tuple(read_pod(msgspec.json.decode(item), []) for item in page.items or ())
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
