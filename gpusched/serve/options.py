"""How one process of the service is run."""

from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from gpusched.policy.model import Config


class Role(StrEnum):
    """Which ports a process serves; the leader's duties belong to the extender."""

    ALL = "all"
    WEBHOOK = "webhook"
    EXTENDER = "extender"


class AdminAccess(StrEnum):
    """Who may read the page: who has a token of the cluster, or also whoever is on this machine."""

    TOKEN = "token"  # noqa: S105 - a name
    OPEN = "open"


LEASE: Final = "gpusched"
LOOPBACK: Final = "127.0.0.1"


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """`extender_certificates` None serves the extender over plain HTTP on the loopback interface. `host` is the address
    to listen on, empty for all. Times are in seconds: `drain` lets the endpoints of the Service propagate before
    connections end, `max_age` limits how old the cache may get, `request_limit` is the API server's --request-timeout.
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
    namespace: str = "gpusched-system"
    pod_name: str = ""
    identity: str = "gpusched"
    leader_elect: bool = True
    drain: float = 10.0
    max_age: float = 180.0
    request_limit: float = 60.0

    @property
    def webhook(self) -> bool:
        """Whether the webhook is served."""
        return self.role is not Role.EXTENDER

    @property
    def extender(self) -> bool:
        """Whether the extender is served."""
        return self.role is not Role.WEBHOOK
