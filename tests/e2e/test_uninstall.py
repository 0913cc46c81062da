"""After the documented commands nothing of gpusched is left on anybody's objects, and pods are created and placed."""

import shutil

import pytest
import yaml

from gpusched.dialects.labels import KEYS
from gpusched.local.installed import Installed
from tests.build import h100_node, pod, t4_node
from tests.docs.page import run_by
from tests.e2e.scheduling import bound_node, create, read, refusal
from tests.e2e.seen import nodes_seen, policy
from tests.manifests.overlays import MANIFESTS, localised

RELEASE, DELETE, CLEAN, IGNORE, DISCHARGE, EMERGENCY, GATES = (
    block.text.rstrip() for block in run_by(__file__, "docs/uninstall.md")
)
(LOOK,) = (block.text for block in run_by(__file__, "docs/troubleshooting.md"))
GATE = [{"name": "gpusched.io/quota"}]
LOWERED = "status.gpusched.io/lowered"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"


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


def test_the_documented_way(control_plane, terminal, nodes, namespace):
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

        for command in (RELEASE, CLEAN):
            terminal.type(f"{command} --dry-run")
        assert set(webhooks(control_plane)) == {"gpusched", "gpusched-namespace-policy", "gpusched-pod-claims"}
        assert read(control_plane, namespace, "gated")["spec"]["schedulingGates"] == gates
        assert labels_left(control_plane) <= set(KEYS)
        assert labels_left(control_plane)

        told = terminal.type(RELEASE)
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
    terminal.type(DELETE, OVERLAY="manifests/base")
    assert control_plane.request("GET", "/api/v1/namespaces/gpusched-system").status == 404
    terminal.type(CLEAN)
    assert labels_left(control_plane) == set()

    plain = create(control_plane, pod("plain", namespace, annotations=turing))
    assert "affinity" not in plain["spec"]
    assert bound_node(control_plane, namespace, "plain")
    control_plane.request("DELETE", f"/apis/batch/v1/namespaces/{namespace}/jobs/waits").expect()


def test_breaking_glass(control_plane, terminal, nodes, namespace):
    """Each command by itself, after the one that says what is wrong."""
    with Installed(control_plane) as installed:
        nodes_seen(control_plane, "un-t4", "un-h100")
        policy(control_plane, namespace, quota="turing=0")
        create(control_plane, pod("gated", namespace))
        installed.stop()
        assert control_plane.create(pod("late", namespace)).status == 500

        seen = terminal.run(LOOK)
        assert (seen.returncode, seen.stderr) == (1, "No resources found in gpusched-system namespace.\n")
        assert "(webhook-unreachable)" in seen.stdout

        terminal.type(IGNORE)
        hooks = control_plane.get(f"{ADMISSION}/mutatingwebhookconfigurations/gpusched")["webhooks"]
        assert {hook["failurePolicy"] for hook in hooks} == {"Ignore"}
        assert "schedulingGates" not in create(control_plane, pod("late", namespace))["spec"]
        terminal.type(DISCHARGE)
        assert webhooks(control_plane) == ["gpusched-namespace-policy", "gpusched-pod-claims"]
        create(control_plane, pod("later", namespace))

        terminal.type(GATES)
        assert "schedulingGates" not in read(control_plane, namespace, "gated")["spec"]

        shutil.copy(MANIFESTS / "overlays" / "kubeadm" / "scheduler-config.yaml", terminal.folder)
        terminal.type(EMERGENCY)
        emergency = yaml.safe_load((terminal.folder / "emergency.yaml").read_text(encoding="utf-8"))
        assert emergency["extenders"][0]["ignorable"] is True
        control_plane.restart_scheduler(localised(emergency, installed.scheduler_configuration()))
        for name in ("gated", "late", "later"):
            assert bound_node(control_plane, namespace, name, 60)
        installed.start()
