"""No bytes make an answer raise, and every answer is one that its caller can decode and take at its word."""

import base64
import json
from typing import Any

import jsonpatch
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusched.policy.model import Config
from gpusched.state.cluster import Cluster
from gpusched.wire.answers import answer_filter, answer_preempt, answer_prioritize
from tests.build import h100_node, namespace, node, t4_node
from tests.placement.scene import cluster_of, see
from tests.properties.fleet import nodes, odd_pods, pods, policies
from tests.properties.words import WORDS
from webhook.review import MalformedReviewError, answer_review

TEXT = st.sampled_from(WORDS) | st.text(max_size=6)
TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=15,
)


@st.composite
def loosely(draw: st.DrawFn, **keys: st.SearchStrategy[Any]) -> dict[str, Any]:
    """An object whose keys are missing now and then, or hold something else entirely."""
    tree: dict[str, Any] = {}
    for key, value in keys.items():
        turn = draw(st.integers(0, 15))
        if turn:
            tree[key] = draw(TREES if turn == 1 else value)
    return tree


AMOUNTS = st.sampled_from(
    [
        {"nvidia.com/gpu": "1"},
        {"nvidia.com/gpu": 2},
        {"nvidia.com/gpu": 0.5},
        {"amd.com/gpu": 1},
        {"gpu": 1},
        {"cpu": 1},
    ]
)
CONTAINERS = st.lists(
    loosely(
        name=TEXT, resources=loosely(limits=AMOUNTS, requests=AMOUNTS), env=st.lists(loosely(name=TEXT, value=TEXT))
    ),
    max_size=2,
)
EXPRESSIONS = st.lists(loosely(key=TEXT, operator=st.sampled_from(["In", "Exists"]), values=st.lists(TEXT, max_size=1)))
REQUIRED = loosely(nodeSelectorTerms=st.lists(loosely(matchExpressions=EXPRESSIONS), max_size=2))
SPECS = loosely(
    containers=CONTAINERS,
    initContainers=CONTAINERS,
    affinity=loosely(nodeAffinity=loosely(requiredDuringSchedulingIgnoredDuringExecution=REQUIRED)),
    tolerations=st.lists(loosely(key=TEXT, operator=TEXT)),
    schedulingGates=st.lists(loosely(name=TEXT)),
    runtimeClassName=TEXT,
)
NOTES = st.dictionaries(
    st.sampled_from(
        ["gpusched.io/families", "gpusched.io/gpu-memory", "gpusched.io/quota", "status.gpusched.io/bound"]
    ),
    st.sampled_from(["turing", "1Gi", "20", "*=1", ""]),
)
METADATA = loosely(name=TEXT, namespace=st.sampled_from(["team-a", "kube-system"]), annotations=NOTES, uid=TEXT)
TEMPLATES = loosely(template=loosely(metadata=METADATA, spec=SPECS), replicas=st.integers())
OBJECTS = loosely(
    apiVersion=st.sampled_from(["v1", "apps/v1", "batch/v1"]),
    kind=st.sampled_from(["Pod", "Namespace", "Deployment", "CronJob"]),
    metadata=METADATA,
    spec=SPECS | TEMPLATES,
)
NAMES = st.sampled_from(["t4", "h100", "cpu", "gone", ""])
NODES = loosely(items=st.lists(loosely(metadata=loosely(name=NAMES)), max_size=3))
ARGS = st.fixed_dictionaries(
    {"Pod": OBJECTS, "Nodes": st.none(), "NodeNames": st.lists(NAMES, max_size=4)}
) | st.fixed_dictionaries({"Pod": OBJECTS, "Nodes": NODES, "NodeNames": st.none()})
VICTIMS = st.dictionaries(
    NAMES,
    loosely(Pods=st.lists(loosely(UID=TEXT, metadata=METADATA), max_size=2), NumPDBViolations=st.integers()),
    max_size=3,
)
PREEMPTIONS = st.fixed_dictionaries(
    {"Pod": OBJECTS, "NodeNameToVictims": VICTIMS, "NodeNameToMetaVictims": st.none()}
) | (st.fixed_dictionaries({"Pod": OBJECTS, "NodeNameToVictims": st.none(), "NodeNameToMetaVictims": VICTIMS}))
KINDS = {
    "Pod": {"group": "", "version": "v1", "kind": "Pod"},
    "Namespace": {"group": "", "version": "v1", "kind": "Namespace"},
    "Deployment": {"group": "apps", "version": "v1", "kind": "Deployment"},
    "CronJob": {"group": "batch", "version": "v1", "kind": "CronJob"},
}


