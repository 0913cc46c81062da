import pytest

from gpusched.core.catalogue import (
    CARDS,
    NOMINAL_GIB,
    PRODUCTS,
    device_memory_mib,
    find,
    mig_memory_mib,
    product_of_amd_device_id,
    products_overlap,
    profile_gigabytes,
)
from gpusched.core.families import FAMILIES, family_of_compute, family_vendor
from gpusched.core.products import normalise


@pytest.mark.parametrize(
    ("product", "card", "family", "memory"),
    [
        ("Tesla-T4", "t4", "turing", 16384),
        ("NVIDIA-A100-SXM4-40GB", "a100-40gb", "ampere", 40960),
        ("NVIDIA-A100-80GB-PCIe", "a100-80gb", "ampere", 81920),
        ("nvidia-tesla-a100", "a100", "ampere", 40960),
        ("Tesla-V100-SXM2-32GB", "v100-32gb", "volta", 32768),
        ("NVIDIA-H100-80GB-HBM3", "h100-80gb", "hopper", 81920),
        ("NVIDIA-H100-NVL", "h100-nvl", "hopper", 96256),
        ("NVIDIA-H200-NVL", "h200-nvl", "hopper", 144384),
        ("NVIDIA-GH200-480GB", "gh200-480gb", "hopper", 98304),
        ("NVIDIA-GH200-144G-HBM3e", "gh200-144g", "hopper", 147456),
        ("NVIDIA-B200", "b200", "blackwell", 184320),
        ("NVIDIA-GB10", "gb10", "blackwell", None),
        ("NVIDIA-RTX-6000-Ada-Generation", "rtx-6000-ada", "ada-lovelace", 49152),
        ("Quadro-RTX-6000", "quadro-rtx-6000", "turing", 24576),
        ("NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", "rtx-pro-6000", "blackwell", 98304),
        ("AMD_Instinct_MI300X_OAM", "mi300x", "cdna3", 196608),
        ("Flex_140", "flex-140", "flex", 6144),
    ],
)
def test_find(product: str, card: str, family: str, memory: int | None) -> None:
    found = find(product)
    assert found is not None
    assert (found.name, found.family, found.memory_mib) == (card, family, memory)


@pytest.mark.parametrize("product", ["", "NVIDIA-DGX-Display", "rtx"])
def test_find_nothing(product: str) -> None:
    assert find(product) is None


@pytest.mark.parametrize(
    ("product", "expected"),
    [("t4", 16384), ("a100", None), ("h100", None), ("a100-80gb", 81920), ("l40s", 49152), ("nothing", None)],
)
def test_a_bare_name_of_several_sizes_has_no_memory(product: str, expected: int | None) -> None:
    assert device_memory_mib(product) == expected


@pytest.mark.parametrize(
    ("product", "profile", "expected"),
    [
        ("NVIDIA-A100-SXM4-40GB", "1g.5gb", 4864),
        ("NVIDIA-A100-SXM4-40GB", "1g.5gb+me", 4864),
        ("NVIDIA-A100-SXM4-80GB", "3g.40gb", 40960),
        (None, "1g.10gb", 10240),
        ("t4", "nonsense", None),
    ],
)
def test_mig_memory(product: str | None, profile: str, expected: int | None) -> None:
    assert mig_memory_mib(product, profile) == expected


@pytest.mark.parametrize(
    ("profile", "expected"), [("1g.24gb-me", 24), ("1g.5gb", 5), ("1g.99999gb", None), ("g.5gb", None)]
)
def test_profile_gigabytes(profile: str, expected: int | None) -> None:
    assert profile_gigabytes(profile) == expected


def test_nominal_sizes() -> None:
    assert {5, 16, 24, 40, 48, 80, 94, 96, 141, 192, 288} <= NOMINAL_GIB
    assert not {7, 15, 30, 81} & NOMINAL_GIB


def test_amd_device_ids() -> None:
    assert [product_of_amd_device_id(one) for one in ("74a1", "0x74B5", "ffff")] == ["mi300x", "mi300x-vf", None]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("a100", "a100-sxm4-80gb", True),
        ("a100-sxm4-80gb", "a100", True),
        ("a10", "a100", False),
        ("h20", "h200", False),
    ],
)
def test_products_overlap(first: str, second: str, expected: bool) -> None:
    assert products_overlap(first, second) is expected


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_every_card_is_consistent(card: object) -> None:
    found = find(card.name)
    assert found == card
    assert normalise(found.name) == found.name
    assert found.family in FAMILIES
    assert found.vendor == family_vendor(found.family)
    assert found.source
    if found.compute is not None:
        assert family_of_compute(*found.compute) == found.family
    assert all(profile_gigabytes(profile) for profile in (*found.mig, *found.mig_mib))
    assert found.mig_mib.keys() <= found.mig.keys()


@pytest.mark.parametrize("product", sorted(PRODUCTS))
def test_every_reported_name_is_of_a_card(product: str) -> None:
    assert normalise(product) == product
    assert find(product) is not None
