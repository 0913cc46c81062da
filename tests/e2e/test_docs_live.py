"""What the pages show of a live cluster, and what the README says to ask one, on that of the demo."""

import shutil

import pytest

from gpusched.local.demo import DemoCluster, read_samples
from gpusched.local.installed import manifests_folder
from tests.build import namespace, pod
from tests.cli.commands import Folder
from tests.docs.alike import alike
from tests.docs.page import ROOT, Block, blocks, pages
from tests.docs.shell import Shell, shown
from tests.e2e.conftest import teller
from tests.e2e.kubectl import Kubectl
from tests.e2e.scheduling import delete, refusal
from tests.e2e.terminal import Terminal

LIVE = {path: [block for block in blocks(path, "console") if block.mark == "live"] for path in pages()}


@pytest.fixture(scope="module")
def demo(request, binaries):
    """The sample cluster with the sample workloads, as `gpusched demo --keep` leaves it."""
    samples = read_samples(manifests_folder() / "samples")
    with DemoCluster(binaries, samples, teller(request.config)) as cluster:
        for tree in samples.workloads:
            cluster.apply(tree)
        yield cluster


@pytest.fixture
def shell(demo: DemoCluster, client_programs):
    """What the pages type on the cluster of the demo; the pod that they leave is gone when the test ends."""
    kubectl = Kubectl(client_programs["kubectl"], demo.plane)
    yield Shell(str(demo.plane.kubeconfig()), {"kubectl": kubectl})
    left = str(ROOT / "docs" / "examples" / "quick-start" / "smaller.yaml")
    assert kubectl(["delete", "--ignore-not-found", "-f", left])[0] == 0


@pytest.mark.parametrize("page", [path for path, found in LIVE.items() if found], ids=lambda path: path.name)
def test_live_blocks_show_what_the_commands_print(shell: Shell, page) -> None:
    for block in LIVE[page]:
        assert alike(shown(block, shell)) == alike(block.text), block.name


def test_some_block_is_live() -> None:
    found: list[Block] = [block for several in LIVE.values() for block in several]
    assert len(found) >= 3


@pytest.fixture
def asked(demo: DemoCluster, client_programs, tmp_path):
    """A terminal with what the README's commands name: a pod that waits, and files of one's own."""
    terminal = Terminal(tmp_path, demo.plane.kubeconfig(), client_programs.values())
    (tmp_path / "manifests").unlink()
    folder = Folder(tmp_path)
    folder.documents("manifests/training.yaml", pod("train", "team-a"))
    folder.documents("new-ns.yaml", namespace("team-a", families="hopper"))
    shutil.copy(ROOT / "docs" / "examples" / "config.yaml", tmp_path / "gpusched.yaml")
    demo.plane.apply([namespace("team-a")])
    hopper = {"gpusched.io/families": "hopper"}
    demo.plane.create(pod("nb-7", "team-a", gpus=8, annotations=hopper)).expect()
    try:
        refusal(demo.plane, "team-a", "nb-7")
        yield terminal
    finally:
        delete(demo.plane, "team-a", "nb-7")


def test_commands_of_the_readme_find_what_is_there(asked: Terminal) -> None:
    """A pod that waits is the one thing that is wrong."""
    found = [block.text for block in blocks(ROOT / "README.md", "")]
    commands = [line for text in found if text.startswith(("gpusched ", "kubectl ")) for line in text.splitlines()]

    assert len(commands) == 12
    for command in commands:
        ended = asked.run(command)
        why = command.startswith("gpusched why ")
        assert (ended.returncode, ended.stdout.startswith("pod team-a/nb-7  PENDING")) == (int(why), why), ended
