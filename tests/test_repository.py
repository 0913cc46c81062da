"""Rules about the source itself that no linter holds."""

import re
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = [path for package in ("gpusched", "webhook", "certs") for path in sorted((ROOT / package).rglob("*.py"))]
EVERYTHING = [*PRODUCT, *sorted((ROOT / "tests").rglob("*.py"))]
#: Label keys of vendors and clouds, as far as they are not resource or taint names.
LABEL_KEYS = re.compile(
    r"nvidia\.com/(gpu\.(?!shared)|cuda\.|mig\.|mps\.|vgpu\.)|amd\.com/gpu\.|gpu\.intel\.com/(device|family|product)"
    r"|cloud\.google\.com/gke|karpenter\.k8s\.aws|eks\.amazonaws\.com|k8s\.amazonaws\.com|kubernetes\.azure\.com"
)


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_there_is_source_to_judge():
    assert len(PRODUCT) > 100


@pytest.mark.parametrize("path", EVERYTHING, ids=lambda path: str(path.relative_to(ROOT)))
def test_module_has_at_most_300_lines(path):
    assert lines(path) <= 300


def test_half_of_the_modules_have_at_most_150_lines():
    assert median(lines(path) for path in PRODUCT) <= 150


def test_label_keys_of_vendors_and_clouds_stand_in_dialects_alone():
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in PRODUCT
        if "dialects" not in path.parts
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if LABEL_KEYS.search(line)
    ]

    assert found == []


@pytest.mark.parametrize("path", PRODUCT, ids=lambda path: str(path.relative_to(ROOT)))
def test_module_says_what_it_owns(path):
    assert path.read_text(encoding="utf-8").startswith('"""')


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_lock_file_names_no_registry(name):
    text = (ROOT / name).read_text(encoding="utf-8")

    assert "://" not in text
    assert "--index-url" not in text
    assert re.search(r"^\S+==\S+.*\\$", text, re.MULTILINE)
