"""gpusched away, not ready, or asked nonsense: what kube-scheduler is told, and what happens afterwards."""

import secrets
import time

import pytest

from gpusched.local.control_plane import ControlPlane
from gpusched.local.errors import LocalError
from gpusched.local.installed import Installed, serving_environment
from gpusched.local.ports import free_ports
from tests.build import h100_node, node, pod, t4_node
from tests.e2e.extender_client import SecondScheduler
from tests.e2e.scheduling import bound_in, bound_node, condition, create, path, say
from tests.e2e.seen import nodes_seen, policy

WAITING_SECONDS = 60
ERROR = "SchedulerError"
#: What a bind is told without an API server.
UNREACHABLE = (
    "gpusched: the API server did not answer when asked for the pod",
    "gpusched: the API server did not answer in time when asked for the pod",
    "gpusched: the pod was not bound: Cannot connect to host",
)


@pytest.fixture
def nodes(control_plane, installed, fake_nodes):
    fake_nodes([t4_node("ed-t4", gpus=4), h100_node("ed-h100"), node("ed-cpu", gpus=None)])
    nodes_seen(control_plane, "ed-t4", "ed-h100")


@pytest.fixture
def exempt(control_plane, installed):
    """A Namespace whose GPU pods can be created without gpusched; the scheduler asks the extender all the same."""
    name = f"ed-exempt-{secrets.token_hex(2)}"
    policy(control_plane, name, {"gpusched.io/exempt": "true"})
    yield name
    control_plane.request("DELETE", f"/api/v1/namespaces/{name}").expect()
    pods = f"/api/v1/namespaces/{name}/pods"
    control_plane.request("DELETE", pods, query={"gracePeriodSeconds": "0"}).expect()
    control_plane.wait_for(pods, lambda tree: tree["items"] == [], what="pods gone")


def test_away_when_the_scheduler_starts(control_plane, installed, nodes, namespace, exempt):
    """GPU pods wait, those without a GPU do not; once gpusched is there it needs no event to go on."""
    configuration = installed.scheduler_configuration()
    installed.stop()
    try:
        answer = control_plane.create(pod("new", namespace))
        assert (answer.status, answer.message.partition(": failed to call webhook")[0]) == (
            500,
            'Internal error occurred: failed calling webhook "pods.mutate.gpusched.io"',
        )
        create(control_plane, pod("waits", exempt))
        control_plane.restart_scheduler(configuration)
        place = path(exempt, "waits")
        text = control_plane.wait_for(place, lambda tree: condition(tree, ERROR), what="error told")
        assert text.endswith("connect: connection refused")
        create(control_plane, pod("cpu", namespace, gpus=None))
        bound_node(control_plane, namespace, "cpu", 5)
        time.sleep(3)
        assert bound_in(control_plane, exempt) == {}
    finally:
        installed.start()
    began = time.monotonic()
    bound_node(control_plane, exempt, "waits", WAITING_SECONDS)
    say(f"extender up, pod bound after {time.monotonic() - began:.1f} s")


def test_nonsense_is_answered_in_the_error_field(control_plane, installed, nodes, namespace):
    """A 400 would reach nobody: kube-scheduler shows its number only."""
    other = SecondScheduler(installed)
    tree = create(control_plane, pod("p", namespace, schedulerName="other"))
    told = {
        name: other.ask("/filter", body)["Error"]
        for name, body in {
            "no JSON": b"<html>",
            "empty": b"",
            "no pod": {"NodeNames": ["ed-t4"]},
            "no nodes": {"Pod": tree},
            "a list": [],
            "containers": {"Pod": tree | {"spec": {"containers": "x"}}, "NodeNames": ["ed-t4"]},
        }.items()
    }
    prefix = "gpusched cannot read the request: "
    assert {name: text.removeprefix(prefix) for name, text in told.items()} == {
        "no JSON": "JSON is malformed: invalid character (byte 0)",
        "empty": "Input data was truncated",
        "no pod": "Pod is missing",
        "no nodes": "neither NodeNames nor Nodes is set",
        "a list": "Expected `object`, got `array`",
        "containers": 'Pod.spec.containers must be a list, not a string: start every item with "- "',
    }
    assert all(text.startswith(prefix) for text in told.values())
    assert other.ask("/bind", {"PodName": "p"}) == {
        "Error": f"{prefix}a pod's name, namespace, UID and Node are needed"
    }
    assert other.ask("/prioritize", b"<html>") == []
    assert other.ask("/preempt", b"<html>") == {"NodeNameToMetaVictims": {}}


