"""Answers are kept as long as nothing changed that they depend on."""

import msgspec
import pytest

from gpusched.core.cluster_facts import RuntimeClass
from gpusched.state.cluster import Cluster
from gpusched.state.events import Upsert
from gpusched.wire.decision import Decision
from tests.build import Tree, container, h100_node, namespace, pod, t4_node
from tests.placement.scene import cluster_of, running, see
from tests.webhook.watched import review
from webhook import review as reviews
from webhook.memo import LARGEST_PART, Memo
from webhook.review import Judged, answer_review


class Judging:
    """Asks with a memo, and counts how often an object was really judged."""

    def __init__(self, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cluster = cluster
        self.judged = 0
        self.decisions: list[Decision] = []
        self._memo: Memo[Judged] = Memo()
        judge = reviews._judge

        def counted(*args: object) -> object:
            self.judged += 1
            return judge(*args)

        monkeypatch.setattr(reviews, "_judge", counted)

    def ask(self, tree: Tree, uid: str = "1", *, mutating: bool = True, **request: object) -> object:
        body = msgspec.json.encode(review(tree, uid=uid, **request))
        answer = msgspec.json.decode(
            answer_review(body, self.cluster, mutating=mutating, observe=self.decisions.append, memo=self._memo)
        )["response"]
        assert answer["uid"] == uid
        assert answer == msgspec.json.decode(answer_review(body, self.cluster, mutating=mutating))["response"]
        self.judged -= 1
        return answer


@pytest.fixture
def judging(monkeypatch: pytest.MonkeyPatch) -> Judging:
    return Judging(cluster_of(t4_node(), namespace()), monkeypatch)


def test_the_same_object_is_judged_once(judging: Judging) -> None:
    for uid in ("1", "2", "3"):
        judging.ask(pod(), uid)

    assert (judging.judged, len(judging.decisions)) == (1, 3)


def test_pods_that_differ_in_what_is_not_read_are_judged_once_and_told_of_by_name(judging: Judging) -> None:
    for number in ("0", "1"):
        variables = [{"name": "RANK", "value": number}]
        tree = pod("", "team-a", container(gpus=1, env=variables, image=f"app:{number}"), labels={"index": number})
        tree["metadata"] |= {
            "name": f"train-{number}",
            "uid": f"uid-{number}",
            "annotations": {"index": number},
            "ownerReferences": [{"kind": "Job", "name": f"job-{number}", "uid": number, "controller": True}],
            "managedFields": [{"time": number}],
        }
        tree["spec"] |= {"hostname": number, "volumes": [{"name": f"kube-api-access-{number}"}]}
        judging.ask(tree, number, dryRun=number == "1")

    assert judging.judged == 1
    assert [(told.name, told.uid, told.dry_run) for told in judging.decisions] == [
        ("train-0", "uid-0", False),
        ("train-1", "uid-1", True),
    ]


def test_pods_of_which_nothing_is_said_are_alike_whatever_their_containers_are_called(judging: Judging) -> None:
    judging.cluster.apply(Upsert(RuntimeClass("nvidia")))
    first, second = (
        judging.ask(pod("p", "team-a", container(name, resources={"limits": {"nvidia.com/gpu": 1, "cpu": amount}})))
        for name, amount in (("main", "1"), ("other", "2"))
    )

    assert first == second
    assert judging.judged == 1


def test_what_is_said_of_a_pod_names_its_own_containers(judging: Judging) -> None:
    judging.cluster.apply(Upsert(RuntimeClass("nvidia")))
    pods = [pod("p", "team-a", container(name, gpus="0.5")) for name in ("main", "other")]
    answers = [judging.ask(tree) for tree in (*pods, *pods)]

    assert judging.judged == 2
    assert answers[:2] == answers[2:]
    assert ["container main" in str(answer) for answer in answers] == [True, False, True, False]
    assert ["container other" in str(answer) for answer in answers] == [False, True, False, True]


def test_what_differs_is_judged(judging: Judging) -> None:
    judging.ask(pod())
    judging.ask(pod(gpus=2))
    judging.ask(pod(), mutating=False)
    judging.ask(pod(), namespace="team-b")
    judging.ask(pod(), operation="UPDATE")
    judging.ask(pod(), subResource="status")

    assert judging.judged == 6


@pytest.mark.parametrize("change", [h100_node(), t4_node(gpus=2), namespace(families="hopper"), namespace("team-b")])
def test_a_change_of_nodes_or_policy_forgets(judging: Judging, change: Tree) -> None:
    judging.ask(pod())
    see(judging.cluster, change)
    judging.ask(pod())

    assert judging.judged == 2


def test_pods_change_nothing(judging: Judging) -> None:
    judging.ask(pod())
    see(judging.cluster, running("r", "t4"))
    judging.ask(pod())

    assert judging.judged == 1


def test_large_objects_are_not_kept(judging: Judging) -> None:
    large = pod(annotations={"gpusched.io/note": "x" * LARGEST_PART})
    judging.ask(large)
    judging.ask(large)

    assert judging.judged == 2


def test_a_full_memo_starts_anew(judging: Judging, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.memo._ANSWERS", 2)
    for gpus in (1, 2, 3, 3, 1):
        judging.ask(pod(gpus=gpus))

    assert judging.judged == 4


def test_what_a_namespace_is_told_of_pods_is_found_anew(judging: Judging) -> None:
    policy = namespace(families="hopper")
    silent = judging.ask(policy, mutating=False, operation="UPDATE", name="team-a")
    see(judging.cluster, running("r", "t4"))
    told = judging.ask(policy, mutating=False, operation="UPDATE", name="team-a")

    assert isinstance(silent, dict)
    assert isinstance(told, dict)
    assert "warnings" not in silent
    assert told["warnings"] == [
        "gpu-policy-family: 1 running pod violates it (r); it stays, but will not return after a drain."
    ]
