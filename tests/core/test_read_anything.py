"""No tree, however odd, makes a reader raise: what cannot be read is a fault."""

from copy import deepcopy
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpusched.core.demand import demand, mentions_gpu, native_requests
from gpusched.core.fault import Fault
from gpusched.core.read_cluster import read_cluster_policy, read_node, read_runtime_class
from gpusched.core.read_pod import read_pod
from gpusched.core.resources import GpuResources
from tests.build import container, node, pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TERM = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["x"]}], "matchFields": []}
POD_TERM = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "x"}}, "matchLabelKeys": ["a"]}
FULL_POD = pod(
    "p",
    "team-a",
    container(gpus=1, env=[{"name": "A", "value": "1"}], ports=[{"hostPort": 1}]),
    initContainers=[container(gpus=1, restartPolicy="Always")],
    annotations={"a": "b"},
    labels={"a": "x"},
    affinity={
        "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [TERM]}},
        "podAffinity": {REQUIRED: [POD_TERM]},
        "podAntiAffinity": {REQUIRED: [POD_TERM]},
    },
    topologySpreadConstraints=[POD_TERM | {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}],
    tolerations=[{"key": "a"}],
    resources={"limits": {"cpu": 1}},
    overhead={"cpu": 1},
    volumes=[{"emptyDir": {}}],
    schedulingGates=[{"name": "g"}],
)
CLUSTER_POLICY = {"metadata": {"labels": {"helm.sh/chart": "x"}}, "spec": {"operator": {}, "cdi": {"enabled": True}}}
RUNTIME_CLASS = {"metadata": {"name": "x"}, "overhead": {"podFixed": {"cpu": 1}}, "scheduling": {"nodeSelector": {}}}

odd = st.sampled_from(
    [None, True, 7, 10**5000, -1.5, float("inf"), "", "٣", "1e999999999", [], [None], [[]], {}, {"a": []}, {1: 2}]
)


@st.composite
def damaged(draw: st.DrawFn, tree: object) -> object:
    """A copy of the tree with one to three values replaced by odd ones."""
    copy = deepcopy(tree)
    for _ in range(draw(st.integers(1, 3))):
        here: Any = copy
        steps = draw(st.integers(1, 8))
        for _ in range(steps):
            keys = list(here) if isinstance(here, dict) else list(range(len(here)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if not isinstance(here[key], dict | list) or draw(st.booleans()):
                here[key] = deepcopy(draw(odd))
                break
            here = here[key]
    return copy


@given(damaged(FULL_POD) | odd)
@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow])
def test_pods(tree: object) -> None:
    faults: list[Fault] = []
    resources = GpuResources()

    read = read_pod(tree, faults)

    assert demand(read, resources, None).total >= 0
    assert mentions_gpu(read, resources) in {True, False}
    assert all(amount > 0 for amount in native_requests(read).values())
    assert len(set(faults)) == len(faults)
    assert all(fault.message and not fault.message.endswith(".") for fault in faults)


@given(damaged(node()) | odd)
def test_nodes(tree: object) -> None:
    read = read_node(tree, [])

    assert all(amount >= 0 for amount in [*read.allocatable.values(), *read.capacity.values()])


@given(damaged(CLUSTER_POLICY) | damaged(RUNTIME_CLASS) | odd)
def test_other_cluster_objects(tree: object) -> None:
    faults: list[Fault] = []
    read_cluster_policy(tree, faults)
    read_runtime_class(tree, faults)

    assert all(fault.message for fault in faults)
