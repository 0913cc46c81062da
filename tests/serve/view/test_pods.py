"""Pods that wait."""

import msgspec
import pytest

from gpusched.serve.view.access import EVERYTHING, Scope
from tests.serve.view.scene import Scene

pytestmark = pytest.mark.anyio

OF_TEAM_A = Scope(namespaces=frozenset({"team-a"}))


async def test_waiting_pods_of_one_namespace() -> None:
    scene = Scene()
    scene.wait("a", "team-a", gpus=9)
    scene.wait("b", "team-b", gpus=9)

    answer = msgspec.json.decode(await scene.view.pods(EVERYTHING, "team-b"))
    assert (answer["total"], [pod["name"] for pod in answer["pods"]]) == (1, ["b"])


async def test_a_pod_behind_gates_of_others_names_them() -> None:
    scene = Scene()
    scene.wait("held", "team-a", schedulingGates=[{"name": "example.com/hold"}])

    (held,) = msgspec.json.decode(await scene.view.pods(EVERYTHING))["pods"]
    assert (held["state"], held["gates"]) == ("gated", ["example.com/hold"])


@pytest.mark.parametrize(("scope", "seen"), [(EVERYTHING, "all"), (OF_TEAM_A, "some"), (Scope(), "none")])
async def test_answers_say_of_how_many_namespaces_they_tell(scope: Scope, seen: str) -> None:
    view = Scene().view

    for answer in (await view.pods(scope), view.refusals(scope), await view.quota(scope)):
        assert msgspec.json.decode(answer)["seen"] == seen
