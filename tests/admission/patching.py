"""Patch one raw pod in a namespace, and apply the patch with an independent library."""

import copy
from collections.abc import Mapping
from typing import Any

import jsonpatch

from gpusched.admission.admission import Context, Op
from gpusched.admission.mutate import Mutation, patch_for
from gpusched.core.cluster_facts import ClusterFacts, RuntimeClass
from gpusched.core.demand import demand
from gpusched.core.read_pod import read_pod
from gpusched.policy.model import Config
from tests.admission.judging import RESOURCES, resolver

NVIDIA_CLASS = {"nvidia": RuntimeClass("nvidia", "nvidia")}


def mutated(
    tree: Any,
    *,
    policy: Mapping[str, str] | None = None,
    facts: ClusterFacts | None = None,
    config: Config | None = None,
    **context: Any,
) -> Mutation:
    """The mutation of a pod. `policy` are the namespace's annotations without prefix; without facts none are known."""
    pod = read_pod(tree, [])
    settings = config or Config()
    resolution = resolver(policy or {}, settings, pod.namespace)(pod.annotations)
    ctx = Context(
        facts=facts or ClusterFacts(),
        resolution=resolution,
        config=settings,
        resources=RESOURCES,
        namespace=pod.namespace,
        **context,
    )
    return patch_for(pod, tree, demand(pod, RESOURCES, resolution.own.claim_mib), ctx)


def applied(tree: Any, patch: tuple[Op, ...]) -> Any:
    """The object after the patch."""
    return jsonpatch.apply_patch(copy.deepcopy(tree), [op.as_json() for op in patch])


def mutated_pod(tree: Any, **arguments: Any) -> Any:
    """The pod after its mutation."""
    return applied(tree, mutated(tree, **arguments).patch)


def terms_of(tree: Any) -> list[dict[str, Any]]:
    """The pod's required nodeSelectorTerms."""
    affinity = tree["spec"]["affinity"]["nodeAffinity"]
    return affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
