"""Every overlay is accepted as kubectl sends it, its pods start, and nothing of it is left when it is deleted."""

import os
import shutil
import subprocess
from collections.abc import Callable

import pytest

from gpusched.local.client_programs import render
from gpusched.local.options import Options
from tests.build import node
from tests.manifests.overlays import MANIFESTS, OVERLAYS

#: kubeadm's; those of k3s are replaced by ones of it, as on a cluster with another range.
CLUSTER_RANGE = "--service-cluster-ip-range=10.96.0.0/12"
OTHER_ADDRESS = ("10.43.0.44", "10.96.0.45")
CERT_MANAGER = ("Certificate", "Issuer")
AVAILABLE = {"gpusched": 2, "gpusched-scheduler": 2}
ADMISSION = "/apis/admissionregistration.k8s.io/v1"


@pytest.fixture(scope="module")
def control_plane_options() -> Options:
    return Options(arguments={"kube-apiserver": (CLUSTER_RANGE,)})


@pytest.fixture(scope="module", autouse=True)
def surroundings(control_plane):
    control_plane.create_nodes([node("manifests-1", gpus=None), node("manifests-2", gpus=None)])
    control_plane.apply(definition(kind) for kind in CERT_MANAGER)


@pytest.fixture
def kubectl(control_plane, client_programs) -> Callable[..., str]:
    environment = {**os.environ, "KUBECONFIG": str(control_plane.kubeconfig())}

    def run(*words: object) -> str:
        command = [str(client_programs["kubectl"]), *map(str, words)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        # Warnings are of PodSecurity, unknown fields and deprecated versions.
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return run


@pytest.fixture
def manifests(tmp_path):
    """A copy with addresses of this control plane."""
    copy = tmp_path / "manifests"
    shutil.copytree(MANIFESTS, copy)
    for path in (copy / "overlays").rglob("kustomization.yaml"):
        path.write_text(path.read_text(encoding="utf-8").replace(*OTHER_ADDRESS), encoding="utf-8")
    return copy


def definition(kind: str):
    """A stand-in for cert-manager's: what is not known to it is kept as it is."""
    plural = f"{kind.lower()}s"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.cert-manager.io"},
        "spec": {
            "group": "cert-manager.io",
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


def availability(plane):
    items = plane.get("/apis/apps/v1/namespaces/gpusched-system/deployments")["items"]
    return {item["metadata"]["name"]: item["status"].get("availableReplicas") for item in items}


def leftovers(plane):
    """Names of what is in the cluster as a whole."""
    lists = [
        *(f"/apis/rbac.authorization.k8s.io/v1/{kind}" for kind in ("clusterroles", "clusterrolebindings")),
        "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/rolebindings",
        *(f"{ADMISSION}/{kind}" for kind in ("mutatingwebhookconfigurations", "validatingadmissionpolicies")),
        "/api/v1/namespaces",
    ]
    names = {item["metadata"]["name"] for path in lists for item in plane.get(path)["items"]}
    return {name for name in names if "gpusched" in name}


@pytest.mark.parametrize("name", ["base", *(f"overlays/{name}" for name in OVERLAYS)])
def test_is_accepted_starts_and_leaves_nothing(control_plane, client_programs, kubectl, manifests, name):
    folder = manifests / name
    rendered = render(client_programs["kustomize"], folder)

    applied = kubectl("apply", "-k", folder).splitlines()
    assert len(applied) == len(rendered)
    wanted = {tree["metadata"]["name"] for tree in rendered if tree["kind"] == "Deployment"}
    control_plane.wait_until(
        lambda: availability(control_plane) == {each: AVAILABLE[each] for each in wanted}, 60, f"pods of {name}"
    )
    assert kubectl("diff", "-k", folder) == ""
    assert len(kubectl("apply", "--server-side", "--force-conflicts", "-k", folder).splitlines()) == len(rendered)

    kubectl("delete", "-k", folder)
    assert leftovers(control_plane) == set()


def test_gpu_pods_go_on_without_gpusched_where_that_is_wanted(client_programs, tmp_path):
    shutil.copytree(MANIFESTS, tmp_path / "manifests")
    folder = tmp_path / "manifests" / "overlays" / "mine"
    folder.mkdir()
    (folder / "kustomization.yaml").write_text(
        "resources: [../kubeadm]\ncomponents: [../../components/fail-open]\n", encoding="utf-8"
    )

    policies = {
        hook["name"]: hook["failurePolicy"]
        for tree in render(client_programs["kustomize"], folder)
        for hook in tree.get("webhooks", ())
    }
    assert set(policies.values()) == {"Ignore"}
    assert "pods.mutate.gpusched.io" in policies


@pytest.mark.parametrize("server_side", [False, True])
def test_applying_again_keeps_the_ca_bundles(control_plane, kubectl, manifests, server_side):
    """As kubectl, Flux and Argo CD do it: fields that another manager owns stay."""
    words = ["apply", *(["--server-side"] if server_side else []), "-k", manifests / "base"]
    kubectl(*words)
    place = f"{ADMISSION}/mutatingwebhookconfigurations/gpusched"
    names = [hook["name"] for hook in control_plane.get(place)["webhooks"]]
    bundles = [{"name": name, "clientConfig": {"caBundle": "Z3B1c2NoZWQ="}} for name in names]
    control_plane.request(
        "PATCH",
        place,
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": "gpusched"},
            "webhooks": bundles,
        },
        query={"fieldManager": "gpusched-certs", "force": "true"},
        content_type="application/apply-patch+yaml",
    ).expect()

    path = manifests / "base" / "webhooks.yaml"
    path.write_text(
        path.read_text(encoding="utf-8").replace("timeoutSeconds: 3", "timeoutSeconds: 4"), encoding="utf-8"
    )
    kubectl(*words)

    hooks = control_plane.get(place)["webhooks"]
    assert {hook["clientConfig"]["caBundle"] for hook in hooks} == {"Z3B1c2NoZWQ="}
    assert 4 in {hook["timeoutSeconds"] for hook in hooks}
    kubectl("delete", "-k", manifests / "base")
