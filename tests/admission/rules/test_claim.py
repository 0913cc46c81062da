"""Memory claims of pods."""

import pytest

from gpusched.core.pool import Sharing
from tests.admission.judging import facts_of, gpu_node, judged, lines
from tests.build import pod


def _claimed(text: str, **extra: object) -> dict[str, object]:
    return pod(annotations={"gpusched.io/gpu-memory": text}, **extra)  # type: ignore[arg-type]


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


def test_unknown_memory_gives_no_warning() -> None:
    facts = facts_of(gpu_node(), gpu_node("n2", memory=None))
    assert lines(judged(_claimed("40Gi"), facts=facts)) == ([], [])
