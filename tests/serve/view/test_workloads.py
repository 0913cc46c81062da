"""Workloads that lack pods, and questions about a workload by name."""

from typing import Any

import msgspec
import pytest

from gpusched.serve.view.access import EVERYTHING, Denied, Scope
from gpusched.simulate.reasons.shortfall import Shortfall, why_refused
from gpusched.simulate.reasons.why import Why
from gpusched.simulate.world import World
from tests.build import Tree, bound, container, h100_node, namespace, pod
from tests.serve.view.scene import Scene
from tests.simulate.scene import owned, workload

pytestmark = pytest.mark.anyio

TEAM_A = Scope(namespaces=frozenset({"team-a"}))
USED_UP = 'pods "w-1" is forbidden: exceeded quota: gpus, requested: {0}={1}, used: {0}={2}, limited: {0}={3}'
QUOTA = USED_UP.format("requests.nvidia.com/gpu", 1, 1, 1)


def put(scene: Scene, tree: Tree) -> None:
    about = tree["metadata"]
    scene.workloads[tree["kind"], about["namespace"], about["name"]] = tree


def refused(scene: Scene, tree: Tree, message: str = QUOTA, minute: int = 0) -> None:
    """An event of the workload's controller."""
    about = {"kind": tree["kind"], "namespace": tree["metadata"]["namespace"], "name": tree["metadata"]["name"]}
    event = {"metadata": {"namespace": about["namespace"]}, "involvedObject": about, "reason": "FailedCreate"}
    assert scene.events is not None
    scene.events.append(event | {"message": message, "lastTimestamp": f"2026-01-01T00:{minute:02}:00Z"})


async def lacking(scene: Scene, scope: Scope = EVERYTHING, namespace: str = "") -> Any:
    return msgspec.json.decode(await scene.view.workloads(scope, namespace))


async def why(scene: Scene, kind: str, name: str = "w") -> Any:
    answer = await scene.view.why(TEAM_A, "team-a", name, kind)
    assert isinstance(answer, bytes)
    return msgspec.json.decode(answer)["why"]


async def test_a_workload_whose_pods_a_quota_refuses() -> None:
    scene = Scene()
    tree = workload("StatefulSet", replicas=2)
    put(scene, tree)
    scene.put(owned(bound(pod("w-0", "team-a"), "t4"), "StatefulSet", "w"))
    refused(scene, tree)

    (listed,) = (await lacking(scene))["workloads"]
    assert (listed["owner"], listed["state"], listed["admission"]["allowed"]) == ("StatefulSet/w", "refused", True)
    assert listed["lacks"] == (
        "1 of 2 pods run, 1 refused: ResourceQuota gpus is used up: 1 of 1 requests.nvidia.com/gpu, 1 requested"
    )
    assert listed["suggestion"] == "Free some of ResourceQuota gpus, or let an admin raise it"
    assert await why(scene, "statefulset") == await why(scene, "") == listed


async def test_what_is_left_of_a_quota_is_suggested_where_a_node_takes_it() -> None:
    scene = Scene()
    scene.node(h100_node("new", gpus=2))
    tree = workload("Job", template=pod(gpus=3))
    put(scene, tree)
    refused(scene, tree, USED_UP.format("requests.nvidia.com/gpu", 3, 0, 2))

    assert (await why(scene, "job"))["suggestion"].endswith("; or ask for nvidia.com/gpu: 2 in container main")


async def test_a_replica_set_is_told_of_as_its_deployment() -> None:
    scene = Scene()
    condition = {"type": "ReplicaFailure", "status": "True", "message": 'violates PodSecurity "restricted:latest"'}
    web = workload("Deployment", "web", replicas=1) | {"status": {"conditions": [condition]}}
    inner = owned(workload("ReplicaSet", "web-5", replicas=1), "Deployment", "web")
    put(scene, web)
    put(scene, inner)
    refused(scene, inner)

    (listed,) = (await lacking(scene))["workloads"]
    assert listed["owner"] == "Deployment/web"
    assert listed["lacks"] == '0 of 1 pods run, 1 refused: violates PodSecurity "restricted:latest"'


async def test_gpuscheds_own_refusal() -> None:
    scene = Scene()
    scene.namespace(namespace("team-a", families="hopper"))
    tree = workload("Job", template=pod(annotations={"gpusched.io/families": "turing"}))
    put(scene, tree)
    refused(scene, tree, 'admission webhook "pods.mutate.gpusched.io" denied the request: gpu-policy-family: m')

    found = await why(scene, "job")
    assert (found["admission"]["code"], found["suggestion"]) == ("gpu-policy-family", "")


@pytest.mark.parametrize(
    "tree",
    [
        workload("Job", template=pod(gpus=None)),
        workload("StatefulSet", replicas=0),
        workload("Job", namespace="team-b", suspend=True),
    ],
)
async def test_what_is_not_listed(tree: Tree) -> None:
    scene = Scene()
    put(scene, tree)
    refused(scene, tree)
    refused(scene, workload("Job", "gone"))
    refused(scene, {"kind": "Service", "metadata": {"namespace": "team-a", "name": "w"}})

    assert (await lacking(scene))["workloads"] == []