@st.composite
def reviews(draw: st.DrawFn) -> dict[str, Any]:
    """A review whose envelope is good, around anything at all."""
    tree, operation = draw(OBJECTS), draw(st.sampled_from(["CREATE", "CREATE", "UPDATE", "DELETE"]))
    kind = tree.get("kind")
    request = {
        "uid": "u",
        "kind": KINDS.get(kind if isinstance(kind, str) else "", KINDS["Pod"]),
        "operation": operation,
        "namespace": draw(st.sampled_from(["team-a", "other"])),
        "object": None if operation == "DELETE" else tree,
        "oldObject": None if operation == "CREATE" else draw(OBJECTS),
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


REVIEWS = reviews()
#: Bytes from none that are JSON to those that are nearly a request.
MANGLED = st.tuples(
    (ARGS | PREEMPTIONS | REVIEWS).map(json.dumps),
    st.integers(0, 400),
    st.sampled_from(["", "}", "\\", '"', "[", "null"]),
).map(lambda parts: (parts[0][: parts[1]] + parts[2] + parts[0][parts[1] + 1 :]).encode())
BYTES = st.binary(max_size=60) | MANGLED | TREES.map(lambda tree: json.dumps(tree).encode())

settings.register_profile("wire", max_examples=80, deadline=None)
PROFILE = settings.get_profile("wire")


def cluster() -> Cluster:
    strict = namespace(families="turing", quota="*=9", node_selector="!absent")
    return cluster_of(t4_node("t4", replicas=2), h100_node("h100"), node("cpu", gpus=None), strict)


def check_filter(body: bytes) -> None:
    answer = json.loads(answer_filter(body, cluster()))
    assert list(answer) == ["Nodes", "NodeNames", "FailedNodes", "FailedAndUnresolvableNodes", "Error"]
    assert answer["FailedNodes"] == {}
    if answer["Error"]:
        assert (answer["Nodes"], answer["NodeNames"], answer["FailedAndUnresolvableNodes"]) == (None, None, {})
        return
    asked = json.loads(body)
    form = "NodeNames" if asked.get("NodeNames") is not None else "Nodes"
    assert answer[{"NodeNames": "Nodes", "Nodes": "NodeNames"}[form]] is None
    given = asked[form] if form == "NodeNames" else asked["Nodes"].get("items") or []
    kept = answer[form] if form == "NodeNames" else answer[form]["items"]
    assert [item for item in given if item in kept] == kept
    names = [item if form == "NodeNames" else item.get("metadata", {}).get("name", "") for item in given]
    left = set(names) - answer["FailedAndUnresolvableNodes"].keys()
    assert left == {item if form == "NodeNames" else item.get("metadata", {}).get("name", "") for item in kept}
    assert all(reason and "," not in reason for reason in answer["FailedAndUnresolvableNodes"].values())


def check_prioritize(body: bytes) -> None:
    answer = json.loads(answer_prioritize(body, cluster()))
    assert all(list(item) == ["Host", "Score"] for item in answer)
    assert all(type(item["Score"]) is int and 0 <= item["Score"] <= 10 for item in answer)


def check_preempt(body: bytes) -> None:
    answer = json.loads(answer_preempt(body, cluster()))
    assert list(answer) == ["NodeNameToMetaVictims"]
    for victims in answer["NodeNameToMetaVictims"].values():
        assert list(victims) == ["Pods", "NumPDBViolations"]
        assert victims["Pods"]
        assert all(list(victim) == ["UID"] for victim in victims["Pods"])


def patched(tree: Any, response: dict[str, Any]) -> Any:
    return jsonpatch.apply_patch(tree, json.loads(base64.b64decode(response["patch"])))


def answer_to(request: dict[str, Any], tree: Any) -> dict[str, Any]:
    """The same review again, about what became of the object."""
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": request | {"object": tree},
    }


