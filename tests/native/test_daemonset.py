import msgspec
import pytest

from gpusched.core.node import Taint
from gpusched.core.pod import Pod, Toleration
from gpusched.core.selector import NodeTerm, Operator, Requirement
from gpusched.native.daemonset import daemon_nodes, daemon_pod
from gpusched.native.filter import static_reason
from tests.native.records import make_node, make_pod

GPU_TERM = (NodeTerm((Requirement("gpu", Operator.EXISTS),)),)
AUTOMATIC = [
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
]
NODES = [
    make_node("plain"),
    make_node("gpu", {"gpu": "a100"}, (Taint("nvidia.com/gpu"),)),
    make_node("cordoned", taints=(Taint("node.kubernetes.io/unschedulable"),), unschedulable=True),
    make_node("lost", taints=(Taint("node.kubernetes.io/unreachable", effect="NoExecute"),)),
    make_node("new", taints=(Taint("node.kubernetes.io/not-ready"),)),
    make_node("offline", taints=(Taint("node.kubernetes.io/network-unavailable"),)),
    make_node("soft", taints=(Taint("spot", effect="PreferNoSchedule"),)),
]


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (make_pod(), "plain cordoned lost soft"),
        (make_pod(host_network=True), "plain cordoned lost offline soft"),
        (make_pod(tolerations=(Toleration("", "Exists"),)), "plain gpu cordoned lost new offline soft"),
        (make_pod(node_selector={"gpu": "a100"}), ""),
        (make_pod(node_affinity=GPU_TERM, tolerations=(Toleration("nvidia.com/gpu", "Exists"),)), "gpu"),
        (make_pod(node_name="soft"), "soft"),
    ],
)
def test_nodes_that_get_a_pod(template: Pod, expected: str) -> None:
    assert " ".join(daemon_nodes(template, NODES)) == expected


def test_daemon_pod_is_pinned_and_tolerates_what_the_controller_adds() -> None:
    own = Toleration("node.kubernetes.io/not-ready", "Exists", "", "NoExecute")
    template = make_pod("exporter", node_selector={"gpu": "a100"}, node_affinity=GPU_TERM, tolerations=(own,))

    pod = daemon_pod(template, "n7")

    added = [Toleration(f"node.kubernetes.io/{key}", "Exists", "", effect) for key, effect in AUTOMATIC]
    pinned = NodeTerm(fields=(Requirement("metadata.name", Operator.IN, ("n7",)),))
    spec = msgspec.structs.replace(template.spec, tolerations=(own, *added[1:]), node_affinity=(pinned,))
    assert pod == msgspec.structs.replace(template, spec=spec)


def test_daemon_pod_passes_the_static_filters_on_its_node_alone() -> None:
    pod = daemon_pod(make_pod(host_network=True), "offline")

    assert [node.name for node in NODES if static_reason(pod, node) is None] == ["offline"]
