"""Reads workloads one by one, and what their controllers were told; neither is followed."""

from collections.abc import Mapping
from typing import Final

import msgspec

from gpusched.kube.lists import list_pages
from gpusched.kube.session import Session
from gpusched.kube.writes import get_object
from gpusched.policy.label_syntax import is_subdomain

#: Kind, API group and plural of what makes pods.
CONTROLLERS: Final = (
    ("Deployment", "/apis/apps/v1", "deployments"),
    ("StatefulSet", "/apis/apps/v1", "statefulsets"),
    ("DaemonSet", "/apis/apps/v1", "daemonsets"),
    ("ReplicaSet", "/apis/apps/v1", "replicasets"),
    ("ReplicationController", "/api/v1", "replicationcontrollers"),
    ("Job", "/apis/batch/v1", "jobs"),
    ("CronJob", "/apis/batch/v1", "cronjobs"),
)
#: Events of controllers whose pods, or objects that make them, could not be created.
FAILED_CREATE: Final = {"fieldSelector": "reason=FailedCreate"}
_PATHS: Final = {kind: (base, plural) for kind, base, plural in CONTROLLERS}


async def get_workload(session: Session, kind: str, namespace: str, name: str) -> tuple[int, object]:
    """The HTTP status and the object of one of CONTROLLERS, None unless 200. Raises Unreachable.

    What is no name is that of no object: part of a path, it could lead elsewhere.
    """
    if not (is_subdomain(namespace) and is_subdomain(name)):
        return 404, None
    base, plural = _PATHS[kind]
    return await get_object(session, f"{base}/namespaces/{namespace}/{plural}/{name}")


async def failed_creates(session: Session, namespace: str) -> list[Mapping[str, object]]:
    """FAILED_CREATE events of a namespace, or with an empty name of all. Raises StatusError and Unreachable."""
    path = f"/api/v1/namespaces/{namespace}/events" if namespace else "/api/v1/events"
    pages = list_pages(session, path, FAILED_CREATE)
    return [msgspec.json.decode(raw, type=dict[str, object]) async for page in pages for raw in page]
