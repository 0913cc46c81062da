"""The real Karpenter beside gpusched: it buys what policy allows, from zero, and nothing for pods that may not run."""

import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from gpusched.core.codes import REASON_TEXT, Reason
from gpusched.local.control_plane import ControlPlane
from gpusched.local.karpenter import InstanceType, Karpenter
from tests.build import gfd_labels, node, pod, t4_node
from tests.e2e.scheduling import annotate_namespace, bound_node, condition, create, path, reconfigure, refusal
from tests.e2e.seen import nodes_seen, policy

#: Longer than Karpenter gathers pods, twice.
NOTHING_SECONDS = 6
TAINT = {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}
GPU = "karpenter.k8s.aws/instance-gpu-"


def machine(name: str, price: float, gpu: str | None, memory_mib: int = 0, count: int = 1) -> InstanceType:
    """An instance type with the labels that Karpenter's provider for AWS writes."""
    resources = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    labels: dict[str, str | None] = {"karpenter.k8s.aws/instance-family": name.partition(".")[0]}
    if gpu is None:
        labels |= {f"{GPU}{fact}": None for fact in ("name", "manufacturer", "count", "memory")}
    else:
        resources["nvidia.com/gpu"] = str(count)
        labels |= {f"{GPU}name": gpu, f"{GPU}manufacturer": "nvidia"}
        labels |= {f"{GPU}count": str(count), f"{GPU}memory": str(memory_mib)}
    return InstanceType(name, price, resources, labels)


TYPES = (
    machine("m5.4xlarge", 0.1, None),
    machine("g4dn.4xlarge", 0.5, "t4", 16384),
    machine("g5.4xlarge", 1.0, "a10g", 24576),
    machine("p4de.24xlarge", 30.0, "a100", 81920, 8),
    machine("p5.4xlarge", 40.0, "h100", 81920),
    machine("p5.48xlarge", 90.0, "h100", 81920, 8),
)


@pytest.fixture(scope="module")
def karpenter(control_plane, installed, karpenter_programs) -> Iterator[Karpenter]:
    """Karpenter, no GPU node, and one node of the cluster's own that shows whose labels to expect."""
    control_plane.create_nodes([node("ka-system", labels={"karpenter.k8s.aws/instance-family": "m5"}, gpus=None)])
    reconfigure(control_plane, installed, {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]})
    with Karpenter(control_plane, karpenter_programs, TYPES, [TAINT]) as running:
        yield running


@pytest.fixture
def place(control_plane, installed, karpenter, request) -> Iterator[str]:
    """A Namespace of the test's own; pods and nodes of the test are gone afterwards."""
    name = f"ka-{abs(hash(request.node.name)) % 10**6}"
    policy(control_plane, name)
    yield name
    pods = f"/api/v1/namespaces/{name}/pods"
    control_plane.request("DELETE", pods, query={"gracePeriodSeconds": "0"}).expect()
    control_plane.wait_for(pods, lambda tree: tree["items"] == [], what="pods gone")
    control_plane.request("DELETE", "/apis/karpenter.sh/v1/nodeclaims").expect()
    control_plane.wait_until(lambda: not karpenter.claims(), 60, "NodeClaims gone")


def bought(plane: ControlPlane, node_name: str) -> str:
    labels: Any = plane.get(f"/api/v1/nodes/{node_name}")["metadata"]
    return str(labels["labels"]["node.kubernetes.io/instance-type"])


def nothing_is_bought(karpenter: Karpenter) -> bool:
    time.sleep(NOTHING_SECONDS)
    return karpenter.claims() == []


@pytest.mark.parametrize(
    ("annotations", "instance_type"),
    [
        ({}, "g4dn.4xlarge"),
        ({"families": "hopper"}, "p5.4xlarge"),
        ({"products": "A10G"}, "g5.4xlarge"),
    ],
    ids=["no policy", "family", "product"],
)
def test_the_cheapest_machine_that_policy_allows_is_bought(control_plane, place, annotations, instance_type):
    policy(control_plane, place, **annotations)
    create(control_plane, pod("p", place))

    found = bound_node(control_plane, place, "p", 60)

    assert bought(control_plane, found) == instance_type
    nodes_seen(control_plane, found)


