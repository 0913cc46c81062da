"""Installing as the pages say, command by command, and what they show of a cluster where gpusched stands."""

from contextlib import contextmanager

import pytest
import yaml

from gpusched.local.demo import read_samples
from gpusched.local.options import Options
from tests.build import namespace as namespace_tree
from tests.build import pod
from tests.docs.alike import alike
from tests.docs.page import ROOT, blocks, run_by
from tests.docs.shell import Shell, shown
from tests.e2e.extender_client import SecondScheduler
from tests.e2e.kubectl import Kubectl
from tests.e2e.overlaid import Overlaid
from tests.e2e.scheduling import bound_node, create, read
from tests.manifests.overlays import MANIFESTS

EXPORT, SEE = run_by(__file__, "docs/install.md")
(UNDO,) = run_by(__file__, "docs/uninstall.md")
KUBEADM, FILES, CLUSTER_CONFIGURATION = run_by(__file__, "manifests/overlays/kubeadm/README.md")
(K3S,) = run_by(__file__, "manifests/overlays/k3s/README.md")
VERSION, MANAGED, GIVE, ENABLE = run_by(__file__, "manifests/overlays/managed/README.md")
MERGE = "application/merge-patch+json"
DEPLOYMENTS = "/apis/apps/v1/namespaces/gpusched-system/deployments"
#: The Service ranges of kubeadm and of k3s.
RANGE = "--service-cluster-ip-range=10.96.0.0/12"
OTHER_RANGE = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "ServiceCIDR",
    "metadata": {"name": "k3s"},
    "spec": {"cidrs": ["10.43.0.0/16"]},
}
KUBEADM_CONFIG = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "kubeadm-config", "namespace": "kube-system"},
    "data": {"ClusterConfiguration": "kind: ClusterConfiguration\nscheduler: {}\n"},
}


@pytest.fixture(scope="module")
def control_plane_options():
    return Options(arguments={"kube-apiserver": (RANGE,)})


@pytest.fixture(scope="module", autouse=True)
def surroundings(control_plane):
    """The sample cluster without its pods."""
    samples = read_samples(MANIFESTS / "samples")
    control_plane.create_nodes(samples.nodes)
    control_plane.apply([*samples.surroundings, OTHER_RANGE, KUBEADM_CONFIG])
    control_plane.wait_for("/apis/networking.k8s.io/v1/servicecidrs/k3s", range_ready, what="the range of k3s")


def range_ready(tree):
    return any(each["status"] == "True" for each in tree.get("status", {}).get("conditions", ()))


@contextmanager
def deleted(terminal, overlay):
    """What the overlay made is gone in the end."""
    try:
        yield
    finally:
        terminal.type(f"kubectl delete -k manifests/overlays/{overlay} --ignore-not-found")


def image(plane):
    (container,) = plane.get(f"{DEPLOYMENTS}/gpusched")["spec"]["template"]["spec"]["containers"]
    return container["image"]


def test_kubeadm(control_plane, client_programs, terminal, scheduler, namespace):
    """The overlay, one's own kustomization of it, kube-scheduler with its files, and the way back."""
    with deleted(terminal, "kubeadm"):
        terminal.type(KUBEADM.text)
        kustomization, config = blocks(ROOT / "docs/install.md", "yaml")
        own = terminal.folder / "gpusched"
        own.mkdir()
        (own / "kustomization.yaml").write_text(kustomization.text, encoding="utf-8")
        (own / "config.yaml").write_text(config.text, encoding="utf-8")
        terminal.type(KUBEADM.text.replace("manifests/overlays/kubeadm", own.name))
        assert image(control_plane) == "registry.example.com/gpusched:0.1.0"

        with Overlaid(control_plane) as installed:
            terminal.type(FILES.text)
            scheduler(put_together(terminal.folder / "files", installed))
            create(control_plane, pod("gpu", namespace))
            node = bound_node(control_plane, namespace, "gpu")
            assert read(control_plane, namespace, "gpu")["metadata"]["annotations"]["status.gpusched.io/bound"] == node

            terminal.type(CLUSTER_CONFIGURATION.text)
            assert yaml.safe_load((terminal.folder / "cluster.yaml").read_text(encoding="utf-8"))["scheduler"] == {}

            control_plane.wait_until(lambda: "labels: complete" in installed.admin("/readyz")[1], what="labels")
            kubectl = Kubectl(client_programs["kubectl"], control_plane)
            shell = Shell(str(control_plane.kubeconfig()), {"kubectl": kubectl})
            assert alike(shown(SEE, shell)) == alike(SEE.text)
            assert alike(shown(UNDO, shell)) == alike(UNDO.text)
            assert image(control_plane) == "gpusched:0.1.0"


def put_together(files, installed):
    """The configuration among the files, which are where it says on a real host; the address is that of the process."""
    given = yaml.safe_load((files / "scheduler-config.yaml").read_text(encoding="utf-8"))
    (ours,), (there,) = given["extenders"], installed.scheduler_configuration()["extenders"]
    ours["urlPrefix"] = there["urlPrefix"]
    for key in ("certFile", "keyFile", "caFile"):
        ours["tlsConfig"][key] = ours["tlsConfig"][key].replace("/etc/kubernetes/gpusched", str(files))
    return given


def test_k3s(control_plane, terminal):
    with deleted(terminal, "k3s"):
        assert "successfully rolled out" in terminal.type(K3S.text)
        service = control_plane.get("/api/v1/namespaces/gpusched-system/services/gpusched")
        assert service["spec"]["clusterIP"] == "10.43.0.44"


@pytest.fixture
def team(control_plane):
    """The Namespace that the page enables; it is not when the test ends."""
    name = "team-a"
    control_plane.apply([namespace_tree(name)])
    yield name
    change = {"metadata": {"labels": {"gpusched.io/enabled": None}}}
    control_plane.request("PATCH", f"/api/v1/namespaces/{name}", change, content_type=MERGE).expect()


def test_managed(control_plane, terminal, team):
    """A second scheduler gets its files, and they are written again out of their Secret."""
    told = terminal.type(VERSION.text).splitlines()
    assert told[-1] == f"Server Version: {control_plane.get('/version')['gitVersion']}"
    with deleted(terminal, "managed"):
        terminal.type(MANAGED.text)
        with Overlaid(control_plane) as installed:
            assert "successfully rolled out" in terminal.type(GIVE.text)
            assert control_plane.get(f"{DEPLOYMENTS}/gpusched-scheduler")["status"]["availableReplicas"] == 2

            terminal.type(EXPORT.text)
            for path in (terminal.folder / "files").iterdir():
                path.replace(installed.certificates / "scheduler" / path.name)
            assert SecondScheduler(installed).filter(pod("p"), "nowhere")["Error"] == ""

            assert scheduler_of(control_plane, team) == "default-scheduler"
            terminal.type(ENABLE.text)
            assert scheduler_of(control_plane, team) == "gpusched-scheduler"


def scheduler_of(plane, namespace):
    return plane.create(pod("p", namespace), dry_run=True).expect()["spec"]["schedulerName"]
