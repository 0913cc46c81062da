import pytest

from gpusched.core.catalogue import find
from gpusched.core.constraints import Constraints, MemoryBound
from gpusched.core.pool import Sharing
from gpusched.core.selector import Operator, Requirement, all_match
from gpusched.dialects import gke
from gpusched.dialects.instance_types import INSTANCE_TYPES, find_instance_type
from gpusched.dialects.native_names import COREWEAVE_CLASSES, EC2_GPUS, EKS_ACCELERATORS, NAP_GPUS
from gpusched.dialects.native_terms import native_terms

UNLABELLED = Requirement("gpusched.io/sharing", Operator.DOES_NOT_EXIST)
HOPPER = Constraints(families=("hopper",))


def needs(key: str, *values: str, operator: Operator = Operator.IN) -> Requirement:
    return Requirement(key, operator, values)


def test_a_dialect_that_needs_no_term() -> None:
    assert native_terms(HOPPER, frozenset({"gfd", "amd", "instance-type"})) == ()


def test_gke_family() -> None:
    assert native_terms(HOPPER, frozenset({"gke", "gfd"})) == (
        (
            needs(
                "cloud.google.com/gke-accelerator",
                "nvidia-h100-80gb",
                "nvidia-h100-mega-80gb",
                "nvidia-h200-141gb",
            ),
            UNLABELLED,
        ),
    )


@pytest.mark.parametrize(
    ("constraints", "names"),
    [
        (Constraints(products=(("a100-sxm4-40gb",),)), ("nvidia-tesla-a100",)),
        (Constraints(products=(("a100",),)), ("nvidia-a100-80gb", "nvidia-tesla-a100")),
        (Constraints(products=(("a100", "l4"), ("a100-80gb",))), ("nvidia-a100-80gb",)),
        (
            Constraints(families=("volta", "turing"), min_memory=MemoryBound(15000, "15Gi")),
            ("nvidia-tesla-t4", "nvidia-tesla-v100"),
        ),
        (Constraints(families=("ampere",), min_memory=MemoryBound(60000, "60Gi")), ("nvidia-a100-80gb",)),
    ],
)
def test_gke_names(constraints: Constraints, names: tuple[str, ...]) -> None:
    (term,) = native_terms(constraints, frozenset({"gke"}))
    assert term == (needs("cloud.google.com/gke-accelerator", *names),)


@pytest.mark.parametrize(
    ("allowed", "refused", "taken"),
    [
        ({Sharing.NONE}, [{"gpu-sharing-strategy": "mps"}, {"gpu-partition-size": "1g.5gb"}], [{}]),
        (
            {Sharing.NONE, Sharing.TIME_SLICING},
            [{"gpu-sharing-strategy": "mps"}],
            [{}, {"gpu-sharing-strategy": "time-sharing"}],
        ),
        (
            {Sharing.MIG},
            [{}, {"gpu-sharing-strategy": "mps", "gpu-partition-size": "1g.5gb"}],
            [{"gpu-partition-size": "1g.5gb"}],
        ),
        ({Sharing.MPS}, [{}, {"gpu-sharing-strategy": "time-sharing"}], [{"gpu-sharing-strategy": "mps"}]),
        (set(Sharing), [], [{}, {"gpu-sharing-strategy": "mps"}]),
    ],
)
def test_gke_sharing(allowed: set[Sharing], refused: list[dict[str, str]], taken: list[dict[str, str]]) -> None:
    (term,) = native_terms(Constraints(sharing=frozenset(allowed)), frozenset({"gke"}))

    def matches(labels: dict[str, str]) -> bool:
        node = {"cloud.google.com/gke-accelerator": "nvidia-l4"}
        return all_match(term, node | {f"cloud.google.com/gke-{key}": value for key, value in labels.items()})

    assert [matches(labels) for labels in refused] == [False] * len(refused)
    assert [matches(labels) for labels in taken] == [True] * len(taken)


def test_karpenter_tells_sizes_apart_by_memory() -> None:
    constraints = Constraints(families=("ampere",), min_memory=MemoryBound(75367, "80Gi"))
    (term,) = native_terms(constraints, frozenset({"karpenter-aws"}))
    a100 = {"karpenter.k8s.aws/instance-gpu-name": "a100"}
    assert all_match(term, a100 | {"karpenter.k8s.aws/instance-gpu-memory": "81920"})
    assert not all_match(term, a100 | {"karpenter.k8s.aws/instance-gpu-memory": "40960"})
    # The container may see less of it, which the extender finds out; the node does not cease to be the one bought.
    assert all_match(term, a100 | {"karpenter.k8s.aws/instance-gpu-memory": "81920", "gpusched.io/sharing": "mps"})


def test_maximum_counts_only_where_cards_are_whole() -> None:
    bound = MemoryBound(17000, "16G")
    sliced = Constraints(max_memory=bound)
    whole = Constraints(max_memory=bound, sharing=frozenset({Sharing.NONE}))
    a100 = {"karpenter.k8s.aws/instance-gpu-name": "a100"}
    assert [all_match(native_terms(one, frozenset({"karpenter-aws"}))[0], a100) for one in (sliced, whole)] == [
        True,
        False,
    ]


def test_clouds_by_instance_type() -> None:
    (term,) = native_terms(HOPPER, frozenset({"aks"}))
    assert all_match(term, {"node.kubernetes.io/instance-type": "Standard_ND96isr_H100_v5"})
    assert not all_match(term, {"node.kubernetes.io/instance-type": "Standard_NC4as_T4_v3"})
    accelerator, machine = native_terms(HOPPER, frozenset({"eks"}))
    assert all_match(accelerator, {"k8s.amazonaws.com/accelerator": "nvidia-h100"})
    assert all_match(machine, {"node.kubernetes.io/instance-type": "p5.48xlarge"})


def test_a_cloud_that_has_no_such_card_has_no_term() -> None:
    assert native_terms(Constraints(families=("cdna3",)), frozenset({"gke", "karpenter-aws"})) == ()


@pytest.mark.parametrize(
    "product",
    [
        *(product for names in (EC2_GPUS, EKS_ACCELERATORS, NAP_GPUS, COREWEAVE_CLASSES) for _, product in names),
        *gke.MODELS.values(),
        *(machine.product for machine in INSTANCE_TYPES),
    ],
)
def test_every_name_is_of_a_card(product: str) -> None:
    assert find(product) is not None


def test_instance_types_are_distinct_and_found_in_any_case() -> None:
    assert len({machine.name.lower() for machine in INSTANCE_TYPES}) == len(INSTANCE_TYPES)
    found = find_instance_type("STANDARD_ND96AMSR_A100_V4")
    assert found is not None
    assert (found.product, found.count) == ("a100-sxm4-80gb", 8)
