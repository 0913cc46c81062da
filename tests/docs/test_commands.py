"""Every command of the documentation is run by some test, or says why it cannot be."""

import re
import subprocess

import pytest

from tests.docs.page import ROOT, Block, blocks, guides, read

COMMANDS = [block for path in guides() for block in blocks(path) if block.language in {"sh", "console"}]
MARKED = [block for block in COMMANDS if block.mark.startswith("run by ")]
#: What no machine for tests has; a block without any of them has no excuse.
ELSEWHERE = {"docker", "kind", "kubeadm", "ssh", "systemctl"}


def named(block: Block) -> str:
    return block.name


@pytest.mark.parametrize("block", [block for block in COMMANDS if block.language == "sh"], ids=named)
def test_commands_are_run_or_say_why_not(block: Block) -> None:
    kind, _, reason = block.mark.partition(": ")
    if kind == "elsewhere":
        assert reason.startswith("needs ")
        assert ELSEWHERE & set(re.findall(r"^\s*(\w+)", block.text, re.MULTILINE))
    else:
        assert block.mark.startswith("run by ")


@pytest.mark.parametrize("block", MARKED, ids=named)
def test_whoever_is_named_runs_them(block: Block) -> None:
    """It takes all blocks of the page by their mark, and unpacks them by name."""
    assert f'run_by(__file__, "{block.page}")' in read(ROOT / block.mark.removeprefix("run by "))


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_make_knows_what_it_is_asked_for(page: str) -> None:
    lines = "".join(block.text for block in blocks(ROOT / page))
    targets = re.findall(r"^make (\w+)", lines, re.MULTILINE)

    assert targets
    subprocess.run(["/usr/bin/env", "make", "--dry-run", *targets], cwd=ROOT, check=True, capture_output=True)
