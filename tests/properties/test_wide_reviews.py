"""The time that one admission review takes grows with its size and no faster, whatever it is that there is much of.

While a review is judged nobody else is answered, and the API server sends objects of up to 3 MiB. Counted are lines of
Python that were executed, which no other load changes.
"""

import sys
from collections.abc import Callable
from types import FrameType

import msgspec
import pytest

from tests.build import Tree, a100_node, container, gfd_labels, h100_node, node, pod, t4_node
from tests.simulate.scene import workload
from tests.state.records import cluster_with, namespace_seen, node_seen
from webhook.review import answer_review

#: Lines for a KiB of the review, and for the first few hundred of whatever is compared with known names.
PER_KIB = 5_000
FIXED = 500_000
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
CLUSTER = cluster_with(
    node_seen(h100_node("h")),
    node_seen(t4_node("t", gpus=2, replicas=4)),
    node_seen(a100_node("a")),
    node_seen(node("m", gpus=7, resource="nvidia.com/mig-1g.10gb", labels=gfd_labels("NVIDIA-A100-SXM4-80GB"))),
    namespace_seen(
        families="hopper, ampere",
        products="a100, h100",
        min_gpu_memory="40Gi",
        quota="*=4",
        node_selector="disk=ssd",
        visible_devices="deny",
    ),
)


def _terms(*terms: Tree) -> Tree:
    return pod(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}})


def _in(key: str, *values: str) -> Tree:
    return {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}


def _limits(names: list[str]) -> Tree:
    return pod("p", "team-a", container(resources={"limits": dict.fromkeys(names, "1")}))


def _ray(count: int) -> Tree:
    group = {"replicas": 1, "template": {"spec": pod()["spec"]}}
    spec = {"workerGroupSpecs": [{"groupName": f"g{index}", **group} for index in range(count)]}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "r"}, "spec": spec}


PRODUCT = "nvidia.com/gpu.product"
WIDE: dict[str, Callable[[int], Tree]] = {
    "containers": lambda n: pod("p", "team-a", *[container(f"c{i}", gpus=1) for i in range(n)]),
    "bad amounts": lambda n: pod("p", "team-a", *[container(f"c{i}", gpus=f"0.{i}1") for i in range(n)]),
    "claims": lambda n: pod(
        "p", "team-a", *[container(f"c{i}", gpus=1) for i in range(n)], annotations={"gpusched.io/gpu-memory": "6Gi"}
    ),
    "environment": lambda n: pod(
        "p", "team-a", container(gpus=1, env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": str(i)} for i in range(n)])
    ),
    "tolerations": lambda n: pod(tolerations=[{"key": "nvidia.com/gpu", "value": f"v{i}"} for i in range(n)]),
    "terms": lambda n: _terms(*[_in(f"k{i}", "v") for i in range(n)]),
    "terms with products": lambda n: _terms(*[_in(PRODUCT, f"NVIDIA-A100-{i}") for i in range(n)]),
    "expressions": lambda n: _terms({"matchExpressions": [_in(f"k{i}", "v")["matchExpressions"][0] for i in range(n)]}),
    "products": lambda n: _terms(_in(PRODUCT, *[f"NVIDIA-A100-{i}" for i in range(n)])),
    "families": lambda n: _terms(_in("nvidia.com/gpu.family", *[f"amper{i}" for i in range(n)])),
    "node selector": lambda n: pod(nodeSelector={f"k{i}": "v" for i in range(n)}),
    "annotations": lambda n: pod(annotations={f"gpusched.io/familis{i}": "v" for i in range(n)}),
    "resources": lambda n: _limits([f"example.com/r{i}" for i in range(n)]),
    "near misses": lambda n: _limits([f"nvidia.com/gpu{i}" for i in range(n)]),
    "domains": lambda n: _limits([f"n{i}dia.com/gpu" for i in range(n)]),
    "profiles": lambda n: _limits([f"nvidia.com/mig-{i % 9}g.{i}gb" for i in range(n)]),
    "a long resource": lambda n: _limits(["nvidia.com/" + "gpu" * 30 * n]),
    "a long domain": lambda n: _limits(["nvidia" * 15 * n + "/gpu"]),
    "a long profile": lambda n: _limits(["nvidia.com/mig-1g.5gb" + ".me" * 30 * n]),
    "a long amount": lambda n: pod(gpus="9" * 100 * n),
    "a long product": lambda n: pod(nodeSelector={PRODUCT: "A100-" * 20 * n}),
    "templates": _ray,
}


def _lines(tree: Tree, *, update: bool) -> tuple[int, int]:
    """Lines executed for a review of the object, and its size in KiB."""
    group, _, version = tree["apiVersion"].rpartition("/")
    request = {
        "uid": "u",
        "kind": {"group": group, "version": version, "kind": tree["kind"]},
        "namespace": "team-a",
        "operation": "UPDATE" if update else "CREATE",
        "object": tree,
        "oldObject": tree | {"status": {}} if update else None,
    }
    body = msgspec.json.encode({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
    count = 0

    def counting(_frame: FrameType, event: str, _argument: object) -> object:
        nonlocal count
        count += event == "line"
        return counting

    before = sys.gettrace()
    sys.settrace(counting)  # type: ignore[arg-type]  # a tracer that returns itself has no finite type
    try:
        answer_review(body, CLUSTER)
    finally:
        sys.settrace(before)
    return count, len(body) >> 10


@pytest.mark.parametrize("what", WIDE)
@pytest.mark.parametrize("kind", ["pod", "template", "update"])
def test_the_work_for_a_review_grows_with_its_size(what: str, kind: str) -> None:
    def of(count: int) -> tuple[int, int]:
        tree = WIDE[what](count)
        if kind != "pod" and tree["kind"] == "Pod":
            tree = workload("Deployment", template=tree)
        return _lines(tree, update=kind == "update")

    small, (large, kib) = of(250)[0], of(1_000)
    assert large <= 5 * small
    assert large <= PER_KIB * kib + FIXED
