"""How one process of the service is run."""

from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from certs.rotation import Terms
from gpusched.core.names import OWN_NAMESPACE
from gpusched.policy.model import Config


class Role(StrEnum):
    """Which ports a process serves; the leader's duties belong to the extender."""

    ALL = "all"
    WEBHOOK = "webhook"
    EXTENDER = "extender"


class AdminAccess(StrEnum):
    """Who may read the page: who has a token of the cluster, or also whoever is on this machine."""

    TOKEN = "token"  # noqa: S105 - how callers are let in, no token
    OPEN = "open"


LEASE: Final = "gpusched"
LOOPBACK: Final = "127.0.0.1"


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """`own_certificates` names the servers (webhook, extender) whose certificates gpusched keeps in Secrets of its own.
    Of the others, `extender_certificates` None serves over plain HTTP on the loopback interface. `host` is the address
    to listen on, empty for all. Times are in seconds: `drain` lets the endpoints of the Service propagate before
    connections end, `max_age` limits how old the cache may get, `lease` is how long a leader is taken for alive after a
    sign of life, `request_limit` is what an API server is given for a binding.
    """

    role: Role = Role.ALL
    config: Config = Config()
    config_file: Path | None = None
    kubeconfig: str | None = None
    context: str | None = None
    in_cluster: bool = False
    host: str = ""
    webhook_port: int = 8443
    extender_port: int = 8444
    admin_port: int = 8080
    admin_access: AdminAccess = AdminAccess.TOKEN
    webhook_certificates: Path | None = None
    extender_certificates: Path | None = None
    own_certificates: frozenset[str] = frozenset()
    rotation: Terms = Terms()
    namespace: str = OWN_NAMESPACE
    pod_name: str = ""
    identity: str = "gpusched"
    leader_elect: bool = True
    drain: float = 10.0
    max_age: float = 180.0
    lease: int = 10
    request_limit: float = 2.5

    @property
    def webhook(self) -> bool:
        """Whether the webhook is served."""
        return self.role is not Role.EXTENDER

    @property
    def extender(self) -> bool:
        """Whether the extender is served."""
        return self.role is not Role.WEBHOOK
