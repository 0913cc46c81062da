"""The JSON of the administration port, for callers of different rights."""

import asyncio
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from gpusched.serve.view import answers
from gpusched.serve.view.access import EVERYTHING, Denied, Scope
from gpusched.wire.decision import Decision
from tests.build import h100_node, t4_node
from tests.serve.explaining.scene import asking, busy, fail_for
from tests.serve.view.scene import Scene

pytestmark = pytest.mark.anyio

TEAM_A = Scope(nodes=True, namespaces=frozenset({"team-a"}))


async def nodes(scene: Scene, scope: Scope = EVERYTHING, since: int | None = None, instance: str | None = None) -> Any:
    name = scene.view.instance if instance is None else instance
    return msgspec.json.decode(await scene.view.nodes(scope, since, name))


async def test_nodes_with_their_pools_and_holders() -> None:
    answer = await nodes(Scene())

    assert (answer["complete"], answer["gone"]) == (True, [])
    h100, t4 = answer["nodes"]
    assert (h100["name"], h100["state"], h100["notes"]) == ("h100", "ready", [])
    assert h100["pools"][0]["holders"] == [{"slots": 2, "namespace": "team-b", "name": "train"}]
    (pool,) = t4["pools"]
    assert {key: pool[key] for key in ("family", "sharing", "slots", "used", "devices", "replicas", "claimed_mib")} == {
        "family": "turing",
        "sharing": "time-slicing",
        "slots": 4,
        "used": 1,
        "devices": 1,
        "replicas": 4,
        "claimed_mib": 3072,
    }
    assert pool["holders"] == [{"slots": 1, "namespace": "team-a", "name": "nb", "claim_mib": 3072}]


async def test_pods_of_others_have_no_names() -> None:
    answer = await nodes(Scene(), TEAM_A)

    h100, t4 = answer["nodes"]
    assert h100["pools"][0]["holders"] == [{"slots": 2}]
    assert h100["pools"][0]["used"] == 2
    assert t4["pools"][0]["holders"][0]["name"] == "nb"
    assert "train" not in msgspec.json.encode(answer).decode()


async def test_callers_do_not_get_each_others_answers() -> None:
    scene = Scene()

    for _ in range(2):
        assert (await nodes(scene, EVERYTHING))["nodes"][0]["pools"][0]["holders"][0]["name"] == "train"
        assert (await nodes(scene, TEAM_A))["nodes"][0]["pools"][0]["holders"] == [{"slots": 2}]


async def test_totals_tell_free_slots_from_closed_ones() -> None:
    scene = Scene()
    scene.node(h100_node("h100-2", gpus=4, unschedulable=True))

    hopper, turing = (await nodes(scene))["totals"]

    assert hopper == {
        "family": "hopper",
        "title": "Hopper",
        "nodes": 2,
        "devices": 6,
        "slots": 6,
        "used": 2,
        "free": 0,
        "closed": 4,
        "memory_mib": 6 * 81559,
        "claimed_mib": 0,
    }
    assert (turing["slots"], turing["free"], turing["claimed_mib"]) == (4, 3, 3072)


async def test_only_what_changed_is_sent_again() -> None:
    scene = Scene()
    first = await nodes(scene)
    unchanged = await nodes(scene, since=first["generation"])
    assert (unchanged["complete"], unchanged["nodes"]) == (False, [])

    scene.hold("nb-2", "team-b", "t4")
    scene.lose("h100")
    second = await nodes(scene, since=first["generation"])
    assert [node["name"] for node in second["nodes"]] == ["t4"]
    assert second["gone"] == ["h100"]
    assert second["totals"][0]["family"] == "turing"


@pytest.mark.parametrize("since", [None, 10**9, -5])
async def test_everything_is_sent_to_who_has_nothing_of_use(since: int | None) -> None:
    scene = Scene()

    assert (await nodes(scene, since=since))["complete"]
    generation = (await nodes(scene))["generation"]
    assert (await nodes(scene, since=generation, instance="of another run"))["complete"]


