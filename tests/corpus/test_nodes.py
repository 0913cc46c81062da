"""Public node dumps, device-plugin configurations and MIG tables: the inventory must be right on all of them."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpusched.core.catalogue import CARDS, profile_gigabytes
from gpusched.core.fault import Fault
from gpusched.core.node import Node
from gpusched.core.read_cluster import read_node
from gpusched.core.resources import GpuResources
from gpusched.dialects import gfd
from gpusched.dialects.inventory import inventory
from tests.build import gfd_labels, node
from tests.dialects.surveys import facts_of, only_pool, survey

CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus" / "nodes-and-configs"

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not CORPUS.is_dir(), reason=f"the public corpus is not beside the checkout: {CORPUS}"),
]


def load(name: str) -> Any:
    # One file was pasted from a web page: its indentation is no-break spaces.
    return yaml.safe_load((CORPUS / name).read_text().replace("\u00a0", " "))


def surveyed(tree: object) -> Node:
    faults: list[Fault] = []
    found = inventory(read_node(tree, faults), GpuResources({}))
    assert faults == []
    return found


A100 = ("ampere", "a100-sxm4-40gb")
FAKE = "run-ai+fake-gpu-operator/design__samples__"
NODES = {
    "kubernetes-sigs+kwok/site__content__en__docs__examples__injectfailure__virtual-gpu-node.yaml": {
        "nvidia.com/gpu": (8, (None,) * 8)
    },
    f"{FAKE}lt-2.9__fraction__node__1_workload.yaml": {
        "nvidia.com/gpu": (2, ("turing", "t4", "none", 1, 2, 15360, 15360, 15360))
    },
    f"{FAKE}ge-2.9__mig__node__7g-40gb.yaml": {
        "nvidia.com/gpu": (0, (*A100, "none", 1, 0, 40960, 40960, 40960)),
        "nvidia.com/mig-1g.5gb": (0, (*A100, "mig", 1, 0, 40960, 4864, 4864)),
        "nvidia.com/mig-2g.10gb": (0, (*A100, "mig", 1, 0, 40960, 9856, 9856)),
        "nvidia.com/mig-3g.20gb": (0, (*A100, "mig", 1, 0, 40960, 19968, 19968)),
        "nvidia.com/mig-7g.40gb": (1, (*A100, "mig", 1, 1, 40960, 40192, 40192)),
    },
    f"{FAKE}lt-2.9__mig__node__3_instances.yaml": {
        "nvidia.com/gpu": (0, (*A100, "none", 1, 0, 40960, 40960, 40960)),
        "nvidia.com/mig-1g.5gb": (2, (*A100, "mig", 1, 2, 40960, 4864, 4864)),
        "nvidia.com/mig-2g.10gb": (1, (*A100, "mig", 1, 1, 40960, 9856, 9856)),
        "nvidia.com/mig-3g.20gb": (0, (*A100, "mig", 1, 0, 40960, 19968, 19968)),
    },
    f"{FAKE}lt-2.9__mig__node__4_instances.yaml": {
        "nvidia.com/gpu": (0, (*A100, "none", 1, 0, 40960, 40960, 40960)),
        "nvidia.com/mig-1g.5gb": (3, (*A100, "mig", 1, 3, 40960, 4864, 4864)),
        "nvidia.com/mig-2g.10gb": (1, (*A100, "mig", 1, 1, 40960, 9856, 9856)),
        "nvidia.com/mig-3g.20gb": (0, (*A100, "mig", 1, 0, 40960, 19968, 19968)),
    },
}


@pytest.mark.parametrize("name", sorted(NODES))
def test_node_dump(name: str) -> None:
    found = surveyed(load(name))
    assert {pool.resource: (pool.slots, facts_of(pool)) for pool in found.pools} == NODES[name]
    assert [pool.blocked for pool in found.pools] == [None] * len(found.pools)


def test_no_node_dump_is_forgotten() -> None:
    texts = {str(path.relative_to(CORPUS)): path.read_text() for path in CORPUS.rglob("*.y*ml")}
    assert {name for name, text in texts.items() if re.search(r"^kind: Node$", text, re.MULTILINE)} == set(NODES)


def plugin_sharing(tree: Any) -> tuple[str, int]:
    """The kind of sharing and the replicas of a device-plugin configuration, or of chart values that hold one."""
    if "devicePlugin" in tree:
        tree = yaml.safe_load(next(iter(tree["devicePlugin"]["config"]["data"].values())))
    for key, kind in (("mps", "mps"), ("timeSlicing", "time-slicing")):
        if key in tree["sharing"]:
            return kind, tree["sharing"][key]["resources"][0]["replicas"]
    raise AssertionError(tree)


@pytest.mark.parametrize(
    ("name", "visible"),
    [
        ("rverchere+gpu-k8s-demo/manifests__dp-mps-4.yaml", 3840),
        ("rverchere+gpu-k8s-demo/manifests__gpu-operator-values-time-slicing.yml", 15360),
    ],
)
def test_sharing_that_a_configuration_makes(name: str, visible: int) -> None:
    kind, replicas = plugin_sharing(load(name))
    labels = gfd_labels("Tesla-T4-SHARED", count=1, replicas=replicas, sharing=kind)
    pool = only_pool(surveyed(node(gpus=replicas, labels=labels)))
    assert facts_of(pool) == ("turing", "t4", kind, 4, 1, 15360, visible, 3840)


VALUES = {
    "[0-9]{10}": "1700000000",
    "[0-9]+": "1",
    "[0-9]*": "",
    "([0-9]+)(.[0-9]+)(.[0-9]+)": "550.107.02",
    "([0-9]+)(.[0-9]+)": "12.4",
    ".*": "unknown",
    "[none|mps|time-slicing]": "none",
    "[A-Za-z_-]+": "Tesla-T",
    "[a-z]+": "pascal",
    "[unknown|compute|graphics]": "compute",
    "[true|false]": "false",
    "[a-z_-]+": "mixed",
    "[compute]": "compute",
}


def promised(name: str) -> dict[str, str]:
    """Labels that GPU Feature Discovery's own tests expect, each with some value of the expected form."""
    labels = {}
    for line in (CORPUS / "NVIDIA+k8s-device-plugin" / name).read_text().splitlines():
        key, _, value = line.replace("\\", "").partition("=")
        labels[key.replace("[0-9]+g.[0-9]+gb", "1g.5gb")] = VALUES[value]
    return labels


