"""After the documented commands nothing of gpusched is left on anybody's objects, and pods are created and placed."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from gpusched.dialects.labels import KEYS
from gpusched.local.installed import Installed
from tests.build import h100_node, pod, t4_node
from tests.e2e.scheduling import bound_node, create, read, refusal
from tests.e2e.seen import nodes_seen, policy
from tests.manifests.overlays import MANIFESTS

DOCUMENT = MANIFESTS.parent / "docs" / "uninstall.md"
GATE = [{"name": "gpusched.io/quota"}]
LOWERED = "status.gpusched.io/lowered"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"


def commands(heading: str) -> list[str]:
    """The shell commands of a section."""
    text = DOCUMENT.read_text(encoding="utf-8")
    section = re.split(r"^## ", text, flags=re.MULTILINE)
    (found,) = (part for part in section if part.startswith(f"{heading}\n"))
    return [match.strip() for match in re.findall(r"```sh\n(.*?)```", found, re.DOTALL)]


@pytest.fixture
def shell(control_plane, client_programs):
    programs = str(client_programs["kubectl"].parent)
    environment = {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "KUBECONFIG": str(control_plane.kubeconfig()),
        "OVERLAY": str(MANIFESTS / "base"),
    }

    def run(command: str) -> str:
        done = subprocess.run(
            ["/bin/bash", "-ec", command],
            cwd=MANIFESTS.parent,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return run


@pytest.fixture
def nodes(control_plane, fake_nodes):
    fake_nodes([t4_node("un-t4", gpus=4), h100_node("un-h100", gpus=2)])


def job(namespace: str, families: str):
    """One pod that no node takes."""
    template = pod("x", namespace, gpus=4, annotations={"gpusched.io/families": families}, restartPolicy="Never")
    del template["metadata"]["name"]
    about = {"name": "waits", "namespace": namespace}
    spec = {"template": {"metadata": template["metadata"], "spec": template["spec"]}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": about, "spec": spec}


def of_job(plane, namespace):
    items = plane.get(f"/api/v1/namespaces/{namespace}/pods", query={"labelSelector": "job-name=waits"})["items"]
    return [item for item in items if "deletionTimestamp" not in item["metadata"]]


def labels_left(plane):
    items = plane.get("/api/v1/nodes")["items"]
    return {key for item in items for key in item["metadata"]["labels"] if key.startswith("gpusched.io/")}


def webhooks(plane):
    kinds = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations", "validatingadmissionpolicies")
    return [item["metadata"]["name"] for kind in kinds for item in plane.get(f"{ADMISSION}/{kind}")["items"]]


def test_the_documented_way(control_plane, shell, nodes, namespace):
    release, delete, clean = commands("Uninstall")
    with Installed(control_plane) as installed:
        nodes_seen(control_plane, "un-t4", "un-h100")
        policy(control_plane, namespace, quota="turing=1")
        turing = {"gpusched.io/families": "turing"}
        create(control_plane, pod("runs", namespace, annotations=turing))
        bound_node(control_plane, namespace, "runs")
        gated = pod("gated", namespace, annotations=turing)
        gated["spec"]["schedulingGates"] = [{"name": "example.com/other"}]
        create(control_plane, gated)
        create(control_plane, pod("bare", namespace, gpus=4, annotations={"gpusched.io/families": "hopper"}))
        refusal(control_plane, namespace, "bare")
        control_plane.create(job(namespace, "hopper")).expect()
        (before,) = control_plane.wait_until(lambda: of_job(control_plane, namespace) or None, what="pod of the Job")
        assert LOWERED in before["metadata"]["annotations"]
        gates = read(control_plane, namespace, "gated")["spec"]["schedulingGates"]
        assert GATE[0] in gates
        assert len(gates) == 2

        for command in (release, clean):
            shell(f"{command} --dry-run")
        assert set(webhooks(control_plane)) == {"gpusched", "gpusched-namespace-policy", "gpusched-pod-claims"}
        assert read(control_plane, namespace, "gated")["spec"]["schedulingGates"] == gates
        assert labels_left(control_plane) <= set(KEYS)
        assert labels_left(control_plane)

        told = shell(release)
        assert f"pod {namespace}/bare waits by rules of gpusched and has no owner" in told
        assert webhooks(control_plane) == []
        assert read(control_plane, namespace, "gated")["spec"]["schedulingGates"] == [{"name": "example.com/other"}]

        def renewed():
            pods = of_job(control_plane, namespace)
            return pods if pods and pods[0]["metadata"]["uid"] != before["metadata"]["uid"] else None

        (after,) = control_plane.wait_until(renewed, what="pod of the Job created anew")
        assert LOWERED not in after["metadata"]["annotations"]
        control_plane.restart_scheduler()
        installed.stop()
    shell(delete)
    assert control_plane.request("GET", "/api/v1/namespaces/gpusched-system").status == 404
    shell(clean)
    assert labels_left(control_plane) == set()

    plain = create(control_plane, pod("plain", namespace, annotations=turing))
    assert "affinity" not in plain["spec"]
    assert bound_node(control_plane, namespace, "plain")
    control_plane.request("DELETE", f"/apis/batch/v1/namespaces/{namespace}/jobs/waits").expect()


def test_breaking_glass(control_plane, shell, nodes, namespace):
    """Each command by itself, as the document has it."""
    ignore, delete, emergency, gates = commands("Break glass")
    with Installed(control_plane) as installed:
        nodes_seen(control_plane, "un-t4", "un-h100")
        policy(control_plane, namespace, quota="turing=0")
        create(control_plane, pod("gated", namespace))
        installed.stop()
        assert control_plane.create(pod("late", namespace)).status == 500

        shell(ignore)
        assert "schedulingGates" not in create(control_plane, pod("late", namespace))["spec"]
        shell(delete)
        assert webhooks(control_plane) == ["gpusched-namespace-policy", "gpusched-pod-claims"]
        create(control_plane, pod("later", namespace))

        shell(gates)
        assert "schedulingGates" not in read(control_plane, namespace, "gated")["spec"]

        control_plane.restart_scheduler(installed.scheduler_configuration(break_glass=True))
        for name in ("gated", "late", "later"):
            assert bound_node(control_plane, namespace, name, 60)
        installed.start()
    printed = emergency.replace("scheduler-config.yaml", "manifests/overlays/kubeadm/scheduler-config.yaml")
    gpusched = Path(os.environ.get("VIRTUAL_ENV", MANIFESTS.parent / ".venv")) / "bin" / "gpusched"
    assert "ignorable: true" in shell(printed.replace("gpusched", str(gpusched), 1))