async def test_a_waiting_pod_with_its_reasons_and_the_smallest_change() -> None:
    scene = Scene()
    scene.wait(
        "big", "team-a", gpus=1, annotations={"gpusched.io/gpu-memory": "14Gi", "gpusched.io/families": "turing"}
    )

    answer = msgspec.json.decode(await scene.view.pods(EVERYTHING))

    (pod,) = answer["pods"]
    assert (answer["total"], pod["state"], pod["resources"], pod["claim_mib"]) == (
        1,
        "pending",
        {"nvidia.com/gpu": 1},
        14336,
    )
    assert pod["why"]["suggestion"] == "Wait: pod team-a/nb on t4 holds it"
    assert [(item["code"], item["nodes"]) for item in pod["why"]["reasons"]] == [
        ("memory-claim", 1),
        ("native-resources", 1),
    ]
    assert answer["notes"] == []


async def test_pods_without_a_gpu_are_known_on_the_nodes_that_come_near() -> None:
    scene = Scene()
    scene.lose("h100")
    scene.others.append(busy("t4", "60"))
    scene.wait("mine", "team-a")
    asking(scene.trees["team-a", "mine"], "8")

    why = msgspec.json.decode(await scene.view.why(EVERYTHING, "team-a", "mine") or b"")["why"]

    assert why["reasons"] == [
        {"code": "native-resources", "message": "not enough cpu: asks for 8, 4 of 64 free", "nodes": 1, "example": "t4"}
    ]
    assert why["suggestion"] == "Wait: pod team-a/web-t4 on t4 holds it; or ask for cpu: 4 in container main"


async def test_one_kind_of_pod_that_cannot_be_explained_does_not_end_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    for name in ("bad-1", "bad-2"):
        scene.wait(name, "team-a", gpus=7)
    scene.wait("good", "team-a", gpus=8)
    fail_for(monkeypatch, "bad-1")

    for _ in range(2):
        answer = msgspec.json.decode(await scene.view.pods(EVERYTHING))
        told = {pod["name"]: pod["why"] and pod["why"]["suggestion"] for pod in answer["pods"]}
        less = "Ask for nvidia.com/gpu: 1 in container main (shared slots of t4, 3.8Gi each)"
        assert told == {"bad-1": None, "bad-2": None, "good": less}
    assert scene.failed == ["bad-1"]
    with pytest.raises(KeyError):
        await scene.view.why(EVERYTHING, "team-a", "bad-1")


async def test_alike_pods_are_explained_once() -> None:
    scene = Scene()
    for number in range(5):
        scene.wait(f"job-{number}", "team-a", gpus=8)

    answer = msgspec.json.decode(await scene.view.pods(EVERYTHING))

    assert [pod["why"]["name"] for pod in answer["pods"]] == [f"job-{number}" for number in range(5)]
    assert scene.fetched == ["team-a/job-0"]


async def test_explanations_do_not_name_pods_that_the_caller_may_not_read() -> None:
    scene = Scene()
    scene.lose("t4")
    scene.wait("mine", "team-a", gpus=2)
    own = Scope(nodes=True, namespaces=frozenset({"team-a"}))

    for _ in range(2):
        whole = msgspec.json.decode(await scene.view.why(EVERYTHING, "team-a", "mine") or b"")
        part = msgspec.json.decode(await scene.view.why(own, "team-a", "mine") or b"")
        assert whole["why"]["suggestion"] == "Wait: pod team-b/train on h100 holds it"
        assert part["why"]["suggestion"] == "Wait: a pod of another namespace on h100 holds it"


async def test_pods_of_other_namespaces_are_not_listed() -> None:
    scene = Scene()
    scene.wait("mine", "team-a")
    scene.wait("theirs", "team-b")

    answer = msgspec.json.decode(await scene.view.pods(TEAM_A))

    assert [(pod["namespace"], pod["name"]) for pod in answer["pods"]] == [("team-a", "mine")]
    assert answer["total"] == 1
    denied = Denied(403, "You may not list pods in namespace team-b.")
    assert await scene.view.why(TEAM_A, "team-b", "theirs") == denied


