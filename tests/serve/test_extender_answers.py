"""The answers of the extender, with what is told and remembered of them."""

import io
import json
from typing import Any

import pytest

from gpusched.obs.decisions import DecisionLog
from gpusched.obs.logging import configure
from gpusched.obs.metrics import Metrics
from gpusched.policy.model import Config
from gpusched.serve.extender_answers import extender_answers
from gpusched.serve.extender_app import ExtenderAnswers
from gpusched.serve.overtaken import Overtaken
from gpusched.state.cluster import Cluster
from tests.build import h100_node, pod, t4_node
from tests.placement.scene import cluster_of, running, see


class Asked:
    """The answers on a cluster, the log they write, and the pods that are woken."""

    def __init__(self, config: Config | None = None) -> None:
        self.cluster: Cluster = cluster_of(t4_node("t4"), h100_node("h100"), config=config)
        self.output = io.StringIO()
        self.woken: list[set[str]] = []
        self.overtaken = Overtaken(lambda keys: self.woken.append(set(keys)), lambda: 0.0)
        log = DecisionLog(configure(stream=self.output), Metrics(), lambda: 0.0)
        self.answers: ExtenderAnswers = extender_answers(self.cluster, log, self.overtaken, _bind)

    def filter(self, gpus: int = 1, uid: str = "u") -> Any:
        tree = pod(gpus=gpus)
        tree["metadata"]["uid"] = uid
        return json.loads(self.answers.filter(json.dumps({"Pod": tree, "NodeNames": ["h100", "t4"]}).encode()))

    @property
    def told(self) -> list[str]:
        return [json.loads(line)["code"] for line in self.output.getvalue().splitlines()]


async def _bind(_: bytes) -> bytes:
    return b""


def test_an_answer_that_was_kept_is_told_like_any_other() -> None:
    asked = Asked()
    assert asked.filter(99) == asked.filter(99)
    assert asked.told == ["free-replicas", "free-replicas"]


def test_a_state_that_changed_is_answered_anew() -> None:
    asked = Asked()
    assert asked.filter()["NodeNames"] == ["h100", "t4"]
    see(asked.cluster, running("r", "t4"))
    assert asked.filter()["NodeNames"] == ["h100"]


def test_the_same_call_is_a_retry_and_has_all_nodes() -> None:
    asked = Asked(Config(candidates=1))
    assert [asked.filter()["NodeNames"] for _ in range(3)] == [["t4"], ["h100", "t4"], ["h100", "t4"]]


@pytest.mark.anyio
async def test_pods_refused_by_what_was_kept_are_remembered_as_refused() -> None:
    asked = Asked()
    asked.filter(99, "a")
    asked.filter(99, "b")
    asked.overtaken.made_room()
    asked.filter(99, "a")
    asked.overtaken.settle()
    assert asked.woken == [{"b"}]
