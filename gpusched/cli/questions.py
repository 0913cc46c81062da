"""Questions to a live API server that read and never write, and the trees of its answers."""

from collections.abc import Mapping
from typing import Final

import msgspec

from certs.profile import EXTENDER_SERVICE
from gpusched.core.fields import Field
from gpusched.doctor.scene import Tree
from gpusched.kube.session import Session

ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
_HOOKS: Final = (
    ("mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
    ("validatingwebhookconfigurations", "ValidatingWebhookConfiguration"),
)
_SECONDS: Final = 10.0


async def get(session: Session, path: str, query: Mapping[str, str] | None = None) -> tuple[int, Tree]:
    """Status and object; an empty one where the answer is a refusal or no object."""
    response = await session.request("GET", path, query=query or {}, timeout=_SECONDS)
    return response.status, _tree(response.body) if response.ok else {}


async def webhook_configurations(session: Session) -> tuple[list[Tree], list[int]]:
    """Both kinds with their kind filled in, which items of lists lack, and the status of each list."""
    found: list[Tree] = []
    statuses = []
    for plural, kind in _HOOKS:
        status, listed = await get(session, f"{ADMISSION}/{plural}")
        found += [{**item, "kind": kind} for item in items(listed)]
        statuses.append(status)
    return found, statuses


async def extender_offered(session: Session, namespace: str) -> bool:
    """Whether kube-scheduler has an address of the extender: an installation of the webhook alone has no such Service.

    Where that may not be read, it counts as offered.
    """
    status, _ = await get(session, f"/api/v1/namespaces/{namespace}/services/{EXTENDER_SERVICE}")
    return status != 404


def items(listed: Tree) -> list[Tree]:
    """The objects of a list."""
    found = listed.get("items")
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def name_of(tree: Tree) -> str:
    """metadata.name."""
    return Field(tree).get("metadata").get("name").text()


def _tree(body: bytes) -> Tree:
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return found if isinstance(found, dict) else {}
