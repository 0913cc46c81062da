"""Memory claims of pods."""

from typing import Any

import msgspec
import pytest

from gpusched.core.node import Node, Taint
from gpusched.core.pool import Sharing
from tests.admission.judging import facts_of, gpu_node, judged, lines
from tests.build import pod


def _claimed(text: str, **extra: object) -> dict[str, object]:
    return pod(annotations={"gpusched.io/gpu-memory": text}, **extra)


@pytest.mark.parametrize("mode", ["enforce", "warn", "audit", "off"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("6", '"6" without unit; write 6Gi.'),
        ("6GB", '"6GB", which is not how Kubernetes writes memory; write 6G.'),
        ("NaN", '"NaN", which is no amount of memory; write a number with its unit, such as 20Gi.'),
    ],
)
def test_a_malformed_claim_is_refused_but_in_mode_off(mode: str, text: str, said: str) -> None:
    refusals, warnings = lines(judged(_claimed(text), policy={"mode": mode}))
    assert refusals == ([] if mode == "off" else [f"gpu-claim: pod has gpusched.io/gpu-memory {said}"])
    assert warnings == []


def test_a_claim_needs_a_gpu() -> None:
    assert lines(judged(_claimed("6Gi", gpus=None)))[0] == [
        (
            "gpu-claim: pod has gpusched.io/gpu-memory but asks for no GPU. "
            "Add nvidia.com/gpu: 1 under resources.limits or drop the claim."
        )
    ]


def test_a_claim_above_every_present_slot_is_warned_of() -> None:
    facts = facts_of(gpu_node(), gpu_node("n2", 4, sharing=Sharing.TIME_SLICING, replicas=4))
    assert lines(judged(_claimed("14Gi"), facts=facts)) == ([], [])
    assert lines(judged(_claimed("40Gi"), facts=facts)) == (
        [],
        ["gpu-claim: claim 40Gi is more than any present slot of nvidia.com/gpu can give. Largest possible: 15283Mi."],
    )


def _larger(**seen: Any) -> Node:
    node = gpu_node("larger", 8, memory=81920)
    return msgspec.structs.replace(node, object=msgspec.structs.replace(node.object, **seen))


_H100 = gpu_node("h", 8, family="hopper", product="h100-80gb-hbm3", memory=81559)
_LARGEST = "gpu-claim: claim {} is more than any present slot of nvidia.com/gpu can give. Largest possible: {}Mi."


@pytest.mark.parametrize(
    ("other", "most"),
    [
        # An exclusive card keeps half a percent for the driver: 81559 and 81920 MiB are 81151 and 81510.
        (_larger(), 81510),
        (_larger(taints=(Taint("sku", "gpu"),)), 81151),
        (_larger(taints=(Taint("nvidia.com/gpu", "present"),)), 81510),
        (_larger(taints=(Taint("sku", "gpu", "PreferNoSchedule"),)), 81510),
        (_larger(taints=(Taint("node.kubernetes.io/not-ready"),)), 81151),
        (_larger(unschedulable=True), 81151),
        (gpu_node("larger", 8, memory=81920, resource="amd.com/gpu"), 81151),
    ],
)
def test_the_largest_possible_claim_is_one_that_fits_today(other: Node, most: int) -> None:
    facts = facts_of(_H100, other)
    assert lines(judged(_claimed("80Gi"), facts=facts)) == ([], [_LARGEST.format("80Gi", most)])
    assert lines(judged(_claimed(f"{most}Mi"), facts=facts)) == ([], [])


def test_a_cordoned_node_comes_back() -> None:
    cordoned = msgspec.structs.replace(_larger(unschedulable=True), pools=gpu_node(memory=143771).pools)
    assert lines(judged(_claimed("80Gi"), facts=facts_of(_H100, cordoned))) == ([], [])


def test_nodes_with_too_few_slots_give_no_figure() -> None:
    facts = facts_of(gpu_node("h", 2, memory=40960), gpu_node("w", 1, memory=81920))
    assert lines(judged(_claimed("60Gi", gpus=2), facts=facts))[1] == [_LARGEST.format("60Gi", 40755)]


def test_unknown_memory_gives_no_warning() -> None:
    facts = facts_of(gpu_node(), gpu_node("n2", memory=None))
    assert lines(judged(_claimed("40Gi"), facts=facts)) == ([], [])
