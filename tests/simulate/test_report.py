from typing import Any

import pytest

from gpusched.simulate.manifest import InputFault
from gpusched.simulate.report import Count, Report, report, since
from tests.build import Tree, bound, h100_node, namespace, node, pod, t4_node
from tests.simulate.scene import configured, cpu_pod, manifests, owned, workload, world_of


def reported(*dump: Tree, **config: Any) -> Report:
    """The report on a dump, which is read without faults."""
    faults: list[InputFault] = []
    found = report(manifests(dump), world_of(*dump, config=configured(**config)), faults)
    assert faults == []
    return found


def told(*dump: Tree, **config: Any) -> list[tuple[str, str, bool]]:
    """Name, code and whether it holds now."""
    return [(item.name, item.code, item.refused) for item in reported(*dump, **config).violations]


RUNNING = bound(pod("p", annotations={"gpusched.io/families": "turing"}), "t")


def test_a_dump_without_policy_has_nothing_to_report() -> None:
    found = reported(t4_node("t"), bound(pod("p"), "t"), cpu_pod("c"), workload("Deployment", "d"))

    assert found == Report(violations=(), counts=(), judged=2)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("enforce", [("p", "gpu-policy-family", True)]),
        ("warn", [("p", "gpu-policy-family", False)]),
        ("audit", [("p", "gpu-policy-family", False)]),
        ("enforce,family=warn", [("p", "gpu-policy-family", False)]),
        ("enforce,family=off", []),
        ("off", []),
    ],
)
def test_the_mode_says_whether_it_holds_now(mode: str, expected: list[tuple[str, str, bool]]) -> None:
    dump = [t4_node("t"), h100_node("h"), namespace(families="hopper", mode=mode), RUNNING]

    assert told(*dump) == expected


def test_what_gpusched_wrote_on_a_pod_is_not_held_against_it() -> None:
    lowered = bound(pod("p"), "t")
    lowered["metadata"]["annotations"]["status.gpusched.io/lowered"] = "families=turing (namespace team-a)"

    assert told(t4_node("t"), namespace(families="turing"), lowered) == []


def test_the_node_a_pod_got_is_no_preset_node() -> None:
    assert told(t4_node("t"), namespace(families="turing"), bound(pod("p"), "t")) == []


def test_finished_and_exempt_pods_are_not_judged() -> None:
    done = bound(pod("done", gpus=9), "t", phase="Failed")
    exempt = bound(pod("operator", "kube-system", annotations={"gpusched.io/families": "hopper"}), "t")

    assert reported(t4_node("t"), namespace(families="turing"), done, exempt).judged == 0


def test_workloads_are_judged_once_and_their_pods_with_them() -> None:
    template = pod(annotations={"gpusched.io/families": "turing"})
    pods = [
        owned(bound(pod(f"d-{name}", annotations={"gpusched.io/families": "turing"}), "t"), "ReplicaSet", "d-5")
        for name in "ab"
    ]
    replica_set = owned(workload("ReplicaSet", "d-5", replicas=2, template=template), "Deployment", "d")
    dump = [t4_node("t", gpus=4), h100_node("h"), namespace(families="hopper")]

    assert told(*dump, workload("Deployment", "d", replicas=2, template=template), replica_set, *pods) == [
        ("d", "gpu-policy-family", True)
    ]
    found = reported(*dump, *pods)
    assert [(item.name, item.owner, item.node) for item in found.violations] == [
        ("d-a", "ReplicaSet/d-5", "t"),
        ("d-b", "ReplicaSet/d-5", "t"),
    ]


def test_counts_are_per_namespace_and_code() -> None:
    other = bound(pod("q", "team-b", annotations={"gpusched.io/families": "turing"}), "t")
    dump = [
        t4_node("t", gpus=2),
        h100_node("h"),
        namespace("team-a", families="hopper"),
        namespace("team-b", families="hopper", mode="warn"),
        RUNNING,
        other,
    ]

    assert reported(*dump).counts == (
        Count("team-a", "gpu-policy-family", 1, 1),
        Count("team-b", "gpu-policy-family", 1, 0),
    )


