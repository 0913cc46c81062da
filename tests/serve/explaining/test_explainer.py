"""Explanations beside the decisions: one at a time, the same for everybody, whatever becomes of those who asked."""

import asyncio
import threading
from typing import Any

import msgspec
import pytest

from gpusched.serve.explaining import explainer
from gpusched.serve.explaining.explainer import Explained, likeness
from gpusched.serve.telling.refusal import refusal
from gpusched.serve.view.access import EVERYTHING, Scope
from gpusched.simulate.manifest import Manifest
from gpusched.simulate.reasons.why import Why
from gpusched.simulate.world import World
from tests.build import Tree, h100_node, namespace, t4_node
from tests.fakes.timing import eventually
from tests.serve.explaining.scene import asking, busy, fail_for
from tests.serve.view.scene import Scene

pytestmark = pytest.mark.anyio


async def explained(scene: Scene, name: str) -> Explained:
    pod = next(record.pod for record in scene.cluster.pods.values() if record.pod.name == name)
    found = await scene.explainer.explain(pod)
    assert found is not None
    return found


async def test_a_thread_that_nobody_waits_for_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    scene.wait("one", "team-a", gpus=2)
    scene.wait("other", "team-a", gpus=3)
    begun, go_on = threading.Event(), threading.Event()
    at_work: list[int] = []
    as_it_is = explainer.why_standing

    def slow(manifest: Manifest, world: World) -> Why:
        at_work.append(1)
        assert len(at_work) == 1
        begun.set()
        assert go_on.wait(30)
        answer = as_it_is(manifest, world)
        at_work.pop()
        return answer

    monkeypatch.setattr(explainer, "why_standing", slow)
    gone = asyncio.create_task(scene.view.why(EVERYTHING, "team-a", "one"))
    assert await asyncio.to_thread(begun.wait, 30)
    gone.cancel()
    await asyncio.wait({gone})
    later = asyncio.create_task(scene.view.why(EVERYTHING, "team-a", "other"))
    await eventually(lambda: scene.fetched == ["team-a/one", "team-a/other"])
    go_on.set()

    answer: Any = msgspec.json.decode(await later or b"")
    assert answer["why"]["name"] == "other"


async def test_a_fault_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    scene.lose("t4")
    scene.wait("mine", "team-a", gpus=2)
    with monkeypatch.context() as patched:
        fail_for(patched, "mine")
        with pytest.raises(KeyError):
            await scene.view.why(EVERYTHING, "team-a", "mine")

    assert (await explained(scene, "mine")).why.view.unschedulable is not None


async def test_a_list_does_not_wait_for_an_explanation_of_somebody_else() -> None:
    scene = Scene()
    scene.wait("mine", "team-a", gpus=2)

    async with scene.explainer._turn:
        answer = msgspec.json.decode(await scene.view.pods(EVERYTHING))

    assert [pod["why"] for pod in answer["pods"]] == [None]


async def test_what_stands_still_is_looked_at_again_after_a_while() -> None:
    """Pods without a GPU may have come and gone, of which nobody tells."""
    scene = Scene()
    scene.wait("mine", "team-a", gpus=5)
    for seconds, times in ((0.0, 1), (119.0, 1), (1.0, 2)):
        scene.clock.now += seconds
        await explained(scene, "mine")
        assert len(scene.fetched) == times


