from typing import Any

import pytest

from gpusched.doctor.preflight_overlay import fitting
from tests.build import Tree, node, pod
from tests.doctor.site import OVERLAYS, site

SCHEDULER = pod("kube-scheduler-cp", "kube-system", gpus=None, labels={"component": "kube-scheduler"})


def of_provider(provider: str, kubelet: str = "v1.35.1", labels: dict[str, str] | None = None) -> Tree:
    tree = node("n", gpus=None, labels=labels, providerID=provider)
    tree["status"]["nodeInfo"] = {"kubeletVersion": kubelet}
    return tree


@pytest.mark.parametrize(
    ("trees", "around", "name", "why"),
    [
        ([SCHEDULER], {}, "kubeadm", "kube-scheduler is a pod: kube-system/kube-scheduler-cp"),
        ([SCHEDULER, of_provider("kind://docker/a/b")], {}, "kind", "nodes have a providerID of kind"),
        ([], {"version": "v1.35.1+k3s1"}, "k3s", "versions name k3s"),
        ([of_provider("k3s://n", "v1.35.1+k3s1")], {}, "k3s", "versions name k3s"),
        ([SCHEDULER], {"version": "v1.35.1+rke2r1"}, "k3s", "versions name RKE2"),
        ([], {"version": "v1.34.1-gke.1279000"}, "managed", "versions name GKE"),
        ([], {"version": "v1.34.1-eks-113cf36"}, "managed", "versions name EKS"),
        (
            [of_provider("azure:///x", labels={"kubernetes.azure.com/cluster": "c"})],
            {},
            "managed",
            "nodes have labels of AKS",
        ),
        (
            [of_provider("scaleway://x")],
            {},
            "managed",
            "nodes are of Scaleway, and no kube-scheduler is in kube-system",
        ),
        (
            [of_provider("aws:///eu/i"), SCHEDULER],
            {},
            "kubeadm",
            "kube-scheduler is a pod: kube-system/kube-scheduler-cp",
        ),
    ],
)
def test_the_overlay_follows_from_what_the_cluster_says(
    trees: list[Tree], around: dict[str, Any], name: str, why: str
) -> None:
    overlay = fitting(site(*trees, **around))

    assert (overlay.name, overlay.why) == (name, why)


@pytest.mark.parametrize(
    "tree",
    [
        node("n"),
        pod("kube-scheduler", "team-a", labels={"component": "kube-scheduler"}),
        pod("x", "kube-system", labels={"component": "etcd"}),
    ],
)
def test_a_scheduler_that_nobody_sees_is_left_alone(tree: Tree) -> None:
    overlay = fitting(site(tree))

    assert overlay.name == "webhook-only"
    assert overlay.name in OVERLAYS
    assert overlay.why.startswith("no kube-scheduler is seen; ")
