import pytest

from gpusched.policy.nearest import nearest

KEYS = ("families", "products", "min-gpu-memory", "max-gpu-memory", "gpu-memory", "quota")


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("famlies", "families"),
        ("family", "families"),
        ("GPU_Memory", "gpu-memory"),
        ("gpu-mem", "gpu-memory"),
        ("min-memory", "min-gpu-memory"),
        ("quotas", "quota"),
        ("zzz", None),
        ("", None),
        ("x" * 100_000, None),
    ],
)
def test_nearest(word: str, expected: str | None) -> None:
    assert nearest(word, KEYS) == expected
    assert nearest(word, tuple(reversed(KEYS))) == expected
