"""Memory claims on a real cluster: whatever comes at once, no node ends up with claims that a GPU could not hold."""

from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import pytest

from gpusched.local.control_plane import ControlPlane
from gpusched.local.installed import Installed
from tests.build import Tree, pod, t4_node
from tests.e2e.extender_client import SecondScheduler, binding
from tests.e2e.scheduling import bound_in, condition, create, node_of, read, say
from tests.e2e.seen import nodes_seen

GPUS, REPLICAS, CARD_MIB = 2, 4, 15360
#: 5 % of a shared card is nobody's.
USABLE_MIB = CARD_MIB * 95 // 100
NODES = [f"cl-{index:02}" for index in range(12)]
#: Of 3,648 MiB that a slot has if all are alike, and above: those make other slots of their node unusable.
CLAIMS_MIB = (512, 1024, 2048, 3500, 4500, 6000, 9000)
CLAIM = "gpusched.io/gpu-memory"
CONFIG = {"claims": {"aboveSlot": "allow"}}
AT_ONCE = 16
#: However the claims come, a node takes one pod at least.
LEAST = len(NODES)


@pytest.fixture(scope="module")
def own(binaries) -> Iterator[tuple[ControlPlane, Installed]]:
    with ControlPlane(binaries) as plane, Installed(plane, config=CONFIG) as installed:
        plane.create_nodes(t4_node(name, gpus=GPUS, replicas=REPLICAS) for name in NODES)
        nodes_seen(plane, *NODES)
        yield plane, installed


@pytest.fixture(scope="module")
def cluster(own) -> ControlPlane:
    """Namespaces of this module are those of its own control plane."""
    return own[0]


def broken(plane) -> dict[str, list[int]]:
    """Nodes on which some way of handing out GPUs puts more on one than it holds, with the amounts of their slots.

    Reckoned from the objects alone. The kubelet may put any four slots on one GPU, so the four largest must fit.
    """
    amounts: defaultdict[str, list[int]] = defaultdict(list)
    items: Any = plane.get("/api/v1/pods")["items"]
    for tree in items:
        node = node_of(tree)
        if node and tree["status"]["phase"] not in {"Succeeded", "Failed"}:
            slots = int(tree["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"])
            amounts[node] += [claimed_mib(tree)] * slots
    assert all(len(found) <= GPUS * REPLICAS for found in amounts.values())
    return {
        node: sorted(found, reverse=True)
        for node, found in amounts.items()
        if sum(sorted(found, reverse=True)[:REPLICAS]) > USABLE_MIB
    }


def claimed_mib(tree: Tree) -> int:
    text = tree["metadata"].get("annotations", {}).get(CLAIM)
    return int(text.removesuffix("Mi")) if text else USABLE_MIB // REPLICAS


def claiming(random: Random, namespace: str, count: int, **spec: Any) -> list[Tree]:
    """Pods with claims; one in ten without."""
    return [
        pod(
            f"p{index:03}",
            namespace,
            annotations={CLAIM: f"{random.choice(CLAIMS_MIB)}Mi"} if random.random() < 0.9 else {},
            **spec,
        )
        for index in range(count)
    ]


def create_at_once(plane, pods):
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda tree: create(plane, tree), pods))


def settled(plane, namespace) -> dict[str, str]:
    """Pods with their nodes, once every other one was refused for want of room and not by an error."""

    def all_decided() -> dict[str, str] | None:
        items: Any = plane.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
        undecided = [tree for tree in items if not node_of(tree) and condition(tree) is None]
        return None if undecided else bound_in(plane, namespace)

    return plane.wait_until(all_decided, 90, "every pod bound or refused")


def test_two_hundred_at_once(own, namespace):
    plane, _ = own
    create_at_once(plane, claiming(Random(1), namespace, 200))
    nodes = settled(plane, namespace)
    assert broken(plane) == {}
    say(f"{len(nodes)} of 200 pods bound on {len(set(nodes.values()))} nodes")
    assert len(nodes) >= LEAST
    marks = [tree["metadata"]["annotations"]["status.gpusched.io/bound"] for tree in pods_of(plane, namespace, nodes)]
    assert marks == list(nodes.values())


def pods_of(plane, namespace, names):
    return [read(plane, namespace, name) for name in names]


