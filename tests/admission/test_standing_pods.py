"""What is told of running pods when the policy of their namespace is written."""

import pytest

from gpusched.admission import standing_pods
from gpusched.admission.judge_namespace import Written
from gpusched.admission.standing_pods import judge_namespace_with_pods
from gpusched.state.cluster import Cluster
from tests.admission.judging import lines
from tests.build import Tree, bound, container, h100_node, namespace, pod, t4_node
from tests.placement.scene import cluster_of, own, running

NODES = (t4_node("t4", gpus=8), h100_node("h100"))
STAY = "they stay, but will not return after a drain."
MOVE = "they stay; after a drain they go to other nodes."


def written(**policy: str) -> Written:
    return Written(namespace(**policy)["metadata"]["annotations"])


def told(cluster: Cluster, new: Written, old: Written | None = None) -> list[str]:
    refused, warned = lines(judge_namespace_with_pods("team-a", new, old or Written(), cluster))
    assert refused == []
    return warned


def asking(name: str, node: str = "t4", **annotations: str) -> Tree:
    return running(name, node, annotations=own(**annotations))


TURING = [asking(name, families="turing") for name in ("b", "a", "c")]
LONG = [asking("x" * 60 + str(number), families="turing") for number in range(2)]
PLAIN = [running(name, "t4") for name in ("a", "b")]


@pytest.mark.parametrize(
    ("pods", "policy", "warning"),
    [
        (TURING, {"families": "hopper"}, f"gpu-policy-family: 3 running pods violate it (a, b, c); {STAY}"),
        (
            TURING[:1],
            {"families": "hopper"},
            "gpu-policy-family: 1 running pod violates it (b); it stays, but will not return after a drain.",
        ),
        (
            [*TURING, asking("d", families="turing")],
            {"families": "hopper"},
            f"gpu-policy-family: 4 running pods violate it (a, b, c and 1 more); {STAY}",
        ),
        (PLAIN, {"families": "hopper"}, f"gpu-policy-family: 2 running pods violate it (a, b); {MOVE}"),
        (
            PLAIN[:1],
            {"families": "hopper"},
            "gpu-policy-family: 1 running pod violates it (a); it stays; after a drain it goes to other nodes.",
        ),
        (
            [*PLAIN, *TURING[2:]],
            {"families": "hopper"},
            "gpu-policy-family: 3 running pods violate it (c, a, b); they stay, but 1 will not return after a drain.",
        ),
        (PLAIN, {"families": "ampere"}, f"gpu-policy-family: 2 running pods violate it (a, b); {STAY}"),
        (PLAIN, {"min_gpu_memory": "40Gi"}, f"gpu-policy-memory: 2 running pods violate it (a, b); {MOVE}"),
        (PLAIN, {"node_selector": "disk=ssd"}, f"gpu-no-node: 2 running pods violate it (a, b); {STAY}"),
        (
            [running("big", "h100", gpus=4)],
            {"max_gpus_per_pod": "2"},
            "gpu-policy-max-gpus: 1 running pod violates it (big); it stays, but will not return after a drain.",
        ),
        (
            LONG,
            {"families": "hopper"},
            f"gpu-policy-family: 2 running pods violate it ({'x' * 60}0 and 1 more); {STAY}",
        ),
    ],
)
def test_pods_that_violate_a_new_policy_are_counted_and_named(
    pods: list[Tree], policy: dict[str, str], warning: str
) -> None:
    assert told(cluster_of(*NODES, *pods), written(**policy)) == [warning]
    assert len(warning) <= 200


@pytest.mark.parametrize(
    ("pods", "policy"),
    [
        ([], {"families": "hopper"}),
        (PLAIN, {"families": "turing"}),
        (PLAIN, {"families": "hopper", "mode": "warn"}),
        (PLAIN, {"families": "hopper", "mode": "enforce,family=audit"}),
        (PLAIN, {"quota": "*=2, turing=2"}),
        (PLAIN, {"quota": "*=1", "mode": "enforce,quota=warn"}),
        (PLAIN, {"quota": "hopper=1"}),
        (PLAIN, {"placement": "spread"}),
        ([running("elsewhere", "t4", namespace="team-b")], {"families": "hopper"}),
        ([pod("waits")], {"families": "hopper"}),
        ([bound(pod("done"), "t4", phase="Succeeded")], {"families": "hopper"}),
        ([bound(pod("cpu", gpus=None), "t4")], {"families": "hopper"}),
        ([bound(pod("static", annotations={"kubernetes.io/config.mirror": "x"}), "t4")], {"families": "hopper"}),
        ([running("lost", "gone")], {"families": "turing"}),
    ],
)
def test_nothing_is_said_where_nothing_changes_for_pods(pods: list[Tree], policy: dict[str, str]) -> None:
    assert told(cluster_of(*NODES, *pods), written(**policy)) == []


