"""What the README shows is what the commands print."""

import re

import pytest
from click.testing import CliRunner

from gpusched.cli.main import gpusched
from gpusched.cli.yaml_reader import chunks, read_chunk
from gpusched.core.codes import Code
from gpusched.policy.config import parse_config
from gpusched.policy.keys import KEYS
from tests.docs import page
from tests.docs.page import ROOT

README = page.read(ROOT / "README.md")


def blocks(language: str) -> list[str]:
    return [block.text for block in page.blocks(ROOT / "README.md", language)]


def test_simulate_prints_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    named = re.search(r"`gpusched (simulate -f \S+ --cluster \S+)` foresees", README)
    assert named is not None
    done = CliRunner().invoke(gpusched, named.group(1).split())

    assert done.stderr == ""
    assert done.stdout in blocks("")


def test_the_demo_shown_foresees_what_simulate_says() -> None:
    (shown,) = [block for block in blocks("") if block.startswith("Kubernetes ")]

    assert "gpusched simulate foresees the same of every workload" in shown


def test_the_configuration_shown_is_valid() -> None:
    (text,) = [block for block in blocks("yaml") if "kind: Config" in block]
    (chunk,) = chunks(text)
    (reading,) = read_chunk(chunk)
    _, faults = parse_config(reading.tree)

    assert faults == ()


def test_every_annotation_and_code_is_named() -> None:
    assert [key for key in KEYS if key not in README] == []
    shortened = {f"gpu-policy-{name}" for name in ("product", "memory", "sharing", "version", "max-gpus")}
    assert [code for code in Code if code not in README and code not in shortened] == []
