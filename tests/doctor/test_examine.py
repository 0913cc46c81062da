import inspect
import re

import pytest

from gpusched.doctor.check import Severity
from gpusched.doctor.examine import CHECKS, examine
from gpusched.doctor.scene import Installation, Probe
from gpusched.policy.model import Config
from tests.build import Tree, a100_node, bound, container, gfd_labels, h100_node, namespace, node, pod, t4_node
from tests.doctor.scenes import found, scene
from tests.simulate.scene import configured, cpu_node, workload

NVIDIA = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}, "handler": "nvidia"}
HEALTHY = [
    t4_node("t", gpus=2, replicas=4),
    h100_node("h", taints=[{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]),
    cpu_node(),
    NVIDIA,
    namespace(families="turing, hopper", quota="hopper=4"),
    bound(pod("p"), "h"),
    bound(pod("q", annotations={"gpusched.io/gpu-memory": "3Gi"}), "t"),
]


def _with_status(tree: Tree, **status: object) -> Tree:
    tree["status"] = {**tree.get("status", {}), **status}
    return tree


def _created(tree: Tree) -> Tree:
    tree["metadata"] |= {"creationTimestamp": "2030-01-01T00:00:00Z", "uid": f"uid-{tree['metadata']['name']}"}
    return tree


def _mig_invalid() -> Tree:
    return node("n", gpus=1, labels=gfd_labels("NVIDIA-A100-SXM4-80GB-MIG-INVALID", mig_strategy="single"))


REFUSED = workload("Deployment", "web", template=pod(annotations={"gpusched.io/families": "turing"}))

FAULTS: dict[str, tuple[list[Tree], str, list[str]]] = {
    "capacity without allocatable": (
        [t4_node("t", gpus=0, capacity={"nvidia.com/gpu": "4"})],
        "node-without-allocatable",
        ["node/t"],
    ),
    "labels without a resource": (
        [node("n", gpus=None, labels=gfd_labels())],
        "node-without-allocatable",
        ["node/n"],
    ),
    "an unhealthy device": (
        [h100_node("h", gpus=7, capacity={"nvidia.com/gpu": "8"})],
        "unhealthy-devices",
        ["node/h"],
    ),
    "no labels at all": ([node("n", gpus=2)], "facts-unknown", ["node/n"]),
    "labels of another number of slots": (
        [h100_node("h", gpus=8, labels={"nvidia.com/gpu.count": "4"})],
        "facts-unknown",
        ["node/h"],
    ),
    "family against compute capability": (
        [node("n", labels=gfd_labels("NVIDIA-L4", memory=23034, compute=(8, 9), family="ampere"))],
        "labels-disagree",
        ["node/n"],
    ),
    "an invalid MIG configuration": ([_mig_invalid()], "mig-invalid", ["node/n"]),
    "MIG manager at work": (
        [h100_node("h", labels={"nvidia.com/mig.config.state": "pending"})],
        "reconfiguring",
        ["node/h"],
    ),
    "a taint of somebody's own": (
        [h100_node("h", taints=[{"key": "team", "value": "b", "effect": "NoSchedule"}])],
        "untolerated-taint",
        ["node/h"],
    ),
    "more held than there is": (
        [t4_node("t"), bound(pod("a"), "t"), bound(pod("b"), "t")],
        "over-claimed",
        ["node/t"],
    ),
    "claims that can meet": (
        [
            t4_node("t", replicas=2),
            *(bound(pod(name, annotations={"gpusched.io/gpu-memory": "10Gi"}), "t") for name in "ab"),
        ],
        "over-claimed",
        ["node/t"],
    ),
    "a cordoned node": ([h100_node("h", unschedulable=True)], "out-of-service", ["node/h"]),
    "a broken annotation of a node": (
        [h100_node("h", annotations={"gpusched.io/facts": "replicas=many"})],
        "node-annotations",
        ["node/h"],
    ),
    "a malformed policy": ([h100_node(), namespace(min_gpu_memory="20")], "policy-malformed", ["namespace/team-a"]),
    "an unknown key": ([h100_node(), namespace(famlies="hopper")], "policy-unknown-key", ["namespace/team-a"]),
    "families that nobody has": ([t4_node(), namespace(families="hopper")], "family-absent", ["namespace/team-a"]),
    "one family too many": ([t4_node(), namespace(families="hopper, turing")], "family-unused", ["namespace/team-a"]),
    "more than the quota": (
        [h100_node("h"), namespace(quota="hopper=1"), bound(pod("p", gpus=2), "h")],
        "quota-exceeded",
        ["namespace/team-a"],
    ),
    "a device plugin in a namespace that is not exempt": (
        [h100_node("h"), bound(pod("nvidia-device-plugin-daemonset-x", "plugins", container()), "h")],
        "exempt-namespace",
        ["namespace/plugins"],
    ),
    "no class for NVIDIA": (
        [h100_node(), {**NVIDIA, "metadata": {"name": "other"}}],
        "runtime-class-missing",
        ["runtimeclass/nvidia"],
    ),
    "a class of a policy": (
        [h100_node(), NVIDIA, namespace(runtime_class="kata")],
        "runtime-class-missing",
        ["namespace/team-a"],
    ),
    "a class of a pod": (
        [h100_node("h"), NVIDIA, bound(pod("p", runtimeClassName="gone"), "h")],
        "pod-runtime-class",
        ["pod/team-a/p"],
    ),
    "a pod that the kubelet refused": (
        [h100_node("h"), _with_status(bound(pod("p"), "h", phase="Failed"), reason="UnexpectedAdmissionError")],
        "unexpected-admission-error",
        ["pod/team-a/p"],
    ),
    "a gate that should be gone": (
        [h100_node("h"), namespace(quota="*=4"), _created(pod("p", schedulingGates=[{"name": "gpusched.io/quota"}]))],
        "stale-gate",
        ["pod/team-a/p"],
    ),
    "an older policy": (
        [h100_node("h"), namespace(families="hopper"), pod("p", annotations={"status.gpusched.io/policy-hash": "old"})],
        "stale-policy",
        ["pod/team-a/p"],
    ),
    "a selector of nothing": (
        [h100_node("h"), pod("p", nodeSelector={"disk": "fast"})],
        "affinity-matches-nothing",
        ["pod/team-a/p"],
    ),
    "a resource of nobody": (
        [h100_node("h"), pod("p", resource="nvidia.com/mig-1g.5gb")],
        "resource-absent",
        ["pod/team-a/p"],
    ),
    "a misspelt resource": (
        [h100_node("h"), pod("p", resource="nvidia.com/gpus")],
        "resource-misspelt",
        ["pod/team-a/p"],
    ),
    "a workload whose pods are refused": (
        [t4_node("t"), namespace(families="hopper"), REFUSED],
        "pods-refused",
        ["deployment/team-a/web"],
    ),
    "bound by somebody else": (
        [h100_node("h"), bound(pod("p"), "h"), bound(pod("q"), "h", ours=False)],
        "bound-elsewhere",
        ["pod/team-a/q"],
    ),
    "nothing bound by gpusched": (
        [h100_node("h"), bound(pod("q"), "h", ours=False)],
        "nothing-bound",
        ["kube-scheduler"],
    ),
    "another scheduler": ([h100_node("h"), pod("p", schedulerName="volcano")], "other-scheduler", ["pod/team-a/p"]),
}


def test_a_cluster_in_good_order():
    assert found(HEALTHY) == {}


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_is_found(name):
    trees, check, subjects = FAULTS[name]

    assert found(trees)[check] == subjects


def test_two_models_on_one_node():
    tree = node(
        "n",
        gpus=1,
        allocatable={"nvidia.com/gpu-big": "1"},
        labels=gfd_labels(),
        annotations={"gpusched.io/facts": "nvidia.com/gpu-big:product=h100-80gb-hbm3, nvidia.com/gpu:product=t4"},
    )
    config = configured(resources=[{"name": "nvidia.com/gpu-big", "vendor": "nvidia"}])

    assert found([tree], config=config)["mixed-models"] == ["node/n"]


def test_a_ceiling_that_leaves_nothing():
    config = configured(ceiling={"families": "ampere"})

    assert found([a100_node(), namespace(families="hopper")], config=config)["policy-empty"] == ["namespace/team-a"]


def test_policy_of_a_namespace_that_is_being_deleted_is_nobodys_problem():
    going = namespace(families="hopper", min_gpu_memory="20", quota="turing=x")
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    assert found([t4_node(), going]) == {}


def test_checks_of_the_installation_need_one():
    names = {problem.check for problem in examine(scene([], installation=Installation()))}

    assert names == {"gpusched-absent"}


INSTALLED = Installation(present=True, holder="a", lease_age=1.0, version=(1, 37))


@pytest.mark.parametrize(
    ("changes", "check"),
    [
        ({"dry_run": Probe("webhook", "failed calling webhook")}, "webhook-unreachable"),
        ({"shipped": ({"kind": "MutatingWebhookConfiguration", "metadata": {"name": "gpusched"}},)}, "webhook-drift"),
        ({"missing_policies": ("gpusched-pod-claims",)}, "policy-guard-missing"),
        ({"bundles": (Probe("w", "the CA bundle is no certificate"),)}, "ca-bundle"),
        ({"expiry": (Probe("w", "CN=gpusched ends on 2030-01-01"),)}, "certificate-expiry"),
        ({"holder": ""}, "leader"),
        ({"lease_age": 3600.0}, "leader"),
        ({"replicas": (Probe("pod/a", "not ready: the cache is old"),)}, "replica-not-ready"),
        ({"clocks": (Probe("pod/a", "clock: 70 s behind the API server's"),)}, "clock-skew"),
        ({"scheduler": (Probe("pod/kube-scheduler", "runs without --config"),)}, "scheduler-configuration"),
        ({"version": (1, 27)}, "kubernetes-version"),
        ({"strangers": ("hami-webhook",)}, "other-gpu-webhook"),
        ({"replicas": (Probe("pod/a", "forbidden", known=False),)}, "not-examined"),
    ],
)
def test_faults_of_the_installation(changes, check):
    installation = Installation(**{field: getattr(INSTALLED, field) for field in INSTALLED.__struct_fields__} | changes)

    assert list(found(HEALTHY, installation=installation)) == [check]


def test_an_installation_in_good_order():
    assert found(HEALTHY, installation=INSTALLED) == {}


def test_the_table_of_checks():
    assert len({check.name for check in CHECKS}) == len(CHECKS) >= 40
    for check in CHECKS:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", check.name)
        assert check.matters.endswith(".")
        assert not check.title.endswith(".")
        assert inspect.getdoc(check.look)


def test_errors_come_first_and_every_sight_names_a_command():
    problems = examine(scene([tree for trees, _, _ in FAULTS.values() for tree in trees], config=Config()))
    order = [list(Severity).index(problem.severity) for problem in problems]

    assert order == sorted(order)
    for problem in problems:
        for sight in problem.sights:
            assert re.match(r"(kubectl|gpusched) ", sight.fix), problem.check


FACTS = "gpusched.io/facts"
RELABEL = "kubectl delete pod -A -l app=gpu-feature-discovery --field-selector spec.nodeName=n"
STALE = "nvidia.com/gpu: memory unknown, since labels and slots disagree: 8 slots are offered, "


@pytest.mark.parametrize(
    ("extra", "seen", "fix"),
    [
        (
            {},
            "nvidia.com/gpu: family and memory unknown",
            'kubectl annotate node n gpusched.io/facts="family=…, gpu-memory=…"  # or install GPU Feature Discovery',
        ),
        (
            {"labels": gfd_labels("NVIDIA-H100-80GB-HBM3", count=4)},
            f"{STALE}gfd labels tell of 4 × 1",
            f'{RELABEL}  # it writes labels anew; for unlike cards: kubectl annotate node n {FACTS}="gpu-memory=…"',
        ),
        (
            {"labels": gfd_labels(count=4), "annotations": {"gpusched.io/facts": "replicas=4"}},
            f"{STALE}gfd labels tell of 4 devices, gpusched.io/facts of replicas 4",
            'kubectl annotate node n --overwrite gpusched.io/facts="replicas=…"  # slots per GPU',
        ),
    ],
)
def test_unknown_facts_are_mended_by_their_cause(extra, seen, fix):
    problems = {problem.check: problem for problem in examine(scene([node("n", gpus=8, **extra)], config=Config()))}
    (sight,) = problems["facts-unknown"].sights

    assert (sight.subject, sight.seen, sight.fix) == ("node/n", seen, fix)
