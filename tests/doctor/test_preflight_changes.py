"""What a preflight says that installing changes."""

from gpusched.doctor.preflight import Fitting, Labelled, NewPod
from gpusched.doctor.preflight_changes import changes
from gpusched.policy.model import Config
from tests.build import h100_node, node, t4_node
from tests.doctor.site import found, site
from tests.doctor.test_preflight_facts import NVIDIA, OPERATOR

FACTS = (
    "vendor",
    "family",
    "product",
    "sharing",
    "gpu-memory-mib",
    "visible-memory-mib",
    "slot-memory-mib",
    "replicas",
    "cuda-version",
    "driver-version",
)
TAINT = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]


def test_nodes_by_the_labels_that_they_get() -> None:
    first = t4_node("a")
    labelled = changes(site(first, h100_node("b"), node("cpu", gpus=None)), Fitting("kubeadm", "")).labels

    assert labelled == (Labelled(("a", "b"), tuple(f"gpusched.io/{name}" for name in FACTS)),)


def test_labels_that_stand_are_not_written_and_wrong_ones_are() -> None:
    tree = t4_node("a", labels={"gpusched.io/vendor": "nvidia", "gpusched.io/family": "hopper"})
    (labelled,) = found(tree).changes.labels

    assert labelled.keys == tuple(f"gpusched.io/{name}" for name in FACTS if name != "vendor")


def test_new_pods_get_what_this_cluster_needs() -> None:
    mi300 = node("amd", gpus=8, resource="amd.com/gpu")

    assert found(t4_node("a", taints=TAINT), mi300, NVIDIA).changes.pods == (
        NewPod("amd.com/gpu", None, "not set: none is configured for amd", ()),
        NewPod("nvidia.com/gpu", "nvidia", "set nvidia: the nodes need it for nvidia", ("nvidia.com/gpu:NoSchedule",)),
    )
    assert found(t4_node("a"), NVIDIA, OPERATOR).changes.pods == (
        NewPod("nvidia.com/gpu", None, "not set: the GPU Operator runs in NRI mode", ()),
    )
    assert found(t4_node("a")).changes.pods == (NewPod("nvidia.com/gpu", None, "not set: nvidia does not exist", ()),)
    assert found(node("cpu", gpus=None)).changes.pods == ()


def test_objects_are_those_of_the_overlay() -> None:
    def names(overlay: str) -> set[tuple[str, str]]:
        return {(item.kind, item.name) for item in changes(site(), Fitting(overlay, "")).objects}

    kubeadm = names("kubeadm")
    assert {
        ("Namespace", "gpusched-system"),
        ("Deployment", "gpusched"),
        ("Service", "gpusched"),
        ("Lease", "gpusched"),
        ("Secret", "gpusched-webhook-tls"),
        ("Secret", "gpusched-extender-tls"),
        ("ValidatingAdmissionPolicyBinding", "gpusched-pod-claims"),
    } <= kubeadm
    assert names("kind") == names("k3s") == kubeadm
    assert kubeadm - names("webhook-only") == {("Service", "gpusched")}
    assert {
        ("Deployment", "gpusched-scheduler"),
        ("ConfigMap", "gpusched-scheduler-config-…"),
        ("ResourceQuota", "gpusched-critical-pods"),
    } <= names("managed") - kubeadm
    assert ("Certificate", "gpusched-extender") in names("cert-manager")


def test_webhooks_say_what_waits_for_them() -> None:
    webhooks = found().changes.webhooks

    assert [item.name for item in webhooks if item.failure_policy == "Fail"] == ["pods.mutate.gpusched.io"]
    assert {item.phase for item in webhooks} == {"mutating", "validating"}
    assert webhooks[0].resources == ("pods",)
    assert webhooks[0].exempt == ("kube-system", "kube-node-lease", "gpu-operator", "gpusched-system")
    (custom,) = (item for item in webhooks if item.name == "custom-workloads.validate.gpusched.io")
    assert {"rayjobs.ray.io", "services.serving.knative.dev"} <= set(custom.resources)


def test_a_managed_control_plane_opts_in_and_has_a_second_scheduler() -> None:
    managed, kubeadm = (changes(site(), Fitting(name, "")) for name in ("managed", "kubeadm"))
    configured = changes(site(config=Config(second_scheduler="mine")), Fitting("managed", ""))

    assert (managed.opt_in, managed.second_scheduler) == (True, "gpusched-scheduler")
    assert (kubeadm.opt_in, kubeadm.second_scheduler) == (False, "")
    assert configured.second_scheduler == "mine"