async def test_callers_see_their_namespaces_alone() -> None:
    scene = Scene()
    for team in ("team-a", "team-b", "team-c"):
        tree = workload("Job", namespace=team)
        put(scene, tree)
        refused(scene, tree)

    answer = await lacking(scene, TEAM_A)
    assert [(item["namespace"], answer["seen"]) for item in answer["workloads"]] == [("team-a", "some")]
    assert "team-c" in scene.view.namespaces()
    assert await scene.view.why(TEAM_A, "team-b", "w", "job") == Denied(
        403, "You may not list pods in namespace team-b."
    )


async def test_a_list_serves_for_a_while_and_for_everybody() -> None:
    scene = Scene()
    for scope, seconds in ((EVERYTHING, 9.0), (TEAM_A, 1.0), (EVERYTHING, 0.0)):
        await lacking(scene, scope)
        scene.clock.now += seconds
    await lacking(scene, namespace="team-a")

    assert scene.listed == ["", "", "team-a"]


async def test_a_workload_that_cannot_be_judged_does_not_end_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(lack: Shortfall, world: World) -> Why:
        return why_refused(lack, {}[lack.workload.name] if lack.workload.name == "bad" else world)

    monkeypatch.setattr("gpusched.serve.view.workloads.why_refused", failing)
    scene = Scene()
    for name in ("bad", "good"):
        tree = workload("Job", name)
        put(scene, tree)
        refused(scene, tree)

    assert [item["owner"] for item in (await lacking(scene))["workloads"]] == ["Job/good"]
    assert scene.failed == ["workloads"]


async def test_the_latest_refusals_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpusched.serve.view.workloads._MOST", 2)
    scene = Scene()
    for minute, name in ((1, "b"), (3, "c"), (2, "a")):
        tree = workload("Job", name)
        put(scene, tree)
        refused(scene, tree, minute=minute)

    assert [item["owner"] for item in (await lacking(scene))["workloads"]] == ["Job/a", "Job/c"]


async def test_a_workload_with_pods_is_answered_by_the_one_that_waits() -> None:
    scene = Scene()
    put(scene, workload("Job", parallelism=3, completions=3))
    scene.put(owned(bound(pod("w-a", "team-a", uid="1"), "t4"), "Job", "w"))
    for name in ("w-c", "w-b"):
        scene.put(owned(pod(name, "team-a", gpus=9, uid=name), "Job", "w"))

    found = await why(scene, "job")
    assert (found["name"], found["state"], found["owner"]) == ("w-b", "pending", "Job/w")


@pytest.mark.parametrize(
    ("tree", "state", "said"),
    [
        (workload("Deployment", replicas=0), "no-pods", "it makes no pods: replicas 0: judged as if it made one now"),
        (workload("Deployment", replicas=99), "pending", "there is no pod of it: judged as if it made one now"),
    ],
)
async def test_a_workload_without_pods(tree: Tree, state: str, said: str) -> None:
    scene = Scene()
    put(scene, tree)
    found = await why(scene, tree["kind"].lower())

    assert (found["state"], found["history"], found["node"]) == (state, "node t4 would take it", "")
    assert said in found["notes"]


async def test_a_workload_without_pods_that_would_be_refused() -> None:
    scene = Scene()
    scene.namespace(namespace("team-a", families="hopper"))
    put(scene, workload("Deployment", replicas=0, template=pod(annotations={"gpusched.io/families": "turing"})))

    found = await why(scene, "deployment")
    assert (found["state"], found["admission"]["code"]) == ("refused", "gpu-policy-family")


@pytest.mark.parametrize(("kind", "what"), [("job", "job"), ("", "pod or workload"), ("pod", "pod")])
async def test_what_is_not_there(kind: str, what: str) -> None:
    scene = Scene()
    put(scene, workload("Job", template=pod("w", "team-a", container(gpus=None))))

    said = Denied(404, f"There is no {what} team-a/w with GPUs, or it has ended.")
    assert await scene.view.why(TEAM_A, "team-a", "w", kind) == said


async def test_a_job_that_has_ended() -> None:
    """Its pods have too, and those are not followed."""
    scene = Scene()
    put(scene, workload("Job") | {"status": {"conditions": [{"type": "Complete", "status": "True"}]}})

    said = Denied(404, "There is no job team-a/w with GPUs, or it has ended.")
    assert await scene.view.why(TEAM_A, "team-a", "w", "job") == said


@pytest.mark.parametrize("kind", ["pod", "job"])
async def test_what_cannot_be_read_now_is_not_called_gone(kind: str) -> None:
    """Neither the pods beside a pod that waits, nor the object itself."""
    scene = Scene()
    scene.wait("w", "team-a", gpus=9)
    scene.silent = True

    answer = await scene.view.why(TEAM_A, "team-a", "w", kind)
    assert answer == Denied(503, "The API server did not answer, so that nothing can be said now. Try again.")


async def test_a_pod_that_is_gone_meanwhile() -> None:
    scene = Scene()
    scene.wait("w", "team-a", gpus=9)
    scene.trees.clear()

    answer = await scene.view.why(TEAM_A, "team-a", "w")
    assert isinstance(answer, Denied)
    assert answer.status == 404


async def test_events_that_may_not_be_listed() -> None:
    scene = Scene()
    put(scene, workload("Job"))
    scene.events = None

    answer = await lacking(scene)
    told = "Workloads whose pods are refused are not known: the API server did not list events."
    assert (answer["workloads"], answer["notes"]) == ([], [told])
    answer = await scene.view.why(TEAM_A, "team-a", "w", "job")
    assert isinstance(answer, Denied)
    assert answer.status == 503
