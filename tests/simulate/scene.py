"""Runs of the simulation over raw objects."""

from collections.abc import Iterable
from typing import Any

from gpusched.policy.config import parse_config
from gpusched.policy.model import Config
from gpusched.simulate.manifest import CLUSTER_SCOPED, InputFault, Manifest
from gpusched.simulate.result import PodView
from gpusched.simulate.run import Simulation
from gpusched.simulate.world import World, load
from tests.build import Tree, container, node, pod


def manifest(tree: Tree, number: int = 1) -> Manifest:
    """The object as document of a file."""
    metadata = tree["metadata"]
    space = "" if tree["kind"] in CLUSTER_SCOPED else metadata.get("namespace", "default")
    return Manifest(f"f.yaml:{number}", tree, tree["kind"], tree["apiVersion"], metadata.get("name", ""), space)


def manifests(trees: Iterable[Tree]) -> list[Manifest]:
    """The objects as documents of one file."""
    return [manifest(tree, number) for number, tree in enumerate(trees, start=1)]


def world_of(*trees: Tree, config: Config | None = None) -> World:
    """A dump of these objects."""
    world = load(manifests(trees), config or Config())
    assert world.faults == []
    return world


def simulate(cluster: Iterable[Tree], *trees: Tree, config: Config | None = None) -> Simulation:
    """The run of these manifests over a dump; nothing about them is at fault."""
    simulation = run(cluster, *trees, config=config)
    assert simulation.faults == []
    return simulation


def run(cluster: Iterable[Tree], *trees: Tree, config: Config | None = None) -> Simulation:
    """The same, whatever is at fault."""
    simulation = Simulation(world_of(*cluster, config=config))
    simulation.run(manifests(trees))
    return simulation


def views(cluster: Iterable[Tree], *trees: Tree, config: Config | None = None) -> tuple[PodView, ...]:
    """What becomes of the manifests' pods."""
    return simulate(cluster, *trees, config=config).views()


def only(cluster: Iterable[Tree], tree: Tree, config: Config | None = None) -> PodView:
    """What becomes of the one pod of a manifest."""
    (view,) = views(cluster, tree, config=config)
    return view


def placed(cluster: Iterable[Tree], *trees: Tree) -> dict[str, str | None]:
    """Node by name of pod."""
    return {view.name: view.placement.node if view.placement else None for view in views(cluster, *trees)}


def codes(view: PodView) -> dict[str, int]:
    """Reasons of a pod that is not placed, with the number of nodes."""
    assert view.unschedulable is not None
    return {reason.code: reason.nodes for reason in view.unschedulable.reasons}


def workload(
    kind: str, name: str = "w", *, template: Tree | None = None, namespace: str = "team-a", **spec: Any
) -> Tree:
    """A workload of the apps or batch group; `template` is a pod tree of which metadata and spec are taken."""
    source = template or pod(gpus=1)
    inner = {"metadata": {key: value for key, value in source["metadata"].items() if key in {"labels", "annotations"}}}
    inner["spec"] = source["spec"]
    group = "batch/v1" if kind in {"Job", "CronJob"} else "v1" if kind == "ReplicationController" else "apps/v1"
    body: Tree = {"jobTemplate": {"spec": {"template": inner} | spec}} if kind == "CronJob" else {"template": inner}
    if kind != "CronJob":
        body |= spec
    return {"apiVersion": group, "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": body}


def owned(tree: Tree, kind: str, name: str) -> Tree:
    """The object as its controller made it."""
    tree["metadata"]["ownerReferences"] = [{"kind": kind, "name": name, "controller": True, "apiVersion": "v1"}]
    return tree


def cpu_node(name: str = "cpu", **extra: Any) -> Tree:
    """A node without GPUs."""
    return node(name, gpus=None, **extra)


def cpu_pod(name: str = "c", cpu: str | None = None, **extra: Any) -> Tree:
    """A pod without GPUs."""
    resources = {} if cpu is None else {"resources": {"requests": {"cpu": cpu}}}
    return pod(name, extra.pop("namespace", "team-a"), container(**resources), **extra)


def configured(**keys: Any) -> Config:
    """A configuration of these keys."""
    config, faults = parse_config({"apiVersion": "gpusched.io/v1alpha1", "kind": "Config"} | keys)
    assert faults == ()
    return config


def messages(faults: Iterable[InputFault]) -> list[tuple[str, str]]:
    """Path and message of each fault."""
    return [(fault.path, fault.message) for fault in faults]