@pytest.mark.parametrize(
    ("policy", "exceeded"),
    [
        ({"quota": "turing=1"}, "2 of turing=1"),
        ({"quota": "turing=1, *=0"}, "2 of *=0, 2 of turing=1"),
        ({"quota_gpu_memory": "20Gi"}, "30Gi of 20Gi"),
    ],
)
def test_a_quota_below_what_is_in_use(policy: dict[str, str], exceeded: str) -> None:
    cluster = cluster_of(*NODES, *PLAIN, pod("waits"))
    new = written(**policy)

    assert told(cluster, new) == [f"quota: {exceeded} in use; running pods stay, new ones wait."]
    assert told(cluster, new, new) == []
    raised = Written(new.annotations | {"gpusched.io/placement": "spread"})
    assert told(cluster, raised, new) == []


def test_a_quota_and_a_rule_at_once() -> None:
    found = told(cluster_of(*NODES, *PLAIN), written(families="hopper", quota="*=1"))

    assert [line.partition(":")[0] for line in found] == ["quota", "gpu-policy-family"]


def test_a_write_that_leaves_policy_as_it_is_says_nothing() -> None:
    cluster = cluster_of(*NODES, *PLAIN)
    same = written(families="hopper")
    respelt = Written(same.annotations | {"other/key": "x"}, {"team": "a"})

    assert told(cluster, same, same) == []
    assert told(cluster, respelt, same) == []
    assert len(told(cluster, written(families="hopper, ampere"), same)) == 1


def test_refused_exempt_and_ending_namespaces_are_told_nothing_of_pods() -> None:
    cluster = cluster_of(*NODES, *PLAIN)
    hopper = written(families="hopper")
    exempt = Written(hopper.annotations, {"gpusched.io/exempt": "true"})
    bad = Written(hopper.annotations | {"gpusched.io/quota": "?"})

    assert told(cluster, exempt) == []
    assert judge_namespace_with_pods("team-a", bad, None, cluster).warnings == ()
    assert judge_namespace_with_pods("team-a", hopper, None, cluster, deleting=True).warnings == ()


def test_affinity_of_the_policy_before_is_not_taken_for_the_users() -> None:
    """The pod asked for nothing; that it must run on Turing was lowered from the policy that goes now."""
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "gpusched.io/family", "operator": "In", "values": ["turing"]}]}
                ]
            }
        }
    }
    lowered = running(
        "p", "t4", annotations={"status.gpusched.io/lowered": "families=turing (namespace team-a)"}, affinity=affinity
    )
    users = running("q", "t4", affinity=affinity)
    (warning,) = told(cluster_of(*NODES, lowered, users), written(families="hopper"), written(families="turing"))

    assert warning == (
        "gpu-policy-family: 2 running pods violate it (q, p); they stay, but 1 will not return after a drain."
    )


def test_only_so_many_kinds_of_pods_are_judged() -> None:
    pods = [running(f"p{number:03}", "t4", annotations={"gpusched.io/x": str(number)}) for number in range(210)]
    (warning,) = told(cluster_of(t4_node("t4", gpus=300), *pods), written(families="hopper"))

    assert warning.startswith("gpu-policy-family: at least 200 running pods violate it (p000, p001, p002 and 197 more)")


def test_many_pods_that_are_alike_are_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[str] = []
    real = standing_pods.judge_pod
    monkeypatch.setattr(standing_pods, "judge_pod", lambda pod, *rest: judged.append(pod.name) or real(pod, *rest))
    pods = [bound(pod(f"p{number}", "team-a", container(gpus=1)), "t4") for number in range(300)]
    (warning,) = told(cluster_of(t4_node("t4", gpus=300), h100_node(), *pods), written(families="hopper"))

    assert warning.startswith("gpu-policy-family: 300 running pods violate it ")
    assert len(judged) == 1
