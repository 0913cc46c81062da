"""Every suggestion is true: done as it says, the pod is placed."""

import re
from collections.abc import Callable

import msgspec
import pytest

from gpusched.simulate.tree_edit import drop, put, with_resource
from tests.build import Tree, bound, h100_node, pod, t4_node
from tests.simulate.combined import ANTI, COMBINED
from tests.simulate.scene import cpu_node, only, owned, views, workload
from tests.simulate.situations import PLUGIN, SITUATIONS, STATE

ANNOTATIONS = ("metadata", "annotations")
AFFINITY = ("spec", "affinity")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


class Edited(msgspec.Struct):
    """The cluster and the pod after doing what a suggestion says."""

    cluster: list[Tree]
    pod: Tree


def _find(trees: list[Tree], kind: str, name: str) -> Tree:
    return next(tree for tree in trees if tree["kind"] == kind and tree["metadata"]["name"] == name)


def _set(edited: Edited, key: str, value: str) -> None:
    edited.pod = put(edited.pod, (*ANNOTATIONS, key), value)


def _remove(edited: Edited, key: str) -> None:
    edited.pod = drop(edited.pod, (*ANNOTATIONS, key))


def _tolerate(edited: Edited, key: str, value: str | None, effect: str) -> None:
    added = {"key": key, "value": value or "", "effect": effect}
    edited.pod["spec"].setdefault("tolerations", []).append(added)


def _ask(edited: Edited, resource: str, amount: str, container_name: str) -> None:
    edited.pod = with_resource(edited.pod, container_name, resource, amount)


def _ask_other(edited: Edited, other: str, amount: str, resource: str, container_name: str) -> None:
    without = with_resource(edited.pod, container_name, resource, None)
    edited.pod = with_resource(without, container_name, other, amount)


def _drop_selector(edited: Edited, key: str, _value: str) -> None:
    edited.pod = drop(edited.pod, ("spec", "nodeSelector", key))


def _drop_affinity(edited: Edited) -> None:
    edited.pod = drop(edited.pod, (*AFFINITY, "nodeAffinity", REQUIRED))


def _drop_anti_affinity(edited: Edited) -> None:
    edited.pod = drop(edited.pod, (*AFFINITY, "podAntiAffinity", REQUIRED))


def _drop_pod_affinity(edited: Edited) -> None:
    edited.pod = drop(edited.pod, (*AFFINITY, "podAffinity", REQUIRED))


def _drop_spread(edited: Edited) -> None:
    edited.pod = drop(edited.pod, ("spec", "topologySpreadConstraints"))


def _uncordon(edited: Edited, name: str) -> None:
    del _find(edited.cluster, "Node", name)["spec"]["unschedulable"]


def _reconfigure(edited: Edited, name: str) -> None:
    tree = _find(edited.cluster, "Node", name)
    tree["metadata"]["labels"] |= {STATE: "success", PLUGIN: "true"}
    tree["status"]["allocatable"] |= {"nvidia.com/gpu": tree["metadata"]["labels"]["nvidia.com/gpu.count"]}


def _wait(edited: Edited, names: str) -> None:
    for name in names.split(", "):
        edited.cluster.remove(_find(edited.cluster, "Pod", name.partition("/")[2]))


def _widen(edited: Edited, key: str, space: str, _now: str) -> None:
    annotations = _find(edited.cluster, "Namespace", space)["metadata"]["annotations"]
    del annotations[key]
    annotations.setdefault("gpusched.io/mode", "enforce")


_RESOURCE = r"([^ :]+)"
_GETS = r"(?: \([^()]+\))?"
EDITS: list[tuple[str, Callable[..., None]]] = [
    (r'[Ss]et (gpusched\.io/[a-z-]+): "?([^\s"]+)"?', _set),
    (r"[Rr]emove (gpusched\.io/[a-z-]+)", _remove),
    (r"[Tt]olerate ([^=:]+)(?:=([^:]+))?:(\w+)", _tolerate),
    (rf"[Aa]sk for {_RESOURCE}: (\S+) in container (\S+){_GETS}", _ask),
    (rf"[Aa]sk for {_RESOURCE}: (\S+) instead of {_RESOURCE} in container (\S+){_GETS}", _ask_other),
    (r"[Rr]emove (\S+): (\S+) from spec\.nodeSelector", _drop_selector),
    (r"[Rr]emove the required node affinity", _drop_affinity),
    (r"[Rr]emove the required pod anti-affinity", _drop_anti_affinity),
    (r"[Rr]emove the required pod affinity", _drop_pod_affinity),
    (r"[Rr]emove spec\.topologySpreadConstraints", _drop_spread),
    (r"[Uu]ncordon (\S+)", _uncordon),
    (r"Wait until the GPUs of (\S+) are reconfigured", _reconfigure),
    (r"[Ww]ait: pods? (.+?)(?: on \S+)? (?:holds? it|keeps? it away|is going|are going)", _wait),
    (r"An admin may widen (\S+) of namespace (\S+) \(now (.+)\)", _widen),
]


def follow(suggestion: str, edited: Edited) -> None:
    """Do what the suggestion says."""
    parts = suggestion.split(" and ") if not suggestion.startswith(("Wait", "An admin")) else [suggestion]
    for part in parts:
        matched = [(edit, found) for pattern, edit in EDITS if (found := re.fullmatch(pattern, part))]
        assert len(matched) == 1, f"nothing is known of {part!r}"
        edit, found = matched[0]
        edit(edited, *found.groups())


