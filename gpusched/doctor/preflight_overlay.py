"""Which overlay fits a cluster, by what its nodes and its control plane say of themselves."""

from collections.abc import Iterator
from typing import Final

from gpusched.core.fields import Field
from gpusched.doctor.preflight import Fitting, Site

#: What distributions and clouds put into their version strings, with the overlay that is for them.
_VERSIONS: Final = (
    ("+k3s", "k3s", "k3s"),
    ("+rke2", "k3s", "RKE2"),
    ("-gke.", "managed", "GKE"),
    ("-eks-", "managed", "EKS"),
)
#: Dialects of clouds that keep their scheduler to themselves.
_CLOUDS: Final = {"gke": "GKE", "eks": "EKS", "aks": "AKS"}
#: Providers (the scheme of spec.providerID) that have no cluster but such.
_PROVIDERS: Final = {"scaleway": "Scaleway", "aws": "AWS", "azure": "Azure", "gce": "Google Cloud"}
_SCHEDULER: Final = "kube-scheduler"


def fitting(site: Site) -> Fitting:
    """The overlay, from the surest sign to the weakest."""
    providers = set(_providers(site))
    if "kind" in providers:
        return Fitting("kind", "nodes have a providerID of kind")
    for part, overlay, name in _VERSIONS:
        if any(part in version for version in _versions(site)):
            return Fitting(overlay, f"versions name {name}")
    for dialect, name in sorted(_CLOUDS.items()):
        if dialect in site.scene.world.cluster.facts.dialects:
            return Fitting("managed", f"nodes have labels of {name}")
    scheduler = next(_schedulers(site), None)
    if scheduler is not None:
        return Fitting("kubeadm", f"kube-scheduler is a pod: kube-system/{scheduler}")
    for provider in sorted(providers):
        if provider in _PROVIDERS:
            return Fitting("managed", f"nodes are of {_PROVIDERS[provider]}, and no kube-scheduler is in kube-system")
    return Fitting(
        "webhook-only",
        "no kube-scheduler is seen; where you can configure it take kubeadm or k3s, where you cannot and want memory"
        " claims added up take managed",
    )


def _versions(site: Site) -> Iterator[str]:
    yield site.around.version
    for item in site.scene.standing:
        if (item.group, item.kind) == ("", "Node"):
            yield Field(item.tree).get("status").get("nodeInfo").get("kubeletVersion").text()


def _providers(site: Site) -> Iterator[str]:
    for item in site.scene.standing:
        if (item.group, item.kind) == ("", "Node"):
            provider, found, _ = Field(item.tree).get("spec").get("providerID").text().partition("://")
            if found:
                yield provider


def _schedulers(site: Site) -> Iterator[str]:
    """Pods of the default kube-scheduler: kubeadm labels its static pods so (kubeadm staticpod.ComponentPod)."""
    for pod, _ in site.scene.pods:
        if pod.namespace == "kube-system" and pod.labels.get("component") == _SCHEDULER and not pod.terminal:
            yield pod.name
