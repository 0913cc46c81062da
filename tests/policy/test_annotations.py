import pytest

from gpusched.core.constraints import MemoryBound
from gpusched.core.fault import Fault
from gpusched.core.pool import Sharing
from gpusched.core.selector import Operator, Requirement
from gpusched.policy.annotations import parse_namespace, parse_pod
from gpusched.policy.model import Mode, Modes, Parsed, Policy, Quota


def path(name: str) -> str:
    return f"metadata.annotations[gpusched.io/{name}]"


def test_every_key_of_a_namespace() -> None:
    parsed = parse_namespace(
        {
            "gpusched.io/mode": "warn",
            "gpusched.io/families": "hopper, ampere",
            "gpusched.io/products": "a100",
            "gpusched.io/min-gpu-memory": "13Gi",
            "gpusched.io/max-gpu-memory": "80G",
            "gpusched.io/min-cuda-version": "12.4",
            "gpusched.io/min-driver-version": "550.54",
            "gpusched.io/node-selector": "zone=a",
            "gpusched.io/sharing": "none",
            "gpusched.io/max-gpus-per-pod": "4",
            "gpusched.io/quota": "*=8",
            "gpusched.io/quota-gpu-memory": "320Gi",
            "gpusched.io/placement": "spread",
            "gpusched.io/runtime-class": "never",
            "gpusched.io/visible-devices": "deny",
            "example.com/families": "nonsense",
            "status.gpusched.io/bound": "n1",
        }
    )

    assert parsed == Parsed(
        policy=Policy(
            mode=Modes(Mode.WARN),
            families=("hopper", "ampere"),
            products=("a100",),
            min_memory=MemoryBound(13312, "13Gi"),
            max_memory=MemoryBound(88473, "80G"),
            min_cuda=12040,
            min_driver=550054000,
            node_selector=(Requirement("zone", Operator.IN, ("a",)),),
            sharing=(Sharing.NONE,),
            max_gpus=4,
            quota=Quota((), 8),
            quota_memory_mib=327680,
            placement="spread",
            runtime_class="never",
            visible_devices="deny",
        )
    )


def test_a_pod_carries_a_claim_and_the_marks_of_gpusched_are_no_faults() -> None:
    parsed = parse_pod(
        {
            "status.gpusched.io/lowered": "x",
            "status.gpusched.io/bound": "n1",
            "gpusched.io/gpu-memory": "6Gi",
            "gpusched.io/families": "ada",
        }
    )

    assert parsed == Parsed(
        policy=Policy(families=("ada-lovelace",)),
        claim_mib=6144,
    )


def test_all_errors_at_once() -> None:
    parsed = parse_pod(
        {
            "gpusched.io/gpu-memory": "NaN",
            "gpusched.io/families": "hoper",
            "gpusched.io/placement": "spread",
            "gpusched.io/min-gpu-memory": "20",
            "gpusched.io/gpu-mem": "6Gi",
        }
    )

    assert parsed == Parsed(
        policy=Policy(placement="spread"),
        claim_fault=Fault(
            path("gpu-memory"), '"NaN" is no amount of memory; write a number with its unit, such as 20Gi'
        ),
        malformed=(
            Fault(path("families"), '"hoper" is no GPU family; write hopper'),
            Fault(path("min-gpu-memory"), '"20" has no unit; write 20Gi'),
        ),
        unknown=(Fault(path("gpu-mem"), "gpusched.io/gpu-mem is no known key; write gpusched.io/gpu-memory"),),
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("quota", "gpusched.io/quota is a key of Namespaces; take it off the pod"),
        ("mode", "gpusched.io/mode is a key of Namespaces; take it off the pod"),
        ("facts", "gpusched.io/facts is a key of Nodes and says nothing on a pod; take it off"),
        ("famlies", "gpusched.io/famlies is no known key; write gpusched.io/families"),
        ("zzz", "gpusched.io/zzz is no known key; take it off"),
    ],
)
def test_keys_that_pods_do_not_have(name: str, message: str) -> None:
    assert parse_pod({f"gpusched.io/{name}": "x"}) == Parsed(unknown=(Fault(path(name), message),))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "gpu-memory",
            "gpusched.io/gpu-memory is a claim of pods; write gpusched.io/min-gpu-memory for a namespace",
        ),
        ("facts", "gpusched.io/facts is a key of Nodes and says nothing on a Namespace; take it off"),
        ("quotas", "gpusched.io/quotas is no known key; write gpusched.io/quota"),
    ],
)
def test_keys_that_namespaces_do_not_have(name: str, message: str) -> None:
    assert parse_namespace({f"gpusched.io/{name}": "x"}) == Parsed(unknown=(Fault(path(name), message),))


def test_bounds_that_contradict_each_other_are_malformed() -> None:
    parsed = parse_pod({"gpusched.io/min-gpu-memory": "40Gi", "gpusched.io/max-gpu-memory": "20Gi"})

    fault = Fault(path("min-gpu-memory"), '"40Gi" is above max-gpu-memory "20Gi"; write at most 20Gi')
    assert parsed == Parsed(malformed=(fault,))


def test_the_same_nominal_size_as_both_bounds_is_a_card() -> None:
    parsed = parse_pod({"gpusched.io/min-gpu-memory": "80G", "gpusched.io/max-gpu-memory": "80Gi"})

    assert parsed.malformed == ()


@pytest.mark.parametrize("name", ["products", "node-selector", "gpu-memory"])
def test_a_value_of_an_endless_text_is_not_read(name: str) -> None:
    parsed = parse_pod({f"gpusched.io/{name}": "x," * 100_000})

    (fault,) = [*parsed.malformed, *([parsed.claim_fault] if parsed.claim_fault else [])]
    assert fault.path == path(name)
    assert fault.message.endswith("has 200000 characters; write 8192 at most")


def test_of_thousands_of_unknown_keys_the_first_are_told() -> None:
    parsed = parse_namespace({f"gpusched.io/key-{number:04}": "" for number in range(5_000)})

    assert [fault.path for fault in parsed.unknown] == [path(f"key-{number:04}") for number in range(20)]