@pytest.mark.parametrize(
    ("name", "resource", "sharing"),
    [
        ("tests__expected-output.txt", "nvidia.com/gpu", "none"),
        ("tests__expected-output-mig-none.txt", "nvidia.com/gpu", "none"),
        ("tests__expected-output-mig-single.txt", "nvidia.com/gpu", "mig"),
        ("tests__expected-output-mig-mixed.txt", "nvidia.com/mig-1g.5gb", "mig"),
    ],
)
def test_labels_that_gfd_promises(name: str, resource: str, sharing: str) -> None:
    labels = promised(name) | {gfd.COMPUTE_MAJOR: "6"}
    pool = only_pool(survey(labels, {resource: 1}))
    assert (pool.family, pool.product, pool.sharing, pool.replicas) == ("pascal", "t", sharing, 1)
    assert (pool.visible_memory_mib, pool.cuda_version, pool.driver_version) == (1, 12040, 550107002)


def test_every_key_that_the_dialect_reads_is_promised() -> None:
    read = {
        value
        for name, value in vars(gfd).items()
        if name.isupper() and name[0] != "_" and str(value).startswith("nvidia.com/")
    } - {
        gfd.PRESENT,
        gfd.CUDA,
        gfd.DRIVER,
        gfd.OLD_CUDA,
        gfd.OLD_DRIVER,
    }
    keys = {key for path in (CORPUS / "NVIDIA+k8s-device-plugin").glob("*.txt") for key in promised(path.name)}
    assert read <= keys
    assert {f"{prefix}.major" for prefix in (gfd.CUDA, gfd.DRIVER, gfd.OLD_CUDA, gfd.OLD_DRIVER)} <= keys


def test_every_profile_of_the_mig_tables_is_in_the_catalogue() -> None:
    known = {profile for card in CARDS for profile in card.mig}
    missing = set()
    for path in (CORPUS / "NVIDIA+mig-parted").glob("*.yaml"):
        for devices in yaml.safe_load(path.read_text())["mig-configs"].values():
            for one in devices:
                missing |= {profile.replace("+", ".") for profile in one.get("mig-devices", {})} - known
    assert {profile for profile in missing if profile_gigabytes(profile) is None} == set()
    assert missing == set()
