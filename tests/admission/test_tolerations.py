from typing import Any

import pytest

from gpusched.admission.tolerations import covers
from gpusched.core.cluster_facts import ClusterFacts
from gpusched.core.node import Taint
from gpusched.core.pod import Toleration
from gpusched.policy.model import Config
from tests.admission.patching import mutated_pod
from tests.build import pod

GKE = Taint("nvidia.com/gpu", "present", "NoSchedule")
EXISTS = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def tolerations(tree: Any, *taints: Taint, config: Config | None = None, **arguments: Any) -> Any:
    facts = ClusterFacts(known=True, gpu_taints=taints)
    return mutated_pod(tree, facts=facts, config=config, **arguments)["spec"].get("tolerations")


@pytest.mark.parametrize(
    "resource",
    [
        "nvidia.com/gpu",
        "nvidia.com/gpu.shared",
        "nvidia.com/mig-1g.5gb",
        "nvidia.com/mig-1g.5gb.shared",
        "nvidia.com/gpu-10gb",
    ],
)
def test_the_vendors_main_taint_is_tolerated_for_each_of_its_resources(resource: str) -> None:
    assert tolerations(pod(resource=resource), GKE) == [EXISTS]


def test_a_taint_named_after_the_resource_is_tolerated_with_its_effect() -> None:
    taint = Taint("nvidia.com/mig-1g.5gb", "", "NoExecute")
    assert tolerations(pod(resource="nvidia.com/mig-1g.5gb"), taint) == [
        {"key": "nvidia.com/mig-1g.5gb", "operator": "Exists", "effect": "NoExecute"}
    ]


@pytest.mark.parametrize("key", ["sku", "amd.com/gpu", "nvidia.com/mig-1g.5gb", "node.kubernetes.io/not-ready"])
def test_other_taints_are_not_tolerated(key: str) -> None:
    assert tolerations(pod(), Taint(key, "gpu", "NoSchedule")) is None


def test_several_taints_of_one_key_need_one_toleration_per_effect() -> None:
    taints = (Taint("nvidia.com/gpu", "b", "NoSchedule"), GKE, Taint("nvidia.com/gpu", "", "NoExecute"))
    assert tolerations(pod(), *taints) == [{**EXISTS, "effect": "NoExecute"}, EXISTS]


@pytest.mark.parametrize(
    "own",
    [
        {"operator": "Exists"},
        {"key": "nvidia.com/gpu", "operator": "Exists"},
        {"key": "nvidia.com/gpu", "operator": "Equal", "value": "present", "effect": "NoSchedule"},
        {"key": "nvidia.com/gpu", "value": "present"},
    ],
)
def test_a_taint_that_is_tolerated_gets_no_second_toleration(own: dict[str, str]) -> None:
    assert tolerations(pod(tolerations=[own]), GKE) == [own]


@pytest.mark.parametrize(
    "own",
    [
        {"key": "nvidia.com/gpu", "operator": "Equal", "value": "absent", "effect": "NoSchedule"},
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute"},
    ],
)
def test_a_toleration_of_something_else_is_kept_beside(own: dict[str, str]) -> None:
    assert tolerations(pod(tolerations=[own]), GKE) == [own, EXISTS]


@pytest.mark.parametrize("held", [None, []])
def test_null_and_empty_lists(held: Any) -> None:
    assert tolerations(pod(tolerations=held), GKE) == [EXISTS]


def test_configured_tolerations_are_added_once_whatever_nodes_there_are() -> None:
    config = Config(
        tolerations=(Toleration("sku", "Equal", "gpu", "NoSchedule"), Toleration("nvidia.com/gpu", "Exists"))
    )
    added = [{"key": "sku", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}]
    assert tolerations(pod(), config=config) == [*added, {"key": "nvidia.com/gpu", "operator": "Exists"}]
    assert tolerations(pod(tolerations=[{"operator": "Exists"}]), config=config) == [{"operator": "Exists"}]


def test_pods_without_gpus_get_none() -> None:
    config = Config(tolerations=(Toleration("sku", "Exists"),))
    assert tolerations(pod(gpus=None), GKE, config=config) is None
    assert tolerations(pod(gpus=0), GKE, config=config) is None


@pytest.mark.parametrize("mode", ["audit", "off"])
def test_modes_that_only_watch_add_none(mode: str) -> None:
    assert tolerations(pod(), GKE, policy={"mode": mode}) is None


@pytest.mark.parametrize(
    ("wide", "narrow", "holds"),
    [
        (Toleration("", "Exists"), Toleration("a", "Exists"), True),
        (Toleration("a", "Exists"), Toleration("a", "Equal", "x", "NoSchedule"), True),
        (Toleration("a", "", "x"), Toleration("a", "Equal", "x", "NoSchedule"), True),
        (Toleration("a", "Equal", "x"), Toleration("a", "Exists"), False),
        (Toleration("a", "Exists", "", "NoSchedule"), Toleration("a", "Exists"), False),
        (Toleration("a", "Gt", "5"), Toleration("a", "Equal", "5"), False),
        (Toleration("b", "Exists"), Toleration("a", "Exists"), False),
    ],
)
def test_covers(wide: Toleration, narrow: Toleration, holds: bool) -> None:
    assert covers(wide, narrow) is holds
