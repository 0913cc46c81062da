"""Answers are kept for the very call, while the state is of the generation in which they were given."""

import json

import pytest

from gpusched.state.cluster import Cluster
from gpusched.state.events import Gone, Kind
from gpusched.wire import answers
from gpusched.wire.answers import answer_filter, answer_prioritize
from gpusched.wire.decision import Decision
from gpusched.wire.kept_answers import KeptAnswer, KeptAnswers
from tests.build import Tree, namespace, node, pod, t4_node
from tests.placement.scene import ask, cluster_of, promise, running, see

FIRST = KeptAnswer(b"first", Decision("filter", uid="1"))
SECOND = KeptAnswer(b"second", Decision("filter", uid="2"))


def test_what_was_put_is_had_until_the_generation_changes() -> None:
    kept = KeptAnswers()
    assert kept.get(b"call", 1) is None
    kept.put(b"call", FIRST)
    assert kept.get(b"call", 1) is FIRST
    assert kept.get(b"other", 1) is None
    assert kept.get(b"call", 2) is None
    assert kept.get(b"call", 1) is None


def test_calls_that_begin_alike_are_told_apart() -> None:
    kept = KeptAnswers()
    one, other = (b"x" * 5000 + end for end in (b"1", b"2"))
    kept.get(one, 1)
    kept.put(one, FIRST)
    assert (kept.get(one, 1), kept.get(other, 1)) == (FIRST, None)
    kept.put(other, SECOND)
    assert (kept.get(one, 1), kept.get(other, 1)) == (None, SECOND)


def test_beyond_the_limit_the_memory_starts_anew() -> None:
    kept = KeptAnswers(limit=20)
    kept.get(b"a", 1)
    kept.put(b"a", FIRST)
    kept.put(b"bb", SECOND)
    assert (kept.get(b"a", 1), kept.get(b"bb", 1)) == (FIRST, SECOND)

    kept.put(b"ccc", FIRST)
    assert (kept.get(b"a", 1), kept.get(b"ccc", 1)) == (None, FIRST)

    kept.put(b"x" * 20, SECOND)
    assert (kept.get(b"x" * 20, 1), kept.get(b"ccc", 1)) == (None, FIRST)


class Filtering:
    """Asks the same again and again, and counts how often the answer was really found."""

    def __init__(self, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cluster = cluster
        self.found = 0
        self.decisions: list[Decision] = []
        self._kept = KeptAnswers()
        self._call = json.dumps({"Pod": pod(), "NodeNames": ["t4", "other"]}).encode()
        find = answers.filter_nodes

        def counted(*args: object) -> object:
            self.found += 1
            return find(*args)

        monkeypatch.setattr(answers, "filter_nodes", counted)

    def ask(self) -> int:
        answer_filter(self._call, self.cluster, observe=self.decisions.append, kept=self._kept)
        return self.found


@pytest.fixture
def filtering(monkeypatch: pytest.MonkeyPatch) -> Filtering:
    return Filtering(cluster_of(t4_node("t4"), namespace()), monkeypatch)


def test_a_call_that_comes_again_is_answered_once_and_told_each_time(filtering: Filtering) -> None:
    assert [filtering.ask() for _ in range(3)] == [1, 1, 1]
    assert len(filtering.decisions) == 3
    assert len(set(filtering.decisions)) == 1


@pytest.mark.parametrize("change", [t4_node("other"), namespace(families="hopper"), running("r", "t4"), pod("waits")])
def test_what_decisions_depend_on_has_them_found_anew(filtering: Filtering, change: Tree) -> None:
    filtering.ask()
    see(filtering.cluster, change)
    assert filtering.ask() == 2


def test_promises_and_what_becomes_of_them_have_answers_found_anew(filtering: Filtering) -> None:
    filtering.ask()
    promise(filtering.cluster, "t4", ask(filtering.cluster, pod("other")))
    assert filtering.ask() == 2
    filtering.cluster.release(ask(filtering.cluster, pod("other")).uid)
    assert filtering.ask() == 3


def test_pods_without_gpus_change_nothing(filtering: Filtering) -> None:
    filtering.ask()
    see(filtering.cluster, pod("cpu", gpus=None))
    filtering.cluster.apply(Gone(Kind.POD, "team-a/cpu"))
    assert filtering.ask() == 1


def test_names_that_json_escapes_are_answered_too() -> None:
    odd = 'n"\\\n1'
    cluster = cluster_of(t4_node("t4"), node(odd, gpus=None))
    call = json.dumps({"Pod": pod(), "NodeNames": [odd, "t4"]}).encode()
    answer = json.loads(answer_filter(call, cluster))
    assert {entry["Host"] for entry in json.loads(answer_prioritize(call, cluster))} == {odd, "t4"}
    assert answer["NodeNames"] == ["t4"]
    assert answer["FailedAndUnresolvableNodes"] == {odd: "node does not offer the GPU resource"}
