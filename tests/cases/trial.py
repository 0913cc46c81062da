"""Objects tried on a cluster through the outer layers: reviews, extender calls, simulation, the command."""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

import jsonpatch
import msgspec
from click.testing import CliRunner

from gpusched.cli.main import gpusched
from gpusched.core.node import Node
from gpusched.policy.config import parse_config
from gpusched.policy.model import Config
from gpusched.simulate.manifest import Manifest
from gpusched.simulate.result import PodView
from gpusched.simulate.run import Simulation
from gpusched.simulate.world import World, load
from gpusched.state.cluster import Cluster
from gpusched.wire.answers import answer_filter, answer_prioritize
from tests.build import Tree
from webhook.review import answer_review

NVIDIA_CLASS: Tree = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "nvidia"},
    "handler": "nvidia",
}


def configured(**sections: Any) -> Config:
    """A configuration file with these sections, which must be free of errors."""
    config, faults = parse_config({"apiVersion": "gpusched.io/v1alpha1", "kind": "Config"} | sections)
    assert faults == ()
    return config


def world_of(*dump: Mapping[str, Any], config: Config | None = None) -> World:
    """A cluster dump as working state; everything in it must be readable."""
    world = load([_manifest(tree, "dump") for tree in dump], config or Config())
    assert world.faults == []
    return world


def cluster_of(*dump: Mapping[str, Any], config: Config | None = None) -> Cluster:
    """The state that the service would have after listing these objects."""
    return world_of(*dump, config=config).cluster


def _manifest(tree: Mapping[str, Any], file: str) -> Manifest:
    metadata = tree["metadata"]
    return Manifest(
        source=f"{file}:1",
        tree=tree,
        kind=tree["kind"],
        api_version=tree["apiVersion"],
        name=metadata.get("name", ""),
        namespace=metadata.get("namespace", ""),
    )


def simulated(*trees: Tree, on: World) -> tuple[PodView, ...]:
    """What `simulate` prints about the pods of these objects, created in this order."""
    simulation = Simulation(on)
    simulation.run(_manifest(tree, "manifests") for tree in trees)
    assert simulation.faults == []
    return simulation.views()


def reasons(view: PodView) -> dict[str, int]:
    """Nodes by the code of their refusal."""
    assert view.unschedulable is not None
    return {item.code: item.nodes for item in view.unschedulable.reasons}


class Review(msgspec.Struct, frozen=True):
    """The webhook's answer to one review, unpacked."""

    allowed: bool
    message: str
    warnings: tuple[str, ...]
    audit: Mapping[str, str]
    patch: tuple[Mapping[str, Any], ...]

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes of the warnings."""
        return tuple(line.partition(":")[0] for line in self.warnings)

    def applied_to(self, tree: Tree) -> Tree:
        """The object as the API server stores it, by a patch library that is not the product's."""
        result: Tree = jsonpatch.apply_patch(tree, list(self.patch))
        return result


def review(tree: Mapping[str, Any], cluster: Cluster, *, old: Tree | None = None) -> Review:
    """The creation of an object, its update when `old` is given, as the API server asks about it."""
    group, _, version = tree["apiVersion"].rpartition("/")
    request = {
        "uid": "705ab4f5",
        "kind": {"group": group, "version": version, "kind": tree["kind"]},
        "namespace": tree["metadata"].get("namespace", ""),
        "operation": "CREATE" if old is None else "UPDATE",
        "object": tree,
        "oldObject": old,
    }
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    answer = json.loads(answer_review(json.dumps(body).encode(), cluster, mutating=True))["response"]
    assert answer["uid"] == "705ab4f5"
    return Review(
        allowed=answer["allowed"],
        message=answer.get("status", {}).get("message", ""),
        warnings=tuple(answer.get("warnings", ())),
        audit=answer.get("auditAnnotations", {}),
        patch=tuple(json.loads(base64.b64decode(answer["patch"]))) if "patch" in answer else (),
    )


def filtered(tree: Tree, cluster: Cluster, names: Sequence[str] | None = None) -> Any:
    """The answer to a filter call for these nodes, all of the cluster unless given."""
    asked = sorted(cluster.nodes) if names is None else list(names)
    body = {"Pod": tree, "Nodes": None, "NodeNames": asked}
    return json.loads(answer_filter(json.dumps(body).encode(), cluster))


def refused(tree: Tree, cluster: Cluster) -> dict[str, str]:
    """Texts by refused node; such a node is never among those that fit, and nothing is resolvable by preemption."""
    answer = filtered(tree, cluster)
    assert answer["Error"] == ""
    assert answer["FailedNodes"] == {}
    found: dict[str, str] = answer["FailedAndUnresolvableNodes"]
    assert sorted([*answer["NodeNames"], *found]) == sorted(cluster.nodes)
    return found


def fitting(tree: Tree, cluster: Cluster) -> list[str]:
    """Nodes that pass the filter."""
    names: list[str] = filtered(tree, cluster)["NodeNames"]
    return names


def prioritized(tree: Tree, cluster: Cluster, names: Sequence[str] | None = None) -> dict[str, int]:
    """Scores by node; each node must come back once."""
    asked = sorted(cluster.nodes) if names is None else list(names)
    body = {"Pod": tree, "Nodes": None, "NodeNames": asked}
    answer = json.loads(answer_prioritize(json.dumps(body).encode(), cluster))
    assert sorted(entry["Host"] for entry in answer) == sorted(asked)
    return {entry["Host"]: entry["Score"] for entry in answer}


def surveyed(tree: Tree, config: Config | None = None) -> Node:
    """The inventory of one node."""
    return cluster_of(tree, config=config).nodes[tree["metadata"]["name"]].node


def command(*arguments: str) -> Any:
    """JSON output of a command that must end well."""
    result = CliRunner().invoke(gpusched, list(arguments))
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)
