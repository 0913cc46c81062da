"""Questions about scheduling that tests put to the API: where a pod is, what was said about it, what it cost."""

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from gpusched.local.cluster import Operations
from gpusched.local.installed import Installed
from tests.build import Tree

SECONDS = 60.0
#: Filter calls after a refusal: kube-scheduler tries once more at once, since its own status patch is an event.
CALLS_OF_A_REFUSAL = 2


def say(line: str) -> None:
    """A line of the test's output, for times that are worth knowing but no ground to fail."""
    sys.stdout.write(f"{line}\n")


def path(namespace: str, name: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def read(plane: Operations, namespace: str, name: str) -> Any:
    return plane.get(path(namespace, name))


def node_of(tree: Any) -> str | None:
    found = tree["spec"].get("nodeName")
    return str(found) if found else None


def bound_node(plane: Operations, namespace: str, name: str, seconds: float = SECONDS) -> str:
    """The node of the pod once it has one."""
    return plane.wait_for(path(namespace, name), node_of, seconds, f"{namespace}/{name} bound")


def bound_nodes(plane: Operations, namespace: str, names: Iterable[str], seconds: float = SECONDS) -> list[str]:
    return [bound_node(plane, namespace, name, seconds) for name in names]


def condition(tree: Any, reason: str = "Unschedulable") -> str | None:
    """The message of PodScheduled=False with this reason."""
    for item in tree.get("status", {}).get("conditions", ()):
        if item["type"] == "PodScheduled" and item["status"] == "False" and item.get("reason") == reason:
            return str(item.get("message", ""))
    return None


def refusal(plane: Operations, namespace: str, name: str, seconds: float = SECONDS) -> str:
    """What kube-scheduler says about a pod that no node takes."""
    return plane.wait_for(path(namespace, name), condition, seconds, f"{namespace}/{name} unschedulable")


def events(plane: Operations, namespace: str, name: str) -> list[Any]:
    """Events about a pod, oldest first."""
    query = {"fieldSelector": f"involvedObject.name={name}"}
    found: Any = plane.get(f"/api/v1/namespaces/{namespace}/events", query=query)["items"]
    return sorted(found, key=lambda item: str(item.get("eventTime") or item.get("firstTimestamp")))


def create(plane: Operations, tree: Mapping[str, Any]) -> Tree:
    """The pod as stored; a refusal is an error of the test."""
    return plane.create(tree).expect()


def delete(plane: Operations, namespace: str, name: str) -> None:
    plane.request("DELETE", path(namespace, name), query={"gracePeriodSeconds": "0"}).expect()


def annotate_namespace(plane: Operations, name: str, **policy: str | None) -> None:
    """Set gpusched annotations (`_` for `-`), or remove those that are None."""
    annotations = {f"gpusched.io/{key.replace('_', '-')}": value for key, value in policy.items()}
    plane.request(
        "PATCH",
        f"/api/v1/namespaces/{name}",
        {"metadata": {"annotations": annotations}},
        content_type="application/merge-patch+json",
    ).expect()


def filter_calls(installed: Installed) -> float:
    return installed.metric("gpusched_decisions_total", verb="filter")


def bound_in(plane: Operations, namespace: str) -> dict[str, str]:
    """Pods of a namespace that have a node, with it."""
    items: Any = plane.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
    return {item["metadata"]["name"]: node for item in items if (node := node_of(item))}


def reconfigure(plane: Operations, installed: Installed, changes: Mapping[str, Any]) -> None:
    """Change the configuration of the running service; returns when it is in use."""

    def loaded() -> int:
        return installed.log.read_text(encoding="utf-8").count("configuration loaded")

    before = loaded()
    installed.configure(changes)
    plane.wait_until(lambda: loaded() > before, what="configuration loaded")


def priority_class(plane: Operations, name: str, value: int) -> None:
    plane.apply(
        [
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": name},
                "value": value,
            }
        ]
    )
