import pytest

from gpusched.core.read_pod import read_pod
from gpusched.policy.model import Config
from gpusched.simulate.reasons.obstacle import Obstacle, obstacle
from gpusched.simulate.reasons.why import Why, why_standing
from gpusched.simulate.world import World
from tests.build import Tree, pod, t4_node
from tests.simulate.scene import cpu_node, manifest, world_of


def told(message: str, reason: str = "Unschedulable", config: Config | None = None, **spec: object) -> Obstacle | None:
    tree: Tree = pod("p", **spec)
    condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
    tree["status"] = {"phase": "Pending", "conditions": [condition] if message else []}
    return obstacle(tree, read_pod(tree, []), World(config or Config()))


def all_nodes(said: str) -> str:
    return f"0/3 nodes are available: {said}. preemption: 0/3 nodes are available: 3 Preemption is not helpful."


@pytest.mark.parametrize(
    ("said", "cause", "change"),
    [
        (
            'persistentvolumeclaim "nodata" not found',
            "PersistentVolumeClaim nodata does not exist in namespace team-a",
            "Create PersistentVolumeClaim nodata in namespace team-a, or correct claimName in spec.volumes",
        ),
        (
            "pod has unbound immediate PersistentVolumeClaims",
            "a PersistentVolumeClaim of it is not bound to a volume yet",
            "See what the claim waits for (a StorageClass, its provisioner, a volume): kubectl -n team-a describe pvc",
        ),
        (
            "1 node(s) didn't match PersistentVolume's node affinity, 2 Insufficient nvidia.com/gpu",
            "its volume can be used on other nodes only",
            "Let the pod go where the volume is, or use one that these nodes reach: kubectl -n team-a describe pvc",
        ),
        (
            "3 node(s) didn't find available persistent volumes to bind",
            "no PersistentVolume there matches its PersistentVolumeClaims",
            "Create a volume that matches, or name a StorageClass that makes them: kubectl -n team-a describe pvc",
        ),
        (
            "3 cannot allocate all claims",
            "no device there is free for its ResourceClaims",
            "Wait until a pod with such a claim ends, or ask for less in the ResourceClaim",
        ),
        (
            'resourceclaim.resource.k8s.io "gpu" not found',
            "ResourceClaim gpu does not exist in namespace team-a",
            "Create ResourceClaim gpu in namespace team-a, or correct its name in spec.resourceClaims",
        ),
        (
            "3 node(s) were on a bad day",
            "kube-scheduler says: node(s) were on a bad day",
            "See what kube-scheduler asks for: kubectl -n team-a describe pod",
        ),
    ],
)
def test_what_kube_scheduler_says_of_other_things(said: str, cause: str, change: str) -> None:
    assert told(all_nodes(said)) == Obstacle(cause, change)


def test_what_is_judged_here_too_may_be_over_by_now() -> None:
    said = all_nodes(
        "1 Insufficient nvidia.com/gpu, 1 node(s) had untolerated taint {team: b}, 1 not enough unclaimed GPU memory"
    )
    expected = "Insufficient nvidia.com/gpu, node(s) had untolerated taint {team: b}, not enough unclaimed GPU memory"
    assert told(said) == Obstacle(expected, passing=True)


def test_an_extender_that_cannot_be_reached() -> None:
    found = told('Post "https://gpusched.gpusched-system/filter": dial tcp: connection refused', "SchedulerError")
    assert found == Obstacle(
        "kube-scheduler cannot reach an extender", "See that gpusched runs: kubectl -n gpusched-system get pods"
    )


def test_another_scheduler() -> None:
    silent = told("", schedulerName="volcano", config=Config(second_scheduler="gpus"))
    assert silent == Obstacle(
        "it waits for a scheduler named volcano, which has said nothing; gpusched serves default-scheduler and gpus",
        "Remove spec.schedulerName: volcano, or start a scheduler of that name",
        absolute=True,
    )
    assert told("no room", schedulerName="volcano") == Obstacle(
        "scheduler volcano says: no room", "See what volcano wants, or remove spec.schedulerName"
    )
    assert told("", schedulerName="gpus", config=Config(second_scheduler="gpus")) is None


