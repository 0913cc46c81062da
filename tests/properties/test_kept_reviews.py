"""Pods answered alike are alike: what is not read of them changes no answer, and neither does what was kept."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusched.core.cluster_facts import RuntimeClass
from gpusched.state.cluster import Cluster
from gpusched.state.events import Upsert
from gpusched.wire.decision import Decision
from gpusched.wire.reviewed_pod import read_reviewed_pod
from tests.build import namespace, pod, t4_node
from tests.placement.scene import see
from tests.properties.fleet import nodes, odd_pods, pods, policies
from tests.properties.test_mutation import CONFIG, PODS, POLICIES
from tests.properties.test_wire import OBJECTS
from webhook.memo import Memo
from webhook.review import Judged, _judge, answer_review

LIVE = pods() | odd_pods()
BOUNDS = policies() | POLICIES | st.just({"max-gpus-per-pod": "1"})


def numbered(tree: Any, number: int) -> Any:
    """The pod as the API server has it, with all that a controller's pods differ in."""
    tree, text = copy.deepcopy(tree), str(number)
    metadata, spec = tree.setdefault("metadata", None) or {}, tree["spec"]
    tree["metadata"] = metadata | {
        "name": f"p-{number}",
        "uid": text,
        "creationTimestamp": text,
        "labels": (metadata.get("labels") or {}) | {"index": text},
        "annotations": (metadata.get("annotations") or {}) | {"index": text},
        "ownerReferences": [{"kind": "Job", "name": f"job-{number}", "uid": text, "controller": True}],
        "managedFields": [{"time": text}],
    }
    spec |= {
        "hostname": f"p-{number}",
        "volumes": [{"name": f"token-{number}", "projected": {}}, {"persistentVolumeClaim": {"claimName": text}}],
        "topologySpreadConstraints": [{"maxSkew": number, "matchLabelKeys": ["index"]}],
        "priority": number,
    }
    for container in spec["containers"]:
        container |= {"name": f"{container.get('name')}-{number}", "image": f"app:{number}"}
        container["ports"] = [{"hostPort": number}]
        if container.get("env"):
            container["env"] = [*container["env"], {"name": "RANK", "value": text}]
    tree["status"] = {"phase": text}
    return tree


def review(tree: Any, operation: str = "CREATE") -> bytes:
    request = {
        "uid": "u",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "operation": operation,
        "namespace": "team-a",
        "object": tree,
    }
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()


def team(policy: dict[str, str]) -> Any:
    return namespace("team-a", **{key.replace("-", "_"): text for key, text in policy.items()})


def state_of(trees: list[Any], policy: dict[str, str]) -> Cluster:
    state = Cluster(CONFIG, label_nodes=True)
    for tree in (*trees, t4_node("tainted", taints=[{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]), team(policy)):
        see(state, tree)
    runtime_class = RuntimeClass("nvidia", "nvidia", overhead={"memory": "1Mi"}, node_selector={"gpu": "on"})
    state.apply(Upsert(runtime_class))
    return state


GPU = {"limits": {"nvidia.com/gpu": "1"}}
#: Each makes a difference under one of the policies below.
MATTERS: dict[str, Any] = {
    "nodeName": "t4",
    "nodeSelector": {"gpu": "off"},
    "overhead": {"memory": "2Mi"},
    "resources": GPU,
    "runtimeClassName": "gvisor",
    "schedulerName": "volcano",
    "schedulingGates": [{"name": "gpusched.io/quota"}],
    "tolerations": [{"operator": "Exists"}],
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]
            }
        }
    },
    "initContainers": [{"name": "i", "resources": GPU, "restartPolicy": "Always"}],
    "containers": [{"name": "c", "resources": GPU, "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "valueFrom": {}}]}],
}


@pytest.mark.parametrize("field", MATTERS)
def test_each_field_that_makes_a_difference_is_read(field: str) -> None:
    tree = pod("p", "team-a", gpus=1)
    other = tree | {"spec": tree["spec"] | {field: MATTERS[field]}}
    asked = read_reviewed_pod(review(other))
    assert asked is not None
    differs = False
    for policy in (
        {},
        {"quota": "*=9"},
        {"visible-devices": "deny"},
        {"max-gpus-per-pod": "1"},
        {"families": "turing"},
    ):
        state = state_of([t4_node()], policy)
        whole = _judge(asked.asked, other, None, state)
        assert _judge(asked.asked, json.loads(asked.named_part()), None, state) == whole
        differs |= whole != _judge(asked.asked, tree, None, state)
    assert differs


@settings(deadline=None)
@given(nodes(most=4), BOUNDS, LIVE | PODS | OBJECTS, st.sampled_from(["CREATE", "CREATE", "UPDATE"]))
def test_a_pod_is_judged_as_if_all_of_it_were_read(
    trees: list[Any], policy: dict[str, str], tree: Any, operation: str
) -> None:
    found = read_reviewed_pod(review(tree, operation))
    if found is not None:
        state = state_of(trees, policy)
        whole = _judge(found.asked, json.loads(json.dumps(tree)), None, state)
        assert _judge(found.asked, json.loads(found.named_part()), None, state) == whole


@settings(deadline=None)
@given(LIVE | PODS, st.integers(0, 9), st.integers(0, 9))
def test_pods_of_one_template_are_alike(tree: Any, one: int, other: int) -> None:
    parts = []
    for number in (one, other):
        found = read_reviewed_pod(review(numbered(tree, number)))
        # PODS have values of other types as well; the API server has none such.
        parts.append(None if found is None else found.part)
        assert found is None or (found.name, found.uid) == (f"p-{number}", str(number))
    assert parts[0] == parts[1]


@settings(deadline=None)
@given(
    nodes(most=3),
    st.lists(LIVE | PODS, min_size=1, max_size=2),
    st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 3), st.booleans(), st.sampled_from(["CREATE", "UPDATE"]))
        | nodes(most=2)
        | BOUNDS,
        max_size=12,
    ),
)
def test_answers_kept_are_answers_found_anew(trees: list[Any], pool: list[Any], steps: list[Any]) -> None:
    state, memo = state_of(trees, {}), Memo[Judged]()
    for step in steps:
        match step:
            case (turn, number, mutating, operation):
                told: list[Decision] = []
                body = review(numbered(pool[turn % len(pool)], number), operation)
                kept = answer_review(body, state, mutating=mutating, observe=told.append, memo=memo)
                assert kept == answer_review(body, state, mutating=mutating, observe=told.append)
                assert told[0] == told[1]
            case list():
                for tree in step:
                    see(state, tree)
            case policy:
                see(state, team(policy))
