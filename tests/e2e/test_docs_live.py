"""What the pages of the documentation show of a live cluster, on that of the demo."""

import re

import pytest

from gpusched.local.demo import DemoCluster, read_samples
from gpusched.local.installed import manifests_folder
from tests.docs.page import Block, blocks, pages
from tests.docs.shell import Shell, shown
from tests.e2e.conftest import teller
from tests.e2e.kubectl import Kubectl

LIVE = {path: [block for block in blocks(path, "console") if block.mark == "live"] for path in pages()}
#: Names of pods that a controller made up, and ages.
RANDOM = re.compile(r"\b(evaluate|finetune|llm(?:-[a-f0-9]{8,10})?|web(?:-[a-f0-9]{8,10})?|simulation)-[a-z0-9]{5}\b")
AGE = re.compile(r"\b(PENDING|GATED quota) (?:\d+[smhd])+")
COUNT = re.compile(r"^\d+ checks", re.MULTILINE)


@pytest.fixture(scope="module")
def demo(request, binaries):
    """The sample cluster with the sample workloads, as `gpusched demo --keep` leaves it."""
    samples = read_samples(manifests_folder() / "samples")
    with DemoCluster(binaries, samples, teller(request.config)) as cluster:
        for tree in samples.workloads:
            cluster.apply(tree)
        yield cluster


def alike(text: str) -> str:
    """A text without what differs from run to run."""
    for pattern, instead in ((RANDOM, r"\1-xxxxx"), (AGE, r"\1 0s")):
        text = pattern.sub(instead, text)
    return re.sub(r"[ \n]+", " ", text)


@pytest.mark.parametrize("page", [path for path, found in LIVE.items() if found], ids=lambda path: path.name)
def test_live_blocks_show_what_the_commands_print(demo: DemoCluster, page) -> None:
    shell = Shell(str(demo.plane.kubeconfig()), {"kubectl": Kubectl(demo)})

    for block in LIVE[page]:
        assert alike(shown(block, shell)) == alike(block.text), block.name


def test_some_block_is_live() -> None:
    found: list[Block] = [block for several in LIVE.values() for block in several]
    assert len(found) >= 3