@pytest.mark.parametrize("name", SITUATIONS | COMBINED)
def test_what_is_suggested_makes_the_pod_fit(name: str) -> None:
    cluster, tree, expected = (SITUATIONS | COMBINED)[name]
    before = only(cluster, tree)
    assert before.unschedulable is not None
    suggestion = before.unschedulable.suggestion
    assert suggestion.startswith(expected)

    for choice in suggestion.split("; or "):
        edited = Edited(*msgspec.json.decode(msgspec.json.encode((cluster, tree))))
        follow(choice[0].upper() + choice[1:], edited)
        assert only(edited.cluster, edited.pod).placement is not None


@pytest.mark.parametrize(
    ("cluster", "tree", "expected"),
    [
        ([], pod("p"), "the cluster has no nodes"),
        (
            [cpu_node()],
            pod("p"),
            "No small change fits; add a node that offers nvidia.com/gpu: 1 and meets the pod's rules",
        ),
    ],
)
def test_where_nothing_helps_it_says_so(cluster: list[Tree], tree: Tree, expected: str) -> None:
    view = only(cluster, tree)

    assert view.unschedulable is not None
    assert view.unschedulable.suggestion == expected


@pytest.mark.parametrize("gpus", [9, 10**6, 10**18])
def test_however_many_are_asked_for_as_many_as_fit_are_found(gpus: int) -> None:
    view = only([t4_node("t", gpus=8), bound(pod("old", gpus=3), "t")], pod("p", gpus=gpus))

    assert view.unschedulable is not None
    assert view.unschedulable.suggestion.startswith("Ask for nvidia.com/gpu: 5 in container")


def _standing(kind: str, name: str, tree: Tree, node_name: str) -> Tree:
    return owned(bound(tree, node_name), kind, name)


def _advice(cluster: list[Tree], tree: Tree) -> str:
    view = only(cluster, tree)
    assert view.unschedulable is not None
    return view.unschedulable.suggestion


def test_pods_of_its_own_workload_are_not_waited_for() -> None:
    held = [_standing("ReplicaSet", "web-1", pod(f"web-1-{name}", gpus=4), "h") for name in "ab"]
    waiting = owned(pod("web-1-c", gpus=4), "ReplicaSet", "web-1")

    assert _advice([h100_node("h"), *held], waiting) == "Scale ReplicaSet/web-1 to 2 replicas"


def test_a_pod_of_another_workload_is() -> None:
    held = [_standing("ReplicaSet", name, pod(f"{name}-a", gpus=4), "h") for name in ("web-1", "api-1")]
    waiting = owned(pod("web-1-c", gpus=4), "ReplicaSet", "web-1")

    assert _advice([h100_node("h"), *held], waiting) == "Wait: pod team-a/api-1-a on h holds it"


def test_a_job_waits_for_its_own_pods() -> None:
    held = _standing("Job", "train", pod("train-a", gpus=8), "h")

    assert _advice([h100_node("h"), held], owned(pod("train-b", gpus=8), "Job", "train")) == (
        "Wait: pod team-a/train-a on h holds it"
    )


def test_a_rule_that_siblings_have_too_is_dropped_in_their_template() -> None:
    parts: Tree = {"labels": {"app": "x"}, "affinity": ANTI}
    held = _standing("StatefulSet", "db", pod("db-0", **parts), "h")

    assert _advice([h100_node("h"), held], owned(pod("db-1", **parts), "StatefulSet", "db")) == (
        "Scale StatefulSet/db to 1 replica; or remove the required pod anti-affinity"
    )


def test_a_daemonset_pod_is_helped_on_its_own_node() -> None:
    cluster = [t4_node("a"), t4_node("b"), bound(pod("old"), "a")]
    first, _ = views(cluster, workload("DaemonSet", "ds"))

    assert first.unschedulable is not None
    assert first.unschedulable.suggestion == "Wait: pod team-a/old on a holds it"


def test_pods_of_daemonsets_are_not_waited_for() -> None:
    agent = bound(pod("agent", "kube-system"), "t")
    agent["metadata"]["ownerReferences"] = [{"kind": "DaemonSet", "name": "agent", "controller": True}]
    view = only([t4_node("t"), agent], pod("p"))

    assert view.unschedulable is not None
    assert view.unschedulable.suggestion.startswith("No small change fits")


@pytest.mark.parametrize(
    ("asked", "suggestion"),
    [
        ("nvidia.com/gpus", "Ask for nvidia.com/gpu: 1 instead of nvidia.com/gpus"),
        ("alpha.kubernetes.io/nvidia-gpu", "Ask for nvidia.com/gpu: 1 instead of alpha.kubernetes.io/nvidia-gpu"),
    ],
)
def test_a_slip_of_the_pen_is_mended_first(asked: str, suggestion: str) -> None:
    (view,) = views([t4_node("t")], pod("p", resource=asked))

    assert view.unschedulable is not None
    assert view.unschedulable.suggestion == suggestion


def test_a_slip_is_named_even_where_no_node_has_room() -> None:
    (view,) = views([t4_node("t")], pod("p", resource="nvidia.com/gpus", gpus=3, nodeSelector={"a": "b"}))

    assert view.unschedulable is not None
    assert view.unschedulable.suggestion.startswith("Ask for nvidia.com/gpu: 3 instead of nvidia.com/gpus")