@pytest.mark.parametrize(
    "asked",
    [
        {"gpus": 2, "annotations": {"gpusched.io/families": "hopper"}},
        {"annotations": {"gpusched.io/gpu-memory": "14Gi", "gpusched.io/families": "turing"}},
        {"nodeSelector": {"disk": "nvme"}},
        {"gpus": 8, "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]},
    ],
)
async def test_an_event_and_the_page_say_the_same(asked: Tree) -> None:
    """The page as a tenant sees it, and on a cluster of which only a part is looked at closely."""
    scene = Scene()
    for number in range(40):
        scene.node(t4_node(f"t4-{number:02}", gpus=1, unschedulable=True))
    scene.wait("mine", "team-a", **asked)

    tenant = Scope(namespaces=frozenset({"team-a"}))
    why = msgspec.json.decode(await scene.view.why(tenant, "team-a", "mine") or b"")["why"]
    text = refusal((await explained(scene, "mine")).discreet)

    reasons = ", ".join(f"{item['nodes']} {item['code']} ({item['message']})" for item in why["reasons"])
    assert text is not None
    told, _, rest = text.partition(". ")
    assert told == f"0 of 42 nodes take it: {reasons}"
    caveats = "; ".join(note for note in why["notes"] if "not modelled" in note)
    assert rest == why["suggestion"] + (f" ({caveats})" if caveats else "")
    assert scene.fetched == ["team-a/mine"]


async def test_more_nodes_with_free_gpus_than_are_looked_at() -> None:
    """Their processors may all be taken as those of the nearest are, or not: no event says that no node takes it."""
    scene = Scene()
    scene.lose("t4")
    for number in range(30):
        scene.node(h100_node(f"new-{number:02}", gpus=2))
        scene.others.append(busy(f"new-{number:02}", "63"))
    scene.wait("mine", "team-a", gpus=2)
    asking(scene.trees["team-a", "mine"], "8")

    found = await explained(scene, "mine")

    assert found.why.history == "6 more nodes have GPUs for it; what else they lack was not looked at"
    assert refusal(found.why) is None


async def test_a_place_in_the_quota_line() -> None:
    scene = Scene()
    scene.namespace(namespace("team-a", quota="*=1"))
    gate = [{"name": "gpusched.io/quota"}]
    scene.wait("first", "team-a", schedulingGates=gate)
    scene.wait("second", "team-a", schedulingGates=gate)
    scene.wait("never", "team-a", gpus=2, schedulingGates=gate)

    line = "place {} in the line of namespace team-a; slots held by nb"
    assert (await explained(scene, "first")).why.line == line.format(1)
    assert (await explained(scene, "second")).discreet.line == line.format(2)
    assert "asks for 2 GPUs of a quota of *=1" in (await explained(scene, "never")).why.line


async def test_a_pod_on_its_node() -> None:
    why = (await explained(Scene(), "train")).why

    assert why.view.placement is not None
    assert (why.view.placement.node, why.demand) == ("h100", "2 nvidia.com/gpu")
    assert why.history.startswith("gpusched bound it to h100")


async def test_pods_of_one_template_are_alike() -> None:
    scene = Scene()
    for name in ("web-0", "web-1"):
        scene.wait(name, "team-a", labels={"statefulset.kubernetes.io/pod-name": name})
    scene.wait("other", "team-b")
    web_0, web_1, other = (record.pod for record in scene.cluster.pods.values() if not record.pod.spec.node_name)

    assert likeness(web_0) == likeness(web_1)
    assert likeness(web_0) != likeness(other)
    assert likeness(web_0) != likeness(msgspec.structs.replace(web_0, claims=("data-web-0",)))
    assert likeness(web_0) != likeness(msgspec.structs.replace(web_0, deleting=True))


async def test_a_pod_that_has_a_node_by_now_says_nothing_of_those_that_wait() -> None:
    scene = Scene()
    for name in ("placed", "waits"):
        scene.wait(name, "team-a", gpus=2)
    tree = scene.trees["team-a", "placed"]
    scene.trees["team-a", "placed"] = {**tree, "spec": tree["spec"] | {"nodeName": "h100"}}

    assert (await explained(scene, "placed")).why.view.placement is not None
    assert (await explained(scene, "waits")).why.view.placement is None


async def test_a_pod_that_waits_for_a_misspelt_gpu_is_explained() -> None:
    scene = Scene()
    scene.wait("slip", "team-a", gpus=1, resource="nvidia.com/gpus")
    found = await explained(scene, "slip")

    assert found.why.view.unschedulable is not None
    assert found.why.view.unschedulable.suggestion == "Ask for nvidia.com/gpu: 1 instead of nvidia.com/gpus"


async def test_a_list_explains_for_a_while_and_rests_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    for gpus in range(2, 7):
        scene.wait(f"asks-{gpus}", "team-a", gpus=gpus)
    pods = [record.pod for record in scene.cluster.pods.values() if record.pod.name.startswith("asks-")]
    as_it_is = explainer.why_standing

    def slow(manifest: Manifest, world: World) -> Why:
        scene.clock.now += 0.25
        return as_it_is(manifest, world)

    monkeypatch.setattr(explainer, "why_standing", slow)

    await scene.explainer.explain_some(pods, 0.5)
    assert len(scene.fetched) == 2
    scene.clock.now += 0.25
    await scene.explainer.explain_some(pods, 0.5)
    assert len(scene.fetched) == 2
    scene.clock.now += 0.5
    await scene.explainer.explain_some(pods, 0.5)
    assert len(scene.fetched) == 4
