from typing import Any

import pytest

from tests.admission.patching import mutated_pod
from tests.build import pod

GATE = {"name": "gpusched.io/quota"}


def gates(tree: Any, **policy: str) -> Any:
    named = {key.replace("_", "-"): value for key, value in policy.items()}
    return mutated_pod(tree, policy=named)["spec"].get("schedulingGates")


@pytest.mark.parametrize("policy", [{"quota": "*=4"}, {"quota": "hopper=4"}, {"quota_gpu_memory": "320Gi"}])
def test_a_quota_gates_gpu_pods(policy: dict[str, str]) -> None:
    assert gates(pod(), **policy) == [GATE]


@pytest.mark.parametrize(
    ("tree", "policy"),
    [
        (pod(), {}),
        (pod(), {"families": "turing"}),
        (pod(gpus=None), {"quota": "*=4"}),
        (pod(gpus=0), {"quota": "*=4"}),
        (pod(nodeName="n1"), {"quota": "*=4"}),
        (pod(), {"quota": "*=4", "mode": "warn"}),
        (pod(), {"quota": "*=4", "mode": "enforce,quota=warn"}),
        (pod(), {"quota": "*=4", "mode": "off"}),
    ],
)
def test_no_gate(tree: Any, policy: dict[str, str]) -> None:
    assert gates(tree, **policy) is None


def test_other_gates_are_kept_and_ours_is_not_doubled() -> None:
    assert gates(pod(schedulingGates=[{"name": "x"}]), quota="*=4") == [{"name": "x"}, GATE]
    assert gates(pod(schedulingGates=[GATE]), quota="*=4") == [GATE]