def check_review(body: bytes) -> None:
    for mutating in (True, False):
        try:
            answer = json.loads(answer_review(body, cluster(), mutating=mutating))
        except MalformedReviewError:
            continue
        request, response = json.loads(body)["request"], answer["response"]
        assert response["uid"] == request["uid"]
        assert response["allowed"] is ("status" not in response)
        assert ("patch" in response) is ("patchType" in response)
        assert all(len(line) <= 256 and len(line.splitlines()) == 1 for line in response.get("warnings", []))
        if "patch" in response:
            assert mutating
            assert response["allowed"]
            after = patched(request["object"], response)
            again = json.loads(answer_review(json.dumps(answer_to(request, after)).encode(), cluster()))["response"]
            assert "patch" not in again


@PROFILE
@given(BYTES)
def test_any_bytes(body: bytes) -> None:
    for check in (check_filter, check_prioritize, check_preempt, check_review):
        check(body)


@PROFILE
@given(ARGS.map(lambda tree: json.dumps(tree).encode()))
def test_filter_and_prioritize(body: bytes) -> None:
    check_filter(body)
    check_prioritize(body)


@PROFILE
@given(PREEMPTIONS.map(lambda tree: json.dumps(tree).encode()))
def test_preempt(body: bytes) -> None:
    check_preempt(body)


@PROFILE
@given(REVIEWS.map(lambda tree: json.dumps(tree).encode()))
def test_reviews(body: bytes) -> None:
    check_review(body)


#: What of a pod may be added to, and nothing else.
OURS = frozenset({"runtimeClassName", "tolerations", "schedulingGates", "affinity"})


def untouched(tree: Any) -> Any:
    """A pod without what gpusched may change."""
    spec = {key: value for key, value in tree["spec"].items() if key not in OURS | {"containers"}}
    containers = [{key: value for key, value in item.items() if key != "env"} for item in tree["spec"]["containers"]]
    annotations = tree["metadata"].get("annotations", {}).items()
    kept = {key: value for key, value in annotations if not key.startswith("status.gpusched.io/")}
    return tree | {"spec": spec, "containers": containers, "metadata": tree["metadata"] | {"annotations": kept}}


@PROFILE
@given(nodes(most=4), policies(), pods() | odd_pods())
def test_a_pod_keeps_all_that_is_not_gpuscheds_and_is_patched_once(
    trees: list[Any], policy: dict[str, str], tree: Any
) -> None:
    state = Cluster(Config(), label_nodes=True)
    for item in (*trees, namespace("team-a", quota="*=9", **policy)):
        see(state, item)
    request = {"uid": "u", "kind": KINDS["Pod"], "operation": "CREATE", "namespace": "team-a"}
    first = json.loads(answer_review(json.dumps(answer_to(request, tree)).encode(), state))["response"]
    if "patch" not in first:
        return
    after = patched(tree, first)
    assert untouched(after) == untouched(tree)
    second = json.loads(answer_review(json.dumps(answer_to(request, after)).encode(), state))["response"]
    assert second["allowed"]
    assert "patch" not in second
    new = set(second.get("warnings", [])) - set(first.get("warnings", []))
    # A pod of several slots that is kept off shared GPUs may find no other node large enough: only then is that known.
    assert {warning.partition(":")[0] for warning in new} <= {"gpu-no-node"}
    assert not new or "sharing!=" in json.dumps(first["auditAnnotations"])
    lowered = [answer.get("auditAnnotations", {}).get("lowered") for answer in (first, second)]
    assert lowered[0] == lowered[1]
