"""Pods judged whole: the sentences users read most, who is judged at all, and what becomes of bad input."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusched.admission.admission import Admission
from gpusched.admission.messages import REFUSAL_LIMIT, WARNING_LIMIT
from gpusched.core.codes import Code
from tests.admission.judging import codes, facts_of, gpu_node, judged, lines
from tests.build import Tree, container, pod

_LITERAL = [
    (
        pod(annotations={"gpusched.io/families": "hopper"}),
        {"families": "ampere, turing"},
        (
            "gpu-policy-family: pod asks for hopper; namespace team-a allows ampere, turing. "
            "Set gpusched.io/families to one of these."
        ),
    ),
    (
        pod("p", "team-a", container("train", resources={"requests": {"nvidia.com/gpu": 1}})),
        {},
        (
            "gpu-limit-required: container train requests nvidia.com/gpu: 1 without a limit. "
            "Put it under resources.limits."
        ),
    ),
    (
        pod("p", "team-a", container("train", gpus="0.5")),
        {},
        (
            "gpu-quantity: container train asks nvidia.com/gpu: 0.5; use whole numbers. "
            "For part of a GPU: 1 plus gpusched.io/gpu-memory: 8Gi."
        ),
    ),
    (
        pod("p", "team-a", container("train", gpus=4), container("eval", gpus=2)),
        {"max-gpus-per-pod": "4"},
        "gpu-policy-max-gpus: pod asks 6 GPUs (train 4, eval 2); team-a allows 4 per pod. Ask for 4 or split the pod.",
    ),
    (
        pod(nodeName="gpu-07"),
        {"mode": "enforce"},
        (
            "gpu-node-name: spec.nodeName gpu-07 skips the scheduler. "
            "Use nodeSelector kubernetes.io/hostname: gpu-07 instead."
        ),
    ),
    (
        pod(),
        {"min-gpu-memory": "20"},
        (
            'policy-malformed: namespace team-a has gpusched.io/min-gpu-memory "20" without unit; '
            "an admin must write 20Gi."
        ),
    ),
]


@pytest.mark.parametrize(("tree", "policy", "line"), _LITERAL, ids=[line.partition(":")[0] for *_, line in _LITERAL])
def test_the_commonest_refusals_read_as_documented(tree: Tree, policy: dict[str, str], line: str) -> None:
    answer = judged(tree, policy=policy)
    assert not answer.allowed
    assert lines(answer)[0] == [line]
    assert f"{answer.code}: {answer.message}" == line


@pytest.mark.parametrize(("tree", "policy", "line"), _LITERAL[:1] + _LITERAL[3:5])
def test_as_warnings_they_are_short_and_whole(tree: Tree, policy: dict[str, str], line: str) -> None:
    answer = judged(tree, policy=policy | {"mode": "warn"})
    assert answer.allowed
    (warning,) = lines(answer)[1]
    assert len(warning) <= WARNING_LIMIT
    assert "…" not in warning


def test_audit_mode_only_notes() -> None:
    answer = judged(pod(nodeName="n"), policy={"mode": "audit"})
    assert codes(answer) == ([], [])
    message = "spec.nodeName n skips the scheduler. Use nodeSelector kubernetes.io/hostname: n instead."
    assert ("gpu-node-name", message) in answer.audit


def test_mode_off_says_nothing() -> None:
    tree = pod(nodeName="n", annotations={"gpusched.io/families": "hoper", "gpusched.io/nonsense": "1"})
    assert codes(judged(tree, policy={"mode": "off", "families": "ampere"})) == ([], [])


@pytest.mark.parametrize(("webhook", "refused"), [(False, ["gpu-quantity"]), (True, [])])
def test_the_api_servers_own_rules_hold_in_mode_off_where_it_is_not_there_to_refuse(
    webhook: bool, refused: list[str]
) -> None:
    answer = judged(pod(gpus="0.5"), policy={"mode": "off"}, webhook=webhook)
    assert codes(answer)[0] == refused


_PLAIN = pod("p", "team-a", container("app", resources={"limits": {"cpu": "1"}}), nodeName="n1")
_EMPTY_RESOURCES = pod(
    "p", "team-a", {"name": "a", "resources": None}, {"name": "b"}, {"name": "c", "resources": {"limits": None}}
)


@pytest.mark.parametrize("tree", [_PLAIN, _EMPTY_RESOURCES], ids=["cpu", "empty resources"])
@pytest.mark.parametrize(
    "policy", [{}, {"families": "hopper"}, {"min-gpu-memory": "20"}, {"mode": "nonsense"}, {"max-gpus-per-pod": "0"}]
)
def test_a_pod_without_gpu_and_annotation_is_never_touched(tree: Tree, policy: dict[str, str]) -> None:
    assert judged(tree, policy=policy, facts=facts_of()) == Admission()


@pytest.mark.parametrize(
    "tree",
    [
        pod(nodeName="n1", annotations={"kubernetes.io/config.mirror": "x", "gpusched.io/families": "hoper"}),
        pod("p", "kube-system", nodeName="n1", annotations={"gpusched.io/unknown": "x"}),
    ],
    ids=["mirror", "exempt"],
)
@pytest.mark.parametrize("webhook", [False, True])
def test_mirror_pods_and_exempt_namespaces_are_not_judged(tree: Tree, webhook: bool) -> None:
    policy = {"families": "ampere", "max-gpus-per-pod": "0"}
    assert judged(tree, policy=policy, webhook=webhook) == Admission()


def test_updates_of_pods_change_nothing_that_is_judged() -> None:
    assert judged(pod(gpus="0.5"), operation="UPDATE") == Admission()


def test_templates_get_no_patch() -> None:
    assert judged(pod(), policy={"families": "ampere"}, template=True) == Admission()


def test_an_installation_without_policy_refuses_only_what_the_api_server_would() -> None:
    tree = pod("p", "team-a", container("a", gpus=2), container("b", gpus=1, resource="amd.com/gpu"), nodeName="n")
    assert codes(judged(tree)) == ([], ["gpu-node-name", "gpu-mixed-resources"])


def test_the_order_of_containers_decides_no_code() -> None:
    containers = [
        container("a", resources={"requests": {"nvidia.com/gpu": 1}}),
        container("b", gpus="0.5"),
        container("c", gpus=1, resource="gpu"),
        container("d", resources={"limits": {"nvidia.com/gpu": 3}, "requests": {"nvidia.com/gpu": 1}}),
    ]
    forward, backward = judged(pod("p", "n", *containers)), judged(pod("p", "n", *reversed(containers)))
    assert codes(forward) == codes(backward)
    assert codes(forward)[0] == [
        "gpu-quantity",
        "gpu-limit-required",
        "gpu-request-equals-limit",
        "gpu-unknown-resource",
    ]


_POLICIES = st.sampled_from(
    [{}, {"families": "ampere", "sharing": "mps"}, {"mode": "warn", "max-gpus-per-pod": "1", "products": "a100"}]
)
_KEYS = st.sampled_from(
    [
        "metadata",
        "spec",
        "annotations",
        "containers",
        "initContainers",
        "resources",
        "limits",
        "requests",
        "name",
        "nvidia.com/gpu",
        "nvidia.com/mig-1g.5gb",
        "gpu",
        "gpusched.io/families",
        "gpusched.io/gpu-memory",
        "env",
        "nodeSelector",
        "nvidia.com/gpu.product",
        "affinity",
        "nodeName",
        "status.gpusched.io/bound",
    ]
)
_TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=80),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=5),
    max_leaves=20,
)
_AMOUNTS = st.dictionaries(
    st.sampled_from(["nvidia.com/gpu", "amd.com/gpu", "gpu", "nvidia.com/gpus", "nvidia.com/mig-9g.99gb", "cpu"]),
    st.one_of(st.integers(), st.text(max_size=90), st.sampled_from(["1", "2", "1e3", "0.1", "-2", "NaN"])),
    max_size=3,
)
_CONTAINERS = st.lists(
    st.fixed_dictionaries(
        {"name": st.text(max_size=300), "resources": st.fixed_dictionaries({"limits": _AMOUNTS, "requests": _AMOUNTS})}
    ),
    max_size=4,
)


@given(_TREES, _POLICIES)
def test_no_tree_is_a_bug(tree: Any, policy: dict[str, str]) -> None:
    answer = judged(tree, policy=policy)
    assert answer.allowed == (not answer.refusals)


@given(_CONTAINERS, st.dictionaries(_KEYS, st.text(max_size=300), max_size=4), _POLICIES, st.text(max_size=300))
def test_sentences_are_short_and_on_one_line(
    containers: list[Tree], annotations: dict[str, str], policy: dict[str, str], node: str
) -> None:
    tree = pod("p", "team-a", annotations=annotations, nodeName=node) | {}
    tree["spec"]["containers"] = containers
    answer = judged(tree, policy=policy, facts=facts_of(gpu_node()))
    refusals, warnings = lines(answer)
    assert all(len(line) <= REFUSAL_LIMIT and "\n" not in line for line in refusals)
    assert all(len(line) <= WARNING_LIMIT and "\n" not in line for line in warnings)
    assert {finding.code for finding in answer.refusals} <= set(Code)


@given(_CONTAINERS, st.randoms(use_true_random=False))
def test_codes_do_not_depend_on_the_order_of_containers(containers: list[Tree], random: Any) -> None:
    shuffled = list(containers)
    random.shuffle(shuffled)
    trees = [pod("p", "team-a") | {"spec": {"containers": order}} for order in (containers, shuffled)]
    first, second = (codes(judged(tree)) for tree in trees)
    assert [list(dict.fromkeys(kind)) for kind in first] == [list(dict.fromkeys(kind)) for kind in second]