def test_killed_in_the_middle(own, namespace):
    """Nothing is remembered but what the API server has, and that is enough."""
    plane, installed = own
    pods = claiming(Random(2), namespace, 200)
    create_at_once(plane, pods[:100])
    plane.wait_until(lambda: len(bound_in(plane, namespace)) >= 20, what="some pods bound")
    installed.kill()
    try:
        assert broken(plane) == {}
    finally:
        installed.start()
    create_at_once(plane, pods[100:])
    nodes = settled(plane, namespace)
    assert broken(plane) == {}
    say(f"killed in the middle: {len(nodes)} of 200 pods bound")
    assert len(nodes) >= LEAST
    plane.wait_until(lambda: installed.metric("gpusched_reservations") == 0, what="no promises left")


def test_two_schedulers_at_once(own, namespace):
    """Each of 40 pods is bound to two nodes at the same time, for which no filter was asked, while kube-scheduler binds
    others: success is said to one at most, it is true, and the rule holds.
    """
    plane, installed = own
    other = SecondScheduler(installed)
    theirs = [create(plane, tree) for tree in claiming(Random(3), namespace, 40, schedulerName="other")]
    ours = claiming(Random(4), namespace, 100)
    for index, tree in enumerate(ours):
        tree["metadata"]["name"] = f"ours-{index:03}"
    jobs = [(tree, NODES[(number + turn) % 4]) for number, tree in enumerate(theirs) for turn in range(2)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        creating = pool.submit(create_at_once, plane, ours)
        answers = list(pool.map(lambda job: (job[0]["metadata"]["name"], job[1], other.bind(*job)), jobs))
        creating.result()
    plane.wait_until(lambda: all_seen(plane, namespace, "ours"), 60, "kube-scheduler done")
    assert broken(plane) == {}
    nodes = bound_in(plane, namespace)
    said = {name: node for name, node, error in answers if not error}
    assert said == {name: node for name, node in nodes.items() if not name.startswith("ours")}
    assert sum(not error for *_, error in answers) == len(said)
    texts = {error for *_, error in answers if error}
    say(f"bound by the other scheduler: {len(said)} of 40; refused with {sorted(texts)}")
    assert said
    plane.wait_until(lambda: installed.metric("gpusched_reservations") == 0, what="no promises left")


def all_seen(plane, namespace, prefix) -> bool:
    items: Any = plane.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
    mine = [tree for tree in items if tree["metadata"]["name"].startswith(prefix)]
    return all(node_of(tree) or condition(tree) is not None for tree in mine)


def test_a_bind_whose_answer_is_lost(own, namespace):
    """The caller hangs up at once. The pod is bound all the same, counted once, and asking again is success."""
    plane, installed = own
    other = SecondScheduler(installed)
    tree = create(plane, pod("lost", namespace, annotations={CLAIM: "6000Mi"}, schedulerName="other"))
    other.send("/bind", binding(tree, NODES[0])).close()
    plane.wait_until(lambda: bound_in(plane, namespace) == {"lost": NODES[0]}, what="bound all the same")
    assert other.bind(tree, NODES[0]) == ""
    assert other.bind(tree, NODES[1]) == f"gpusched: the pod is on node {NODES[0]} already"
    plane.wait_until(lambda: installed.metric("gpusched_reservations") == 0, what="no promise left")
    assert broken(plane) == {}


def test_a_bind_of_a_pod_replaced_meanwhile(own, namespace):
    plane, installed = own
    other = SecondScheduler(installed)
    former = create(plane, pod("twice", namespace, schedulerName="other"))
    plane.request("DELETE", f"/api/v1/namespaces/{namespace}/pods/twice", query={"gracePeriodSeconds": "0"}).expect()
    create(plane, pod("twice", namespace, schedulerName="other"))
    # By its watch or by the API server, whichever told it first.
    refused = (
        "gpusched: the pod is gone, finished or replaced by another of its name",
        "gpusched: Operation cannot be fulfilled on pods",
    )
    assert other.bind(former, NODES[0]).startswith(refused)
    assert bound_in(plane, namespace) == {}
    plane.wait_until(lambda: installed.metric("gpusched_reservations") == 0, what="no promise left")


def test_a_bind_to_a_node_that_policy_refuses(own, namespace):
    plane, installed = own
    tree = create(plane, pod("p", namespace, annotations={CLAIM: "15000Mi"}, schedulerName="other"))
    assert SecondScheduler(installed).bind(tree, NODES[0]) == "gpusched: not enough unclaimed GPU memory"
    assert SecondScheduler(installed).bind(tree, "cl-none") == "gpusched: node cl-none is not known"
    assert bound_in(plane, namespace) == {}
