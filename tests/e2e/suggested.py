"""Does what `why` suggests, read from its words alone, as a user would."""

import copy
import re
from collections.abc import Callable
from typing import Any

from tests.build import Tree

MERGE = "application/merge-patch+json"


def _annotate(tree: Tree, key: str, value: str | None) -> None:
    annotations = tree["metadata"].setdefault("annotations", {})
    annotations.pop(key, None)
    if value is not None:
        annotations[key] = value


def _set(tree: Tree, key: str, value: str) -> None:
    _annotate(tree, key, value)


def _remove(tree: Tree, key: str) -> None:
    _annotate(tree, key, None)


def _tolerate(tree: Tree, key: str, value: str | None, effect: str) -> None:
    tree["spec"].setdefault("tolerations", []).append(
        {"key": key, "operator": "Equal", "value": value or "", "effect": effect}
    )


def _ask(tree: Tree, resource: str, amount: str, other: str | None, _container: str | None) -> None:
    limits = tree["spec"]["containers"][0]["resources"]["limits"]
    limits.pop(other or resource, None)
    limits[resource] = amount


def _unselect(tree: Tree, key: str) -> None:
    del tree["spec"]["nodeSelector"][key]


def _drop_affinity(tree: Tree, kind: str) -> None:
    name = {"node affinity": "nodeAffinity", "pod affinity": "podAffinity", "pod anti-affinity": "podAntiAffinity"}[
        kind
    ]
    del tree["spec"]["affinity"][name]


OF_PODS: list[tuple[str, Callable[..., None]]] = [
    (r'[Ss]et (gpusched\.io/\S+): "?([^"]+)"?', _set),
    (r"[Rr]emove (gpusched\.io/\S+)", _remove),
    (r"[Tt]olerate ([^=: ]+)(?:=([^: ]*))?:(\w+)", _tolerate),
    (r"[Aa]sk for (\S+): (\S+)(?: instead of (\S+))?(?: in container (\S+))?(?: \([^()]+\))?", _ask),
    (r"[Rr]emove (\S+): \S+ from spec\.nodeSelector", _unselect),
    (r"[Rr]emove the required (node affinity|pod affinity|pod anti-affinity)", _drop_affinity),
    (r"Create it anew as it is: .*", lambda _tree: None),
]


def changed(tree: Tree, suggestion: str) -> Tree | None:
    """The pod with the suggested changes; None where the suggestion is first about something else."""
    result = copy.deepcopy(tree)
    for part in suggestion.split(" and ") if " instead " not in suggestion else [suggestion]:
        for pattern, change in OF_PODS:
            found = re.fullmatch(pattern, part)
            if found is not None:
                change(result, *found.groups())
                break
        else:
            return None
    return result


def do_elsewhere(plane: Any, suggestion: str) -> bool:
    """End pods, uncordon a node or widen a policy; whether the pod must be created anew for it."""
    if found := re.fullmatch(
        r"Wait: pods? (.+?)(?: on \S+)? (?:holds? it|keeps? it away|is going|are going)", suggestion
    ):
        for pod in found[1].split(", "):
            space, _, name = pod.partition("/")
            path = f"/api/v1/namespaces/{space}/pods/{name}"
            plane.request("DELETE", path, query={"gracePeriodSeconds": "0"}).expect()
            # Of a pod that was going already this is what held it.
            plane.request("PATCH", path, {"metadata": {"finalizers": None}}, content_type=MERGE)
        return False
    if found := re.fullmatch(r"Uncordon (\S+)", suggestion):
        change: Tree = {"spec": {"unschedulable": False}}
        plane.request("PATCH", f"/api/v1/nodes/{found[1]}", change, content_type=MERGE).expect()
        return False
    found = re.fullmatch(r"An admin may widen (\S+) of namespace (\S+) \(now .*\)", suggestion)
    assert found, suggestion
    change = {"metadata": {"annotations": {found[1]: None}}}
    plane.request("PATCH", f"/api/v1/namespaces/{found[2]}", change, content_type=MERGE).expect()
    return True