async def test_what_if_questions_leave_the_state_as_it_is() -> None:
    scene = Scene()
    scene.wait("mine", "team-a", gpus=2, annotations={"gpusched.io/families": "hopper"})
    generation = scene.cluster.generation

    await scene.view.pods(EVERYTHING)

    assert scene.cluster.generation == generation
    assert scene.cluster.nodes["h100"].use("nvidia.com/gpu").used == 2


async def test_an_explanation_serves_until_it_is_old_and_the_state_another() -> None:
    scene = Scene()
    scene.wait("mine", "team-a", gpus=2, annotations={"gpusched.io/families": "hopper"})
    await scene.view.why(EVERYTHING, "team-a", "mine")

    scene.clock.now += 60
    await scene.view.why(EVERYTHING, "team-a", "mine")
    assert len(scene.fetched) == 1

    scene.node(h100_node("h100-2", gpus=2))
    answer = msgspec.json.decode(await scene.view.why(EVERYTHING, "team-a", "mine") or b"")
    assert len(scene.fetched) == 2
    assert answer["why"]["history"].startswith("node h100-2 takes it now")


async def test_refusals_are_counted_and_filtered() -> None:
    scene = Scene()
    refused = Decision("mutate", "team-b", "j", code="gpu-claim", message="too much")
    for decision in (refused, refused, Decision("mutate", "team-a", "k", code="gpu-quantity", message="half")):
        scene.refusals.note(decision)
    scene.refusals.note(Decision("validate", "team-a", "fine", code="allowed"))
    scene.refusals.note(Decision("filter", "team-a", "p", code="family"))
    scene.refusals.note(Decision("mutate", "team-a", "tried", code="gpu-claim", message="too much", dry_run=True))

    everything = msgspec.json.decode(scene.view.refusals(EVERYTHING))["refusals"]
    assert [(item["namespace"], item["count"], item["message"]) for item in everything] == [
        ("team-a", 1, "half"),
        ("team-b", 2, "too much"),
    ]
    own = msgspec.json.decode(scene.view.refusals(TEAM_A))["refusals"]
    assert [item["namespace"] for item in own] == ["team-a"]

    scene.clock.now += 3601
    assert msgspec.json.decode(scene.view.refusals(EVERYTHING))["refusals"] == []


async def test_a_state_that_may_be_old_says_so() -> None:
    scene = Scene()
    scene.problem = "cache is 200 s old, the limit is 180 s"

    assert (await nodes(scene))["notes"][0] == "What is shown may be old: cache is 200 s old, the limit is 180 s."


async def test_a_node_that_lost_its_gpus_is_gone() -> None:
    scene = Scene()
    first = await nodes(scene)
    plain = t4_node("t4", gpus=1)
    plain["status"]["allocatable"].pop("nvidia.com/gpu")
    plain["metadata"]["labels"] = {}
    scene.node(plain)

    assert (await nodes(scene, since=first["generation"]))["gone"] == ["t4"]


async def test_nodes_that_come_and_go_do_not_fill_the_memory() -> None:
    scene = Scene()
    generation = (await nodes(scene))["generation"]
    for number in range(20):
        scene.node(h100_node(f"spot-{number}"))
        generation = (await nodes(scene, since=generation))["generation"]
        scene.lose(f"spot-{number}")

    assert (await nodes(scene, since=generation))["gone"] == ["spot-19"]
    assert scene.view._encoded[EVERYTHING].keys() == {"h100", "t4"}


async def test_a_node_that_comes_while_another_caller_waits_is_in_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    work_off = answers.work_off
    others: list[asyncio.Task[Any]] = []

    async def slowly(steps: Iterable[object]) -> None:
        await work_off(steps)
        if not others:
            scene.node(h100_node("new"))
            others.append(asyncio.create_task(nodes(scene)))
            await asyncio.sleep(0)

    monkeypatch.setattr(answers, "work_off", slowly)
    await nodes(scene)
    (other,) = others

    assert [node["name"] for node in (await other)["nodes"]] == ["h100", "new", "t4"]
