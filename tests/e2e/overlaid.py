"""gpusched on a local control plane where an overlay was applied, as its README says."""

from typing import Any

import yaml

from gpusched.local.control_plane import ControlPlane
from gpusched.local.installed import Installed

_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_OWN = "/api/v1/namespaces/gpusched-system"
_REPLICAS = 2


class Overlaid(Installed):
    """A process for the pods of the overlay's Deployment, which are never run; it has their configuration, and the name
    of the first of them. The overlay's webhooks lead to it. kube-scheduler is left as it is.
    """

    def __init__(self, plane: ControlPlane) -> None:
        pods = plane.wait_until(lambda: _pods(plane), what="pods of the Deployment")
        config = yaml.safe_load(_read(plane, f"{_OWN}/configmaps/gpusched")["data"]["config.yaml"])
        super().__init__(plane, config=config, arguments=["--pod-name", pods[0]], extender=False)
        self._hooks = [_taken(plane, kind) for kind in ("mutating", "validating")]

    def webhooks(self) -> list[dict[str, Any]]:
        """Those of the overlay, with the address of the process."""
        return [{**tree, "webhooks": [self._led(hook) for hook in tree["webhooks"]]} for tree in self._hooks]

    def _led(self, hook: dict[str, Any]) -> dict[str, Any]:
        return {**hook, "clientConfig": {"url": f"{self.webhook_url}{hook['clientConfig']['service']['path']}"}}


def _read(plane: ControlPlane, path: str, **query: str) -> Any:
    return plane.get(path, query=query)


def _pods(plane: ControlPlane) -> list[str] | None:
    """Names of the pods, once there are no others than those of the newest revision."""
    found = _read(plane, f"{_OWN}/pods", labelSelector="app.kubernetes.io/name=gpusched")["items"]
    names = sorted(item["metadata"]["name"] for item in found)
    return names if len(names) == _REPLICAS else None


def _taken(plane: ControlPlane, kind: str) -> Any:
    """A webhook configuration as an overlay has it; it is there no more."""
    path = f"{_ADMISSION}/{kind}webhookconfigurations/gpusched"
    tree = _read(plane, path)
    plane.request("DELETE", path).expect()
    return {**tree, "metadata": {"name": "gpusched", "labels": tree["metadata"]["labels"]}}
