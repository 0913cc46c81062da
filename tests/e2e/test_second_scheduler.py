"""gpusched as the extender of a second kube-scheduler: the default one has none, and no pod of its own waits for it."""

import time

import pytest

from gpusched.local.control_plane import ControlPlane
from gpusched.local.credentials import service_account
from gpusched.local.installed import Installed
from gpusched.local.options import Options
from gpusched.local.second_scheduler import IDENTITY, SECOND, start_second_scheduler
from tests.build import h100_node, node, pod, t4_node
from tests.e2e.scheduling import bound_in, bound_node, condition, create, events, path, read
from tests.e2e.seen import nodes_seen, policy

NAME = "gpusched-scheduler"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/gpusched-system/leases/{NAME}"
#: No pod of the default scheduler waits as long as gpusched's time-outs are.
AT_ONCE_SECONDS = 5.0
BOUND = "status.gpusched.io/bound"


@pytest.fixture(scope="module")
def control_plane(binaries):
    """A control plane that knows the second scheduler's own account."""
    with ControlPlane(binaries, Options(identities={IDENTITY: service_account("gpusched-system", NAME)})) as started:
        yield started


@pytest.fixture(scope="module")
def installed(control_plane):
    with Installed(control_plane, config={"secondScheduler": NAME}) as running:
        yield running


@pytest.fixture
def nodes(control_plane, installed, fake_nodes):
    fake_nodes([t4_node("ss-t4", gpus=4), h100_node("ss-h100"), node("ss-cpu", gpus=None)])
    nodes_seen(control_plane, "ss-t4", "ss-h100")


@pytest.fixture
def apart(control_plane, namespace):
    """The test's Namespace, whose pods do not reach gpusched."""
    policy(control_plane, namespace, {"gpusched.io/exempt": "true"})
    return namespace


def scheduled_by(plane, namespace, name):
    """Who says that it bound the pod."""
    items = plane.wait_until(
        lambda: [item for item in events(plane, namespace, name) if item["reason"] == "Scheduled"], what="event"
    )
    return [item.get("reportingComponent") or item["source"]["component"] for item in items]


def test_gpu_pods_are_bound_by_it_and_others_by_the_default_one(control_plane, installed, nodes, namespace):
    policy(control_plane, namespace, families="hopper", quota="*=8")
    tree = create(control_plane, pod("gpu", namespace))
    create(control_plane, pod("cpu", namespace, gpus=None))

    assert tree["spec"]["schedulerName"] == NAME
    assert tree["metadata"]["annotations"]["status.gpusched.io/lowered"] == f"families=hopper (namespace {namespace})"
    assert bound_node(control_plane, namespace, "gpu") == "ss-h100"
    assert read(control_plane, namespace, "gpu")["metadata"]["annotations"][BOUND] == "ss-h100"
    bound_node(control_plane, namespace, "cpu")
    other = read(control_plane, namespace, "cpu")
    assert (other["spec"]["schedulerName"], BOUND in other["metadata"].get("annotations", {})) == (
        "default-scheduler",
        False,
    )
    assert scheduled_by(control_plane, namespace, "gpu") == [NAME]
    assert scheduled_by(control_plane, namespace, "cpu") == ["default-scheduler"]


def test_it_leads_by_a_lease_of_its_own(control_plane, installed):
    holder = control_plane.wait_for(LEASE, lambda tree: tree["spec"].get("holderIdentity"))

    assert holder


def test_pods_of_a_daemon_set_are_its_own_too(control_plane, installed, nodes, namespace):
    labels = {"app": "x"}
    template = {"metadata": {"labels": labels}, "spec": pod(nodeSelector={"gpusched.io/family": "turing"})["spec"]}
    control_plane.create(
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": "x", "namespace": namespace},
            "spec": {"selector": {"matchLabels": labels}, "template": template},
        }
    ).expect()

    pods = f"/api/v1/namespaces/{namespace}/pods"
    (item,) = control_plane.wait_for(
        pods, lambda tree: [each for each in tree["items"] if each["spec"].get("nodeName")], what="pod of the DaemonSet"
    )
    assert (item["spec"]["schedulerName"], item["metadata"]["annotations"][BOUND]) == (NAME, "ss-t4")


def test_the_default_scheduler_never_asks_gpusched(control_plane, installed, nodes, apart):
    def asked():
        return [installed.metric("gpusched_decisions_total", verb=verb) for verb in ("mutate", "filter", "bind")]

    before = asked()
    tree = create(control_plane, pod("gpu", apart))
    bound_node(control_plane, apart, "gpu")

    assert tree["spec"]["schedulerName"] == "default-scheduler"
    assert BOUND not in read(control_plane, apart, "gpu")["metadata"].get("annotations", {})
    assert asked() == before


def test_while_gpusched_is_down_its_own_pods_wait_alone(control_plane, installed, nodes, apart):
    installed.stop()
    try:
        create(control_plane, pod("waits", apart, schedulerName=NAME))
        control_plane.wait_for(
            path(apart, "waits"), lambda tree: condition(tree, "SchedulerError"), what="second scheduler stuck"
        )
        began = time.monotonic()
        names = [f"cpu-{number}" for number in range(5)]
        for name in names:
            create(control_plane, pod(name, apart, gpus=None))
        create(control_plane, pod("gpu", apart))
        for name in (*names, "gpu"):
            bound_node(control_plane, apart, name)
        assert time.monotonic() - began < AT_ONCE_SECONDS
        assert set(bound_in(control_plane, apart)) == {*names, "gpu"}
    finally:
        installed.start()
    bound_node(control_plane, apart, "waits", 60)


def test_without_the_second_scheduler_gpu_pods_alone_wait(control_plane, installed, nodes, namespace):
    control_plane.stop(SECOND)
    try:
        create(control_plane, pod("gpu", namespace))
        create(control_plane, pod("cpu", namespace, gpus=None))
        bound_node(control_plane, namespace, "cpu")
        assert set(bound_in(control_plane, namespace)) == {"cpu"}
    finally:
        start_second_scheduler(control_plane, installed.scheduler_configuration())
    bound_node(control_plane, namespace, "gpu", 60)
