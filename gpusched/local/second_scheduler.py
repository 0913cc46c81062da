"""A second kube-scheduler beside the control plane's own, with an identity and a Lease of its own."""

import json
import ssl
from collections.abc import Mapping
from typing import Final

from gpusched.local.api import Api
from gpusched.local.arguments import scheduler_configuration
from gpusched.local.control_plane import ControlPlane
from gpusched.local.ports import LOOPBACK, free_ports

#: The name of the process among the control plane's children.
SECOND: Final = "second-kube-scheduler"
#: Which of the control plane's identities it has.
IDENTITY: Final = "second"
_START_SECONDS: Final = 60.0
_PROBE_SECONDS: Final = 5.0


def start_second_scheduler(plane: ControlPlane, configuration: Mapping[str, object]) -> None:
    """Start it with this KubeSchedulerConfiguration; returns when it is ready. `plane.stop(SECOND)` ends it.

    Raises:
        KeyError: the control plane was started without the identity.
        ChildDiedError: it did not accept the configuration.
        LocalError: it did not get ready in time.

    """
    (port,) = free_ports(1)
    tree = scheduler_configuration(
        configuration, plane.kubeconfig(IDENTITY), election=configuration.get("leaderElection")
    )
    path = plane.folder / f"{SECOND}.json"
    path.write_text(json.dumps(tree, indent=1), encoding="utf-8")
    plane.spawn_scheduler(SECOND, path, port)
    server = Api(f"https://{LOOPBACK}:{port}", ssl.create_default_context(cafile=str(plane.ca)), {})

    def ready() -> bool:
        try:
            return server.request("GET", "/readyz", timeout=_PROBE_SECONDS).status == 200
        except OSError:
            return False

    try:
        plane.wait_until(ready, _START_SECONDS, f"{SECOND} ready")
    finally:
        server.close()
