import pytest

from gpusched.core.products import mig_suffix, normalise, product_matches, tokens_of


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("Tesla-T4", "t4"),
        ("NVIDIA-A100-SXM4-80GB-MIG-1g.10gb-SHARED", "a100-sxm4-80gb"),
        ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb.me", "a100-sxm4-40gb"),
        ("NVIDIA-A100-SXM4-80GB-MIG-INVALID", "a100-sxm4-80gb"),
        ("nvidia-tesla-t4", "t4"),
        ("H100_NVLINK_80GB", "h100-nvlink-80gb"),
        ("AMD_Instinct_MI300X_OAM", "mi300x-oam"),
        ("  NVIDIA RTX  6000 Ada Generation ", "rtx-6000-ada-generation"),
        ("Flex_170", "flex-170"),
        ("-", ""),
        ("", ""),
    ],
)
def test_normalise(raw: str, expected: str) -> None:
    assert normalise(raw) == expected
    assert normalise(expected) == expected


@pytest.mark.parametrize(
    ("wanted", "product", "expected"),
    [
        ("H20", "NVIDIA-H20", True),
        ("H20", "NVIDIA-H200", False),
        ("a10", "NVIDIA-A10", True),
        ("a10", "NVIDIA-A100-SXM4-40GB", False),
        ("a10", "NVIDIA-A10G", False),
        ("A100", "A100-PCIE-80GB", True),
        ("a100-40gb", "a100-sxm4-40gb", True),
        ("40gb-a100", "a100-sxm4-40gb", False),
        ("Tesla-T4", "Tesla-T4-SHARED", True),
        ("h100-80gb", "h100-80gb-hbm3", True),
        ("h100-h100", "h100-pcie", False),
        ("", "t4", False),
        ("-", "t4", False),
    ],
)
def test_product_matches(wanted: str, product: str, expected: bool) -> None:
    assert product_matches(wanted, product) is expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "1g.5gb"),
        ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb.me-SHARED", "1g.5gb.me"),
        ("NVIDIA-A100-SXM4-40GB-MIG-INVALID", "invalid"),
        ("Tesla-T4-SHARED", None),
    ],
)
def test_mig_suffix(raw: str, expected: str | None) -> None:
    assert mig_suffix(raw) == expected


def test_tokens_leave_nothing_empty() -> None:
    assert tokens_of("a--b_ c") == ("a", "b", "c")
