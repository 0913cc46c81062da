"""PURE. What certificates of the webhook and of the extender are made of: names, lifetimes, the Secret they are in."""

from datetime import timedelta
from typing import Final

import msgspec

from certs.issue import service_names

#: Services of the webhook, and of the replica that answers kube-scheduler.
WEBHOOK_SERVICE: Final = "gpusched-webhook"
EXTENDER_SERVICE: Final = "gpusched"
#: The subject of kube-scheduler's certificate.
SCHEDULER: Final = "system:kube-scheduler"
#: Where callers on the same machine reach a server.
LOCAL_NAMES: Final = ("localhost", "127.0.0.1", "::1")


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """`title` is the common name of the authorities. With a `spare` the next authority is trusted from the beginning:
    kube-scheduler reads the file with its authorities only when it starts.
    """

    server: str
    secret: str
    title: str
    names: tuple[str, ...]
    authority_lifetime: timedelta
    leaf_lifetime: timedelta = timedelta(days=90)
    spare: bool


def webhook_profile(namespace: str) -> Profile:
    """What the API server calls."""
    return Profile(
        server="webhook",
        secret="gpusched-webhook-tls",  # noqa: S106 - the name of a Secret, not what is in it
        title="gpusched webhook CA",
        names=(*service_names(WEBHOOK_SERVICE, namespace), *LOCAL_NAMES),
        authority_lifetime=timedelta(days=5 * 365),
        spare=False,
    )


def extender_profile(namespace: str) -> Profile:
    """What kube-scheduler calls."""
    return Profile(
        server="extender",
        secret="gpusched-extender-tls",  # noqa: S106 - the name of a Secret, not what is in it
        title="gpusched extender CA",
        names=(*service_names(EXTENDER_SERVICE, namespace), *LOCAL_NAMES),
        authority_lifetime=timedelta(days=10 * 365),
        spare=True,
    )
