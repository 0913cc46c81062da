import pytest

from gpusched.policy.label_syntax import is_extended_resource, is_key, is_namespace_name, is_subdomain, is_value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("zone", True),
        ("feature.node.kubernetes.io/cpu-cpuid.AVX512F", True),
        ("A_b.c", True),
        ("x" * 63, True),
        ("x" * 64, False),
        ("", False),
        ("-a", False),
        ("a-", False),
        ("/a", False),
        ("a/", False),
        ("a/b/c", False),
        ("Upper.example/a", False),
        ("a b", False),
        ("a\n", False),
    ],
)
def test_is_key(text: str, expected: bool) -> None:
    assert is_key(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"), [("", True), ("a_B.c-1", True), ("x" * 64, False), ("-a", False), ("a/b", False)]
)
def test_is_value(text: str, expected: bool) -> None:
    assert is_value(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a.b-c.d", True), ("a..b", False), ("A", False), ("", False), (".".join(["a" * 60] * 5), False)],
)
def test_is_subdomain(text: str, expected: bool) -> None:
    assert is_subdomain(text) is expected


@pytest.mark.parametrize(("text", "expected"), [("kube-system", True), ("a.b", False), ("gpu-*", False)])
def test_is_namespace_name(text: str, expected: bool) -> None:
    assert is_namespace_name(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nvidia.com/gpu-10gb", True),
        ("gpu", False),
        ("kubernetes.io/gpu", False),
        ("requests.nvidia.com/gpu", False),
        ("nvidia.com/", False),
    ],
)
def test_is_extended_resource(text: str, expected: bool) -> None:
    assert is_extended_resource(text) is expected
