import pytest

from tests.build import gfd_labels
from tests.dialects.surveys import facts_of, only_pool, survey


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (
            "family=Ada, product=NVIDIA-L4, sharing=MPS, replicas=2, gpu-memory=24Gi",
            ("ada-lovelace", "l4", "mps", 2, 2, 24576, 12288, 12288),
        ),
        ("sharing=none", (None, None, "none", 1, 4, None, None, None)),
        ("product=t4,", ("turing", "t4", None, None, None, None, None, None)),
        ("nvidia.com/gpu:replicas=4, sharing=time-slicing", (None, None, "time-slicing", 4, 1, None, None, None)),
        ("replicas=2, nvidia.com/gpu:replicas=4", (None, None, None, 4, 1, None, None, None)),
    ],
)
def test_the_word_counts(facts: str, expected: tuple[object, ...]) -> None:
    node = survey({}, 4, facts=facts)
    assert (facts_of(only_pool(node)), node.notes) == (expected, ())


def test_it_beats_the_labels() -> None:
    pool = only_pool(survey(gfd_labels(), facts="product=a10, gpu-memory=24Gi, family=ampere"))
    assert facts_of(pool) == ("ampere", "a10", "none", 1, 1, 24576, 24576, 24576)
    assert dict(pool.provenance)["family"] == "admin"


@pytest.mark.parametrize(
    ("facts", "note"),
    [
        ("family=hoper", "gpusched.io/facts: family 'hoper' is no family; did you mean hopper?"),
        ("sharing=maybe", "gpusched.io/facts: sharing 'maybe' is none of none, time-slicing, mps, mig"),
        ("replicas=0", "gpusched.io/facts: replicas '0' is not a whole number above 0"),
        ("gpu-memory=15360", "gpusched.io/facts: gpu-memory '15360' is no amount with unit, such as 15360Mi"),
        ("gpu-memory=15gb", "gpusched.io/facts: gpu-memory '15gb' is no amount with unit, such as 15360Mi"),
        ("replica=4", "gpusched.io/facts: unknown key 'replica'; did you mean replicas?"),
        ("replicas", "gpusched.io/facts: 'replicas' is not key=value"),
        ("amd.com/gpu:replicas=4", "gpusched.io/facts: the node does not offer amd.com/gpu"),
        (
            "sharing=none, replicas=4",
            "gpusched.io/facts: sharing none contradicts replicas 4: both are ignored",
        ),
        ("product=a/b c!", "gpusched.io/facts: product 'a/b c!' is no product name"),
    ],
)
def test_what_cannot_be_read_is_noted(facts: str, note: str) -> None:
    node = survey({}, 4, facts=facts)
    assert node.notes == (note,)
    assert facts_of(only_pool(node)) == (None,) * 8


def test_several_pools_each_with_its_own_word() -> None:
    node = survey(
        {},
        {"nvidia.com/gpu": 7, "nvidia.com/gpu.shared": 2},
        facts="sharing=none, nvidia.com/gpu.shared:sharing=mps, nvidia.com/gpu.shared:replicas=2, gpu-memory=24Gi",
    )
    assert [facts_of(pool)[2:] for pool in node.pools] == [
        ("none", 1, 7, 24576, 24576, 24576),
        ("mps", 2, 1, 24576, 12288, 12288),
    ]
