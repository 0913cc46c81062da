"""The overlays' own files for kube-scheduler, run by kube-scheduler: GPU pods go where gpusched says."""

import json

import pytest

from gpusched.local.client_programs import render
from gpusched.local.credentials import service_account
from gpusched.local.installed import Installed
from gpusched.local.options import Options
from tests.build import h100_node, node, pod, t4_node
from tests.cli.commands import run
from tests.e2e.scheduling import bound_in, bound_node, create, read, refusal
from tests.e2e.seen import nodes_seen, policy
from tests.manifests.overlays import MANIFESTS, SCHEDULER_FILES, scheduler_configuration

SECOND = "gpusched-scheduler"
BOUND = "status.gpusched.io/bound"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/gpusched-system/leases/gpusched-scheduler"
STATIC = sorted(set(SCHEDULER_FILES) - {"managed/scheduler-config.yaml"})


@pytest.fixture(scope="module")
def control_plane_options():
    return Options(identities={SECOND: service_account("gpusched-system", SECOND)})


@pytest.fixture
def nodes(fake_nodes):
    fake_nodes([t4_node("ov-t4", gpus=2), h100_node("ov-h100", gpus=2), node("ov-cpu", gpus=None)])


def bound_by_gpusched(plane, namespace, name):
    bound_node(plane, namespace, name)
    return read(plane, namespace, name)["metadata"].get("annotations", {}).get(BOUND)


@pytest.mark.parametrize("name", STATIC)
def test_a_static_scheduler_with_the_file(control_plane, nodes, namespace, name):
    """Its certificate's name is checked although the URL has an address, as serverName asks."""
    with Installed(control_plane) as installed:
        given = scheduler_configuration(name, installed.scheduler_configuration())
        assert given["extenders"][0]["tlsConfig"]["serverName"] == "gpusched.gpusched-system.svc"
        control_plane.restart_scheduler(given)
        nodes_seen(control_plane, "ov-t4", "ov-h100")
        policy(control_plane, namespace, families="turing")
        create(control_plane, pod("gpu", namespace))
        create(control_plane, pod("cpu", namespace, gpus=None))
        assert bound_by_gpusched(control_plane, namespace, "gpu") == "ov-t4"
        assert bound_by_gpusched(control_plane, namespace, "cpu") is None


def test_a_name_that_the_certificate_lacks_is_refused(control_plane, nodes, namespace):
    with Installed(control_plane) as installed:
        given = scheduler_configuration(STATIC[0], installed.scheduler_configuration())
        given["extenders"][0]["tlsConfig"]["serverName"] = "elsewhere.gpusched-system.svc"
        control_plane.restart_scheduler(given)
        create(control_plane, pod("gpu", namespace))

        def told(tree):
            return next(
                (each["message"] for each in tree["status"].get("conditions", ()) if "x509" in each["message"]), None
            )

        text = control_plane.wait_for(f"/api/v1/namespaces/{namespace}/pods/gpu", told)
        assert "not elsewhere.gpusched-system.svc" in text


@pytest.fixture
def second_scheduler(control_plane, binaries, client_programs):
    """Starts kube-scheduler with the overlay's file, as the overlay's ServiceAccount with the overlay's rights."""

    def start(installed):
        trees = render(client_programs["kustomize"], MANIFESTS / "overlays" / "managed")
        control_plane.apply(tree for tree in trees if SECOND in str(tree) and "Role" in tree["kind"])
        given = scheduler_configuration("managed/scheduler-config.yaml", installed.scheduler_configuration())
        given["clientConnection"] = {"kubeconfig": str(control_plane.kubeconfig(SECOND))}
        path = control_plane.folder / "second.json"
        path.write_text(json.dumps(given), encoding="utf-8")
        words = [f"--config={path}", "--secure-port=0", "-v=2"]
        control_plane.spawn(SECOND, [str(binaries["kube-scheduler"]), *words])

    yield start
    control_plane.stop(SECOND)


def test_a_second_scheduler_with_its_own_rights(control_plane, second_scheduler, nodes, namespace):
    """Pods that name it are placed by gpusched, the others by the cluster's own, which knows nothing of gpusched."""
    with Installed(control_plane, extender=False) as installed:
        second_scheduler(installed)
        nodes_seen(control_plane, "ov-t4", "ov-h100")
        policy(control_plane, namespace, families="turing")
        create(control_plane, pod("first", namespace))
        create(control_plane, pod("second", namespace, schedulerName=SECOND))
        large = {"gpusched.io/gpu-memory": "20Gi"}
        create(control_plane, pod("waits", namespace, schedulerName=SECOND, annotations=large))
        assert bound_by_gpusched(control_plane, namespace, "first") is None
        assert bound_by_gpusched(control_plane, namespace, "second") == "ov-t4"
        assert "GPU family not allowed" in refusal(control_plane, namespace, "waits")
        assert bound_in(control_plane, namespace).keys() == {"first", "second"}
        assert control_plane.get(LEASE)["spec"]["holderIdentity"]
        assert "forbidden" not in (control_plane.logs / f"{SECOND}.log").read_text(encoding="utf-8")


def test_the_webhook_alone(control_plane, client_programs, nodes, namespace):
    """Node affinity is all that kube-scheduler hears of policy; quota gates are lifted all the same."""
    (container,) = (
        tree["spec"]["template"]["spec"]["containers"][0]
        for tree in render(client_programs["kustomize"], MANIFESTS / "overlays" / "webhook-only")
        if tree["kind"] == "Deployment"
    )
    given = [word for word in container["args"] if word.startswith(("--role", "--extender"))]
    assert given == ["--role=all", "--extender-plain-http"]
    with Installed(control_plane, arguments=given, extender=False):
        nodes_seen(control_plane, "ov-t4", "ov-h100")
        policy(control_plane, namespace, families="turing", quota="turing=1")
        create(control_plane, pod("gpu", namespace))
        assert bound_node(control_plane, namespace, "gpu") == "ov-t4"
        create(control_plane, pod("over", namespace))
        assert read(control_plane, namespace, "over")["spec"]["schedulingGates"] == [{"name": "gpusched.io/quota"}]
        assert bound_in(control_plane, namespace) == {"gpu": "ov-t4"}
        asked = ("--kubeconfig", control_plane.kubeconfig(), "-o", "json")
        status, doctor = run("certs", "status", *asked), run("doctor", *asked)
        assert (status.code, status.json["problems"]) == (0, [])
        # This control plane has no RuntimeClass.
        assert {item["check"] for item in doctor.json["problems"]} == {"runtime-class-missing"}
