"""Explanations of pods of a cluster, with an API server that has the pods given."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from gpusched.core.pod import Pod
from gpusched.core.read_pod import read_pod
from gpusched.serve.explaining import explainer
from gpusched.serve.explaining.bystanders import PodsOn
from gpusched.serve.explaining.explainer import Explained, Explainer, GetPod
from gpusched.simulate.manifest import Manifest
from gpusched.simulate.reasons.why import Why
from gpusched.simulate.world import World
from gpusched.state.cluster import Cluster
from tests.build import Tree, bound, pod
from tests.placement.scene import see


def server_of(trees: Mapping[tuple[str, str], Tree]) -> GetPod:
    """Pods by namespace and name."""

    async def get_pod(namespace: str, name: str) -> tuple[int, object]:
        found = trees.get((namespace, name))
        return (404, None) if found is None else (200, found)

    return get_pod


def beside(others: Sequence[Tree]) -> PodsOn:
    """Pods without a GPU, by their node."""
    known = [read_pod(tree, []) for tree in others]

    async def pods_on(node: str) -> tuple[Pod, ...]:
        return tuple(found for found in known if found.spec.node_name == node)

    return pods_on


def busy(node: str, cpu: str) -> Tree:
    """A pod without a GPU on a node, with so many processors."""
    tree = bound(pod(f"web-{node}", gpus=None), node)
    tree["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    return tree


def asking(tree: Tree, cpu: str) -> Tree:
    """The pod with so many processors."""
    tree["spec"]["containers"][0]["resources"]["requests"] = {"cpu": cpu}
    return tree


def unexpected(failed: Pod) -> None:
    """No explanation is to fail."""
    raise AssertionError(failed.name)


def fail_for(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let the explanation of the pod of this name raise."""
    as_it_is = explainer.why_standing

    def failing(manifest: Manifest, world: World) -> Why:
        return as_it_is(manifest, {}[name] if manifest.name == name else world)

    monkeypatch.setattr(explainer, "why_standing", failing)


def explained(cluster: Cluster, tree: Tree, others: Sequence[Tree] = ()) -> Explained:
    """What is found out about a pod that the API server has as in `tree`."""
    see(cluster, tree)
    asked = read_pod(tree, [])
    server = server_of({(asked.namespace, asked.name): tree})
    found = asyncio.run(Explainer(cluster, server, beside(others), float, unexpected).explain(asked))
    assert found is not None
    return found
