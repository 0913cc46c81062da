"""Finds out what is around on a live cluster before gpusched is installed; everything here only reads."""

import asyncio
from typing import Final

import msgspec

from gpusched.cli.access import Access
from gpusched.cli.install_objects import overlays, path_of, shipped_webhooks
from gpusched.cli.live import ask
from gpusched.cli.questions import ADMISSION, get, webhook_configurations
from gpusched.core.fields import Field
from gpusched.doctor.preflight import Placed, Surroundings
from gpusched.doctor.scene import Probe
from gpusched.kube.session import Session

_GUARDS: Final = "validatingadmissionpolicies"
_STANDING: Final = {200: True, 404: False}
_FORBIDDEN: Final = 403


def surroundings(access: Access) -> Surroundings:
    """Everything that can be found out. Raises Unavailable where the API server cannot be asked."""
    return ask(access, _found)


async def _found(session: Session) -> Surroundings:
    brought = overlays()
    distinct = list(dict.fromkeys(item for overlay in brought.values() for item in overlay.objects))
    (_, version), (code, groups), (served, resources), (hooks, statuses) = await asyncio.gather(
        get(session, "/version"), get(session, "/apis"), get(session, ADMISSION), webhook_configurations(session)
    )
    standing = await asyncio.gather(*(_standing(session, item) for item in distinct))
    known = dict(zip(distinct, standing, strict=True))
    unasked = ["webhook configurations"] if _FORBIDDEN in statuses else []
    unasked += sorted(f"{item.kind} {item.name}" for item in standing if _asked(item) and item.standing is None)
    return Surroundings(
        overlays={
            name: msgspec.structs.replace(overlay, objects=tuple(known[item] for item in overlay.objects))
            for name, overlay in brought.items()
        },
        shipped=shipped_webhooks(),
        version=Field(version).get("gitVersion").text(),
        groups=tuple(item.get("name").text() for item in Field(groups).get("groups").items()) if code == 200 else None,
        guards=_GUARDS in _names(resources) if served == 200 else None,
        configurations=tuple(hooks) if _FORBIDDEN not in statuses else None,
        unasked=tuple(Probe(name, "you may not read it", known=False) for name in unasked),
    )


def _names(resources: object) -> set[str]:
    return {item.get("name").text() for item in Field(resources).get("resources").items()}


async def _standing(session: Session, item: Placed) -> Placed:
    """The object with the word whether it is there."""
    if not _asked(item):
        return item
    status, _ = await get(session, path_of(item))
    return msgspec.structs.replace(item, standing=_STANDING.get(status))


def _asked(item: Placed) -> bool:
    """Nobody knows generated names, and nobody needs to read a Secret for the word whether it is there."""
    return "…" not in item.name and item.kind != "Secret"
