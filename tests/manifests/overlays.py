"""Where the manifests are, and what their files for kube-scheduler become on the local control plane."""

from pathlib import Path
from typing import Any

import yaml

MANIFESTS = Path(__file__).resolve().parents[2] / "manifests"
OVERLAYS = sorted(path.parent.name for path in (MANIFESTS / "overlays").glob("*/kustomization.yaml"))
#: KubeSchedulerConfigurations, with what `gpusched config scheduler` was told for each.
SCHEDULER_FILES = {
    "kubeadm/scheduler-config.yaml": ("https://10.96.0.44:8444", "/etc/kubernetes/gpusched"),
    "k3s/scheduler-config.yaml": ("https://10.43.0.44:8444", "/etc/rancher/k3s/gpusched"),
    "k3s/rke2/scheduler-config.yaml": ("https://10.43.0.44:8444", "/etc/rancher/rke2/gpusched"),
    "managed/scheduler-config.yaml": ("https://gpusched.gpusched-system.svc:8444", "/etc/kubernetes/gpusched"),
}


def read(name: str) -> Any:
    """The one document of a file below `overlays`."""
    return yaml.safe_load((MANIFESTS / "overlays" / name).read_text(encoding="utf-8"))


def scheduler_configuration(name: str, there: Any) -> Any:
    """A file of the overlays, localised."""
    return localised(read(name), there)


def localised(tree: Any, there: Any) -> Any:
    """A KubeSchedulerConfiguration with the extender's address and files of `there`, one that works here."""
    (ours,), (local,) = tree["extenders"], there["extenders"]
    ours["urlPrefix"] = local["urlPrefix"]
    ours["tlsConfig"] |= local["tlsConfig"]
    return tree