def test_the_other_nodes_of_a_daemonset_are_no_obstacle() -> None:
    found = told(all_nodes("1 Insufficient nvidia.com/gpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]"))

    assert found is not None
    assert found.passing


@pytest.mark.parametrize("reason", ["SchedulingGated", "Unschedulable"])
def test_nothing_said_is_no_obstacle(reason: str) -> None:
    assert told("", reason) is None


def _standing(tree: Tree, *cluster: Tree) -> Why:
    return why_standing(manifest(tree), world_of(*cluster, tree))


def _said(tree: Tree, message: str) -> Tree:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return tree | {"status": {"phase": "Pending", "conditions": [condition]}}


def test_what_kube_scheduler_says_comes_first_where_a_node_would_take_the_pod() -> None:
    said = '0/2 nodes are available: persistentvolumeclaim "nodata" not found. preemption: none.'
    tainted = t4_node("u", taints=[{"key": "x", "effect": "NoSchedule"}])
    answer = _standing(_said(pod("p"), said), t4_node("t"), tainted)

    assert answer.view.unschedulable is not None
    cause = "PersistentVolumeClaim nodata does not exist in namespace team-a"
    assert [(item.code, item.message, item.nodes) for item in answer.view.unschedulable.reasons] == [
        ("native-other", cause, 1),
        ("native-taint", "taint x:NoSchedule is not tolerated", 1),
    ]
    assert answer.view.unschedulable.suggestion.startswith("Create PersistentVolumeClaim nodata in namespace team-a")
    assert answer.explanation is not None
    assert (answer.explanation.nearest, answer.explanation.nearest_lacks) == ("t", cause)
    assert answer.history == ""


def test_what_else_kube_scheduler_says_is_a_note_where_no_node_takes_the_pod() -> None:
    answer = _standing(_said(pod("p", gpus=3), "0/1 nodes are available: 1 cannot allocate all claims."), t4_node("t"))

    assert answer.view.unschedulable is not None
    assert [item.code for item in answer.view.unschedulable.reasons] == ["native-resources"]
    assert answer.view.unschedulable.suggestion == (
        "Ask for nvidia.com/gpu: 1 in container main; "
        "besides, wait until a pod with such a claim ends, or ask for less in the ResourceClaim"
    )
    assert "besides, no device there is free for its ResourceClaims" in answer.view.notes


def test_nothing_is_promised_of_what_is_not_judged() -> None:
    claims = [{"name": "g", "resourceClaimName": "gone"}]
    answer = _standing(pod("p", resourceClaims=claims), t4_node("t"))

    assert answer.view.unschedulable is None
    assert answer.history == (
        "node t has room for it; resourceClaims (ResourceClaim gone) are not judged here,"
        " and kube-scheduler has said nothing of them yet"
    )


def test_a_word_that_may_be_old_is_told_before_the_node_that_takes_the_pod() -> None:
    answer = _standing(_said(pod("p"), "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."), t4_node("t"))

    assert answer.view.unschedulable is None
    assert answer.history == (
        "kube-scheduler said at its last try: Insufficient nvidia.com/gpu; "
        "now node t takes it, so the next try should place it"
    )


def test_a_pod_of_another_scheduler_waits_for_that() -> None:
    answer = _standing(pod("p", schedulerName="volcano"), t4_node("t"), cpu_node("c"))

    assert answer.view.unschedulable is not None
    assert [(item.code, item.message, item.nodes) for item in answer.view.unschedulable.reasons] == [
        (
            "native-other",
            "it waits for a scheduler named volcano, which has said nothing; gpusched serves default-scheduler",
            2,
        )
    ]
    assert answer.view.unschedulable.suggestion == (
        "Remove spec.schedulerName: volcano, or start a scheduler of that name"
    )
