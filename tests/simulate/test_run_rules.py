"""Placement by native rules, lowered policy, claims and RuntimeClasses, as far as a whole run shows it."""

from typing import Any

import pytest

from gpusched.simulate.outcome import Outcome
from gpusched.simulate.run import Simulation
from tests.build import Tree, a100_node, bound, h100_node, namespace, node, pod, t4_node
from tests.simulate.scene import (
    codes,
    configured,
    cpu_node,
    cpu_pod,
    only,
    placed,
    simulate,
    views,
    workload,
)


def outcomes(simulation: Simulation) -> dict[str, Outcome]:
    return {outcome.planned.name: outcome for outcome in simulation.outcomes}


def _anti_affinity(app: str) -> dict[str, Any]:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _affinity(app: str) -> dict[str, Any]:
    return {"podAffinity": _anti_affinity(app)["podAntiAffinity"]}


def test_replicas_that_shun_each_other_take_a_node_each() -> None:
    template = pod(labels={"app": "x"}, affinity=_anti_affinity("x"))
    found = placed([h100_node("a"), h100_node("b")], workload("Deployment", "w", replicas=3, template=template))

    assert (sorted(str(found[name]) for name in ("w-0", "w-1")), found["w-2"]) == (["a", "b"], None)


def test_a_pod_that_looks_for_a_later_one_is_tried_again() -> None:
    follower = pod("follower", affinity=_affinity("leader"))
    leader = pod("leader", labels={"app": "leader"})

    assert placed([h100_node("a"), h100_node("b")], follower, leader) == {"follower": "a", "leader": "a"}


def test_a_chain_of_pods_that_look_for_each_other_is_followed() -> None:
    chain = [pod(name, labels={"app": name}, affinity=_affinity(other)) for name, other in ("cb", "ba")]

    assert placed([h100_node("h")], *chain, pod("a", labels={"app": "a"})) == {"c": "h", "b": "h", "a": "h"}


def test_native_refusals_are_named() -> None:
    nodes = [
        t4_node("cordoned", unschedulable=True),
        t4_node("tainted", taints=[{"key": "mine", "effect": "NoSchedule"}]),
        t4_node("elsewhere", labels={"zone": "b"}),
        cpu_node("cpu", labels={"zone": "a"}),
        t4_node("full", labels={"zone": "a"}),
        bound(pod("old"), "full"),
    ]
    view = only(nodes, pod("p", nodeSelector={"zone": "a"}))

    assert codes(view) == {
        "native-unschedulable": 1,
        "native-taint": 1,
        "native-affinity": 1,
        "native-resources": 1,
        "no-resource": 1,
    }


def test_gates_of_others_hold_the_pod() -> None:
    view = only([t4_node()], pod("p", schedulingGates=[{"name": "example.com/wait"}]))

    assert (view.gated, view.placement, view.unschedulable) == ("example.com/wait", None, None)


def test_a_node_that_lowering_excludes_is_named_by_the_rule() -> None:
    cluster = [
        h100_node("h"),
        t4_node("t"),
        node("unknown", gpus=1),
        cpu_node("cpu"),
        bound(pod("all", gpus=8), "h"),
        namespace("team-a", families="hopper"),
    ]
    view = only(cluster, pod("p"))

    assert any(str(op["path"]).startswith("/spec/affinity") for op in view.admission.patch)
    assert codes(view) == {"family": 1, "facts-unknown": 1, "native-resources": 1, "no-resource": 1}


def test_the_users_own_affinity_stays_native() -> None:
    cluster = [h100_node("h"), namespace("team-a", families="hopper")]
    view = only(cluster, pod("p", nodeSelector={"zone": "nowhere"}))

    assert codes(view) == {"native-affinity": 1}


def test_rules_that_are_not_lowered_are_named_all_the_same() -> None:
    config = configured(lowering={"enabled": False})
    cluster = [h100_node("h"), t4_node("t"), cpu_node(), namespace("team-a", families="ampere")]

    assert codes(only(cluster, pod("p"), config)) == {"family": 2, "no-resource": 1}


def test_claims_of_several_pods_share_a_gpu_until_it_is_full() -> None:
    claiming = pod(annotations={"gpusched.io/gpu-memory": "6Gi"})
    nodes = [t4_node("t4", gpus=1, replicas=4)]
    found = views(nodes, workload("Deployment", "w", replicas=3, template=claiming))

    assert [view.placement is not None for view in found] == [True, True, False]
    assert codes(found[2]) == {"memory-claim": 1}


@pytest.mark.parametrize(
    ("placement", "expected"), [("pack", {"w-0": "a", "w-1": "a"}), ("spread", {"w-0": "a", "w-1": "b"})]
)
def test_packing_and_spreading(placement: str, expected: dict[str, str]) -> None:
    template = pod(annotations={"gpusched.io/placement": placement})
    nodes = [h100_node("a"), h100_node("b")]

    assert placed(nodes, workload("Deployment", "w", replicas=2, template=template)) == expected


def test_preferred_families_come_first() -> None:
    cluster = [a100_node("a"), h100_node("h"), t4_node("t"), namespace("team-a", families="hopper, ampere")]

    assert placed(cluster, pod("p", gpus=8), pod("q", gpus=8), pod("r")) == {"p": "h", "q": "a", "r": None}


def _runtime_class(name: str = "nvidia", **extra: Any) -> Tree:
    return {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": name}, "handler": name} | extra


def test_a_runtime_class_adds_selector_tolerations_and_overhead() -> None:
    runtime = _runtime_class(
        scheduling={
            "nodeSelector": {"runtime": "yes"},
            "tolerations": [{"key": "kata", "operator": "Exists", "effect": "NoSchedule"}],
        },
        overhead={"podFixed": {"cpu": "2"}},
    )
    taint = {"taints": [{"key": "kata", "effect": "NoSchedule"}]}
    good = node("good", gpus=None, labels={"runtime": "yes"}, allocatable={"cpu": "4"}, **taint)
    small = node("a-small", gpus=None, labels={"runtime": "yes"}, allocatable={"cpu": "3"}, **taint)
    plain = node("a-plain", gpus=None)
    simulation = simulate([runtime, good, small, plain], cpu_pod("p", cpu="2", runtimeClassName="nvidia"))

    assert outcomes(simulation)["p"].node == "good"
    assert simulation.world.ledger.node("good").used["cpu"] == 4000


def test_a_runtime_class_that_does_not_exist_is_refused_where_the_dump_tells() -> None:
    view = only([t4_node(), _runtime_class("other")], pod("p", runtimeClassName="nvidia"))
    assert (view.admission.allowed, view.admission.code) == (False, "runtime-class-missing")

    assert only([t4_node()], pod("p", runtimeClassName="nvidia")).placement is not None