def test_what_the_cloud_does_not_tell_is_waited_for_and_not_bought_again(control_plane, karpenter, place):
    """What a container sees of a card is known when discovery has run on the node, minutes after it is there."""
    policy(control_plane, place, min_gpu_memory="40Gi")
    create(control_plane, pod("p", place))
    unknown = REASON_TEXT[Reason.FACTS_UNKNOWN]
    control_plane.wait_for(
        path(place, "p"), lambda tree: unknown in (condition(tree) or ""), 60, "machine bought, its facts unknown"
    )
    time.sleep(NOTHING_SECONDS)
    (claim,) = karpenter.claims()
    name = claim["status"]["nodeName"]
    assert bought(control_plane, name) == "p4de.24xlarge"

    # The provider takes what was asked for as the capacity; a kubelet would say what is there.
    merge = "application/merge-patch+json"
    capacity = {"status": {"capacity": {"nvidia.com/gpu": "8"}}}
    control_plane.request("PATCH", f"/api/v1/nodes/{name}/status", capacity, content_type=merge).expect()
    labels = gfd_labels("NVIDIA-A100-SXM4-80GB", count=8, memory=81920, compute=(8, 0), family="ampere")
    metadata = {"metadata": {"labels": labels}}
    control_plane.request("PATCH", f"/api/v1/nodes/{name}", metadata, content_type=merge).expect()

    assert bound_node(control_plane, place, "p", 60) == name
    assert len(karpenter.claims()) == 1


def test_nothing_is_bought_for_what_no_machine_has(control_plane, karpenter, place):
    policy(control_plane, place, families="ada")
    create(control_plane, pod("p", place))

    assert "didn't match Pod's node affinity" in refusal(control_plane, place, "p")
    assert nothing_is_bought(karpenter)


def test_a_pod_behind_the_quota_buys_nothing_until_it_has_room(control_plane, karpenter, place):
    policy(control_plane, place, quota="*=0")
    create(control_plane, pod("p", place))
    assert nothing_is_bought(karpenter)

    annotate_namespace(control_plane, place, quota="*=1")

    assert bought(control_plane, bound_node(control_plane, place, "p", 60)) == "g4dn.4xlarge"


def test_a_claim_without_room_buys_nothing_and_says_so(control_plane, karpenter, place, fake_nodes, tmp_path):
    """Karpenter sees free slots; it cannot know of claims. The user is told that waiting for it is in vain."""
    fake_nodes([t4_node("ka-shared", gpus=1, replicas=4)])
    nodes_seen(control_plane, "ka-shared")
    create(control_plane, pod("first", place, annotations={"gpusched.io/gpu-memory": "12Gi"}))
    bound_node(control_plane, place, "first")
    create(control_plane, pod("second", place, annotations={"gpusched.io/gpu-memory": "6Gi"}))

    assert REASON_TEXT[Reason.MEMORY_CLAIM] in refusal(control_plane, place, "second")
    assert nothing_is_bought(karpenter)
    dump = tmp_path / "dump.yaml"
    trees = [
        {**tree, "apiVersion": "v1", "kind": kind}
        for kind, plural in (("Node", "nodes"), ("Namespace", "namespaces"), ("Pod", "pods"))
        for tree in listed(control_plane, plural)
    ]
    dump.write_text(yaml.safe_dump_all(trees), encoding="utf-8")
    command = [sys.executable, "-m", "gpusched", "why", f"{place}/second", "--cluster", str(dump)]
    told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    sentence = "an autoscaler will not help: it sees free slots on ka-shared and knows nothing of memory claims"
    assert sentence in " ".join(told.split()), told


def listed(plane: ControlPlane, plural: str) -> list[Any]:
    items: Any = plane.get(f"/api/v1/{plural}")["items"]
    return list(items)
