"""More nodes than kube-scheduler looks at, few of which suit: no "unschedulable" while those have room."""

import pytest

from gpusched.local.control_plane import ControlPlane
from gpusched.local.installed import Installed
from tests.build import h100_node, pod, t4_node
from tests.e2e.scheduling import bound_node, condition, create, events, node_of, path, read, reconfigure, say
from tests.e2e.seen import nodes_seen, policy

NODES = 300
#: Of this many percent of the nodes kube-scheduler is content with the first feasible ones, but 100 at least.
PERCENT = 5
GOOD = "mn-good"
PODS = 8


@pytest.fixture(scope="module")
def wide(binaries):
    """A control plane of its own, since so many nodes take long to delete."""
    with ControlPlane(binaries) as plane, Installed(plane) as installed:
        plane.restart_scheduler({**installed.scheduler_configuration(), "percentageOfNodesToScore": PERCENT})
        plane.create_nodes([t4_node(f"mn-{index:03}") for index in range(NODES - 1)] + [h100_node(GOOD)])
        nodes_seen(plane, GOOD)
        plane.wait_until(lambda: "labels: complete" in installed.admin("/readyz")[1], what="nodes labelled")
        yield plane, installed


@pytest.fixture(scope="module")
def cluster(wide):
    """Namespaces of this module are those of its own control plane."""
    return wide[0]


@pytest.fixture
def place(wide, namespace):
    """A Namespace that wants the family of the only good node."""
    plane, _ = wide
    policy(plane, namespace, families="hopper")
    return namespace


@pytest.fixture
def unlowered(wide):
    """Policy is left to the extender."""
    reconfigure(*wide, {"lowering": {"enabled": False}})
    yield
    reconfigure(*wide, {"lowering": {"enabled": True}})


def test_lowered_policy_finds_the_only_node(wide, place):
    """Each pod is bound at the first attempt: no event of a failure, and the extender is asked about one node."""
    plane, installed = wide
    names = [f"lowered-{index}" for index in range(PODS)]
    before = installed.metric("gpusched_decisions_total", verb="filter")
    for name in names:
        create(plane, pod(name, place))
    assert {bound_node(plane, place, name) for name in names} == {GOOD}
    assert installed.metric("gpusched_decisions_total", verb="filter") - before == PODS
    reasons = [item["reason"] for name in names for item in events(plane, place, name)]
    assert "FailedScheduling" not in reasons


def test_without_lowering_it_is_a_lottery(wide, place, unlowered):
    """Some pods are called unschedulable although the node has room: what lowering is there for."""
    plane, _ = wide
    unlucky = []
    for index in range(PODS):
        name = f"plain-{index}"
        create(plane, pod(name, place))
        plane.wait_for(path(place, name), lambda tree: node_of(tree) or condition(tree), what="a verdict")
        failed = [item for item in events(plane, place, name) if item["reason"] == "FailedScheduling"]
        if failed or condition(read(plane, place, name)):
            unlucky.append(name)
    say(f"{len(unlucky)} of {PODS} pods called unschedulable while {GOOD} had room")
    assert unlucky
    text = (
        f"0/{NODES} nodes are available: 100 GPU family not allowed. preemption: 0/{NODES} nodes are available: "
        f"{NODES} Preemption is not helpful for scheduling."
    )
    told = [condition(read(plane, place, name)) for name in unlucky]
    assert {found for found in told if found} <= {text}
