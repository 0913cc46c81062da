import pytest

from gpusched.core.version import encode_cuda, encode_driver, format_cuda, format_driver


@pytest.mark.parametrize(("text", "version"), [("12.4", 12040), ("11.8", 11080), ("13.0", 13000), (" 12.10 ", 12100)])
def test_cuda_versions(text: str, version: int) -> None:
    assert encode_cuda(text) == version
    assert format_cuda(version) == text.strip()


@pytest.mark.parametrize("text", ["", "12", "12.", "12.4.1", "v12.4", "12.x", "-1.2", "١٢.٤"])
def test_malformed_cuda_versions(text: str) -> None:
    assert encode_cuda(text) is None


@pytest.mark.parametrize(
    ("text", "version"),
    [("550.107.02", 550107002), ("550.54", 550054000), ("535.54.03", 535054003), ("470.82.01", 470082001)],
)
def test_driver_versions(text: str, version: int) -> None:
    assert encode_driver(text) == version
    assert format_driver(version) == text


def test_driver_versions_compare_as_numbers() -> None:
    texts = ["470.82.01", "550.54.14", "550.54.15", "550.107.02", "1000.01"]

    assert sorted(texts, key=lambda text: encode_driver(text) or 0) == texts


@pytest.mark.parametrize("text", ["", "550", "550.", "550.1.2.3", "R550", "550.1000", "550.1.2000"])
def test_malformed_driver_versions(text: str) -> None:
    assert encode_driver(text) is None
