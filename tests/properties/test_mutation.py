"""Whatever the pod, its patch applies, changes only what is gpusched's to change, and is empty the second time."""

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gpusched.core.cluster_facts import ClusterFacts, RuntimeClass
from gpusched.core.node import Taint
from gpusched.core.pod import Toleration
from gpusched.core.read_pod import read_pod
from gpusched.policy.model import Config
from tests.admission.patching import applied, mutated

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
KEYS = st.sampled_from(["zone", "gpusched.io/family", "gpusched.io/mixed", "kubernetes.io/hostname"])
EXPRESSION = st.fixed_dictionaries(
    {"key": KEYS, "operator": st.sampled_from(["In", "NotIn"]), "values": st.just(["hopper"]) | st.just(["true"])}
) | st.fixed_dictionaries({"key": KEYS, "operator": st.sampled_from(["Exists", "DoesNotExist"])})
FIELD = st.just({"key": "metadata.name", "operator": "In", "values": ["n1"]})
TERM = st.fixed_dictionaries(
    {},
    optional={
        "matchExpressions": st.none() | st.lists(EXPRESSION, max_size=2),
        "matchFields": st.none() | st.lists(FIELD, max_size=1),
    },
)
AFFINITY = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "nodeAffinity": st.none()
        | st.fixed_dictionaries(
            {},
            optional={
                REQUIRED: st.none()
                | st.fixed_dictionaries({}, optional={"nodeSelectorTerms": st.none() | st.lists(TERM, max_size=3)}),
                "preferredDuringSchedulingIgnoredDuringExecution": st.just([{"weight": 1, "preference": {}}]),
            },
        ),
        "podAffinity": st.none() | st.just({"x": [1]}),
    },
)
TOLERATION = st.fixed_dictionaries(
    {},
    optional={
        "key": st.sampled_from(["nvidia.com/gpu", "sku", ""]),
        "operator": st.sampled_from(["Exists", "Equal", ""]),
        "value": st.sampled_from(["present", "gpu", ""]),
        "effect": st.sampled_from(["NoSchedule", "NoExecute", ""]),
    },
)
VARIABLE = st.fixed_dictionaries(
    {"name": st.sampled_from(["A", "NVIDIA_VISIBLE_DEVICES", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"])},
    optional={"value": st.sampled_from(["", "0=2G", "0=99G", "all"]), "valueFrom": st.just({"fieldRef": {}})},
)
AMOUNTS = st.none() | st.dictionaries(
    st.sampled_from(["nvidia.com/gpu", "nvidia.com/mig-1g.5gb", "amd.com/gpu", "cpu"]),
    st.sampled_from([0, 1, 2, "1", "0", "-1", "0.5", None]),
    max_size=2,
)
CONTAINER = st.fixed_dictionaries(
    {"name": st.sampled_from(["a", "b"])},
    optional={
        "resources": st.none() | st.fixed_dictionaries({}, optional={"limits": AMOUNTS, "requests": AMOUNTS}),
        "env": st.none() | st.lists(VARIABLE, max_size=2),
        "restartPolicy": st.just("Always"),
        "unknown": st.just({"kept": None}),
    },
)
ANNOTATIONS = st.none() | st.dictionaries(
    st.sampled_from(
        [
            "gpusched.io/families",
            "gpusched.io/gpu-memory",
            "gpusched.io/runtime-class",
            "status.gpusched.io/lowered",
            "status.gpusched.io/bound",
            "a/b~c",
        ]
    ),
    st.sampled_from(["hopper", "6Gi", "nvidia", "", "families=hopper (namespace team-a)"]),
    max_size=3,
)
SPEC = st.fixed_dictionaries(
    {"containers": st.lists(CONTAINER, max_size=2)},
    optional={
        "initContainers": st.none() | st.lists(CONTAINER, max_size=1),
        "tolerations": st.none() | st.lists(TOLERATION, max_size=2),
        "affinity": AFFINITY,
        "schedulingGates": st.none()
        | st.just([])
        | st.just([{"name": "gpusched.io/quota"}])
        | st.just([{"name": "x"}]),
        "runtimeClassName": st.none() | st.just("gvisor"),
        "nodeSelector": st.none() | st.just({"gpu": "off"}),
        "schedulerName": st.sampled_from(["default-scheduler", "volcano", "gpu"]),
        "nodeName": st.just("n1"),
    },
)
PODS = st.fixed_dictionaries(
    {"kind": st.just("Pod"), "spec": SPEC},
    optional={
        "metadata": st.none()
        | st.fixed_dictionaries({"namespace": st.just("team-a")}, optional={"annotations": ANNOTATIONS})
    },
)
POLICIES = st.fixed_dictionaries(
    {},
    optional={
        "families": st.sampled_from(["hopper", "hopper, ampere"]),
        "products": st.just("h100"),
        "quota": st.just("*=4"),
        "node-selector": st.just("zone=hopper"),
        "visible-devices": st.just("void"),
        "mode": st.sampled_from(["enforce", "warn", "audit", "off", "enforce,family=warn"]),
        "runtime-class": st.sampled_from(["auto", "never", "nvidia"]),
    },
)
FACTS = st.builds(
    ClusterFacts,
    known=st.booleans(),
    gpu_taints=st.lists(
        st.sampled_from([Taint("nvidia.com/gpu", "present"), Taint("nvidia.com/gpu", "", "NoExecute")]), unique=True
    ).map(tuple),
    dialects=st.frozensets(st.sampled_from(["gke", "eks", "karpenter-aws"])),
    runtime_classes=st.sampled_from([{}, {"nvidia": RuntimeClass("nvidia", node_selector={"gpu": "on"})}]),
    labelled=st.booleans(),
)
CONFIG = Config(tolerations=(Toleration("sku", "Equal", "gpu", "NoSchedule"),), second_scheduler="gpu")
#: What may differ after a patch; everything else must be as it was.
OURS = ("runtimeClassName", "tolerations", "schedulingGates", "affinity", "schedulerName")


def stripped(tree: Any) -> Any:
    """The pod without what gpusched may add to or take from it."""
    rest = copy.deepcopy(tree)
    for key in OURS:
        rest["spec"].pop(key, None)
    for item in (*rest["spec"]["containers"], *(rest["spec"].get("initContainers") or [])):
        item.pop("env", None)
    metadata = rest.pop("metadata", None) or {}
    annotations = metadata.pop("annotations", None) or {}
    rest["kept"] = {key: value for key, value in annotations.items() if not key.startswith("status.gpusched.io/")}
    rest["metadata"] = metadata
    return rest


@given(PODS, POLICIES, FACTS)
def test_a_patch_applies_and_touches_nothing_else(tree: Any, policy: dict[str, str], facts: ClusterFacts) -> None:
    before = copy.deepcopy(tree)
    after = applied(tree, mutated(tree, policy=policy, facts=facts, config=CONFIG).patch)
    assert tree == before
    assert stripped(after) == stripped(tree)
    for key in ("tolerations", "schedulingGates"):
        held = tree["spec"].get(key) or []
        assert (after["spec"].get(key) or [])[: len(held)] == held
    if tree["spec"].get("runtimeClassName"):
        assert after["spec"]["runtimeClassName"] == tree["spec"]["runtimeClassName"]
    scheduler = tree["spec"].get("schedulerName", "default-scheduler")
    moved = {"default-scheduler": {scheduler, "gpu"}}.get(scheduler, {scheduler})
    assert after["spec"].get("schedulerName", "default-scheduler") in moved
    for kind in ("containers", "initContainers"):
        for old, new in zip(tree["spec"].get(kind) or [], after["spec"].get(kind) or [], strict=True):
            held = old.get("env") or []
            assert (new.get("env") or [])[: len(held)] == held


@given(PODS, POLICIES, FACTS)
def test_a_patched_pod_gets_an_empty_patch(tree: Any, policy: dict[str, str], facts: ClusterFacts) -> None:
    once = applied(tree, mutated(tree, policy=policy, facts=facts, config=CONFIG).patch)
    again = mutated(once, policy=policy, facts=facts, config=CONFIG)
    assert again.patch == ()
    assert [finding for finding in again.warnings if finding.code == "policy-malformed"] == []


LABELS = st.dictionaries(KEYS, st.sampled_from(["hopper", "true", "x"]), max_size=3)


@given(PODS, POLICIES, FACTS, LABELS, st.sampled_from(["n1", "n2"]))
def test_affinity_only_ever_narrows(
    tree: Any, policy: dict[str, str], facts: ClusterFacts, labels: dict[str, str], name: str
) -> None:
    after = applied(tree, mutated(tree, policy=policy, facts=facts, config=CONFIG).patch)
    old, new = read_pod(tree, []).spec.node_affinity, read_pod(after, []).spec.node_affinity
    accepted = new is None or any(term.matches(name, labels) for term in new)
    assert not accepted or old is None or any(term.matches(name, labels) for term in old)


@given(PODS, POLICIES, FACTS, LABELS, st.sampled_from(["n1", "n2"]))
def test_lowered_affinity_is_the_users_and_the_rules(
    tree: Any, policy: dict[str, str], facts: ClusterFacts, labels: dict[str, str], name: str
) -> None:
    mutation = mutated(tree, policy=policy, facts=facts, config=CONFIG)
    if dict(mutation.audit).get("lowered", "nothing").startswith("nothing"):
        return
    bare = copy.deepcopy(tree)
    bare["spec"].pop("affinity", None)
    ruled = applied(bare, mutated(bare, policy=policy, facts=facts, config=CONFIG).patch)

    def accepted(pod: Any) -> bool:
        terms = read_pod(pod, []).spec.node_affinity
        return terms is None or any(term.matches(name, labels) for term in terms)

    assert accepted(applied(tree, mutation.patch)) is (accepted(tree) and accepted(ruled))