def test_a_pod_no_node_could_ever_serve_is_reported() -> None:
    dump = [t4_node("t"), namespace(min_gpu_memory="40Gi"), bound(pod("p"), "t")]

    assert told(*dump) == [("p", "gpu-policy-memory", True)]
    assert told(*dump[:1], namespace(min_gpu_memory="40Gi", mode="warn"), *dump[2:]) == [
        ("p", "gpu-policy-memory", False)
    ]
    assert told(*dump[:2], workload("Deployment", "d")) == [("d", "gpu-no-node", True)]


def test_a_pod_whose_only_other_nodes_are_full_would_not_come_back() -> None:
    dump = [
        t4_node("t"),
        h100_node("h", gpus=1),
        bound(pod("p"), "t"),
        bound(pod("other", "team-b"), "h"),
    ]
    (found,) = reported(*dump, namespace(families="hopper")).violations
    assert (found.name, found.node, found.code, found.refused) == ("p", "t", "gpu-policy-family", True)
    assert found.message == (
        "would not come back after a restart: team-a allows hopper; here: turing (1 node); not enough"
        " nvidia.com/gpu: asks for 1, none free (1 node)"
    )

    (found,) = reported(*dump, namespace(families="hopper", mode="warn")).violations
    assert not found.refused
    assert told(*dump) == []


@pytest.mark.parametrize(
    ("extra", "code"),
    [
        ({"unschedulable": True}, "native-unschedulable"),
        ({"taints": [{"key": "drain", "effect": "NoExecute"}]}, "native-taint"),
    ],
)
def test_a_node_that_takes_nobody_new_does_not_take_its_pods_back(extra: dict[str, Any], code: str) -> None:
    assert told(t4_node("t", **extra), bound(pod("p"), "t")) == [("p", code, True)]


def test_pods_without_gpus_and_of_daemonsets_are_let_be() -> None:
    agent = owned(bound(pod("agent"), "t"), "DaemonSet", "agent")

    assert told(t4_node("t", unschedulable=True), bound(cpu_pod("c"), "t"), agent) == []


def test_the_pods_own_place_is_free_for_it() -> None:
    dump = [node("n", gpus=1), bound(pod("p"), "n"), namespace(quota="*=1")]

    assert told(*dump) == []


def test_the_configurations_policy_counts_too() -> None:
    dump = [t4_node("t"), h100_node("h"), bound(pod("p", gpus=3), "h")]

    assert told(*dump, ceiling={"max-gpus-per-pod": 2}) == [("p", "gpu-policy-max-gpus", False)]
    assert told(*dump, ceiling={"max-gpus-per-pod": 2, "mode": "enforce"}) == [("p", "gpu-policy-max-gpus", True)]


def test_what_was_so_before_a_proposal_stands_last_and_is_marked() -> None:
    def of(**policy: str) -> Report:
        return reported(t4_node("t", gpus=2), h100_node("h"), namespace(**policy), RUNNING, workload("Job", "j"), big)

    big = bound(pod("big", gpus=4), "h")
    before, after = of(max_gpus_per_pod="2"), of(max_gpus_per_pod="2", families="hopper")
    found = since(after, before)

    assert [(item.name, item.code, item.already) for item in found.violations] == [
        ("p", "gpu-policy-family", False),
        ("big", "gpu-policy-max-gpus", True),
    ]
    assert found.counts == (
        Count("team-a", "gpu-policy-family", 1, 1, 0),
        Count("team-a", "gpu-policy-max-gpus", 1, 1, 1),
    )
    warned = of(max_gpus_per_pod="2", mode="warn")
    assert [item.already for item in since(before, warned).violations] == [False]


def test_the_books_are_as_they_were() -> None:
    dump = [t4_node("t"), bound(pod("p"), "t"), namespace(families="hopper")]
    world = world_of(*dump)
    before = dict(world.cluster.nodes["t"].holders), dict(world.ledger.node("t").used)
    report(manifests(dump), world, [])

    assert (dict(world.cluster.nodes["t"].holders), dict(world.ledger.node("t").used)) == before