def test_the_answer_of_a_good_call(control_plane, installed, nodes, namespace):
    """Names as asked, all refusals unresolvable, and nothing that was not asked about."""
    other = SecondScheduler(installed)
    tree = create(
        control_plane, pod("p", namespace, annotations={"gpusched.io/families": "turing"}, schedulerName="other")
    )
    assert other.filter(tree, "ed-h100", "ed-t4", "ed-none", "ed-cpu") == {
        "Nodes": None,
        "NodeNames": ["ed-t4"],
        "FailedNodes": {},
        "FailedAndUnresolvableNodes": {
            "ed-h100": "GPU family not allowed",
            "ed-cpu": "node does not offer the GPU resource",
            "ed-none": "node is not known to gpusched yet",
        },
        "Error": "",
    }


def test_not_synced_yet(control_plane, installed, tmp_path):
    """A process that has never reached the API server says so, with status 200."""
    kubeconfig = control_plane.kubeconfig("gpusched").read_text(encoding="utf-8")
    (nobody,) = free_ports(1)
    unreachable = tmp_path / "kubeconfig"
    elsewhere = kubeconfig.replace(control_plane.server, f"https://127.0.0.1:{nobody}")
    unreachable.write_text(elsewhere, encoding="utf-8")
    cold = Installed(control_plane, arguments=["--kubeconfig", str(unreachable)], own_certificates=False)
    cold._folder.mkdir(mode=0o700)
    cold.configure({})
    name = "gpusched-cold"
    control_plane.spawn(name, cold.command(), environment=serving_environment())
    try:
        control_plane.wait_until(lambda: cold.admin("/healthz")[0] == 200, what="alive")
        assert cold.admin("/readyz")[0] == 503
        answer = SecondScheduler(cold).filter(pod("p"), "ed-t4")
        text = "gpusched: cache is not synced yet, waiting for "
        assert answer["Error"].startswith(text)
        assert (answer["NodeNames"], answer["FailedAndUnresolvableNodes"]) == (None, {})
    finally:
        control_plane.stop(name)


def test_api_server_restarted(binaries):
    """Meanwhile filter and prioritize are answered from the cache, bind is not; afterwards all goes on by itself."""
    with ControlPlane(binaries) as plane, Installed(plane) as installed:
        plane.create_nodes([t4_node("ed-t4", gpus=4), h100_node("ed-h100")])
        nodes_seen(plane, "ed-t4", "ed-h100")
        policy(plane, "here", families="turing")
        create(plane, pod("before", "here"))
        bound_node(plane, "here", "before")
        tree = create(plane, pod("other", "here", schedulerName="other"))
        other = SecondScheduler(installed)

        def meanwhile():
            assert installed.admin("/readyz")[0] == 200
            assert other.filter(tree, "ed-t4", "ed-h100")["NodeNames"] == ["ed-t4"]
            assert other.bind(tree, "ed-t4").startswith(UNREACHABLE)

        plane.restart_api_server(meanwhile)
        began = time.monotonic()
        plane.wait_until(lambda: created(plane, "after"), what="webhook called again")
        bound_node(plane, "here", "after", WAITING_SECONDS)
        say(f"API server restarted, new pod bound after {time.monotonic() - began:.1f} s")
        assert other.bind(tree, "ed-t4") == ""
        assert bound_in(plane, "here") == {"before": "ed-t4", "other": "ed-t4", "after": "ed-t4"}
        plane.create_nodes([h100_node("ed-late")])
        nodes_seen(plane, "ed-late")
        plane.wait_until(lambda: installed.metric("gpusched_reservations") == 0, what="no promise left")


def created(plane, name):
    try:
        answer = plane.create(pod(name, "here"))
    except (LocalError, OSError):
        return False
    return answer.ok or answer.status == 409
