"""Judge one raw pod in a namespace, with the facts of a small cluster or none."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gpusched.admission.admission import Admission, Context
from gpusched.admission.judge_pod import judge_pod
from gpusched.core.cluster_facts import ClusterFacts
from gpusched.core.codes import Reason
from gpusched.core.demand import Demand, demand
from gpusched.core.node import Node, NodeObject
from gpusched.core.pod import Pod
from gpusched.core.pool import Pool, Sharing
from gpusched.core.read_pod import read_pod
from gpusched.core.resources import GpuResources
from gpusched.policy.annotations import parse_namespace, parse_pod
from gpusched.policy.model import Config
from gpusched.policy.resolution import Resolution
from gpusched.policy.resolve import resolve

RESOURCES = GpuResources({"nvidia.com/gpu-10gb": "nvidia"})


def gpu_node(
    name: str = "n1",
    slots: int = 1,
    *,
    resource: str = "nvidia.com/gpu",
    family: str | None = "turing",
    product: str | None = "t4",
    memory: int | None = 15360,
    sharing: Sharing | None = Sharing.NONE,
    replicas: int = 1,
    labels: Mapping[str, str] | None = None,
    blocked: Reason | None = None,
) -> Node:
    """A node with one pool of `slots` slots on cards of `memory` MiB, of which MPS shows a container its part."""
    part = None if memory is None else memory // replicas
    pool = Pool(
        resource=resource,
        vendor=RESOURCES.vendor(resource) or "nvidia",
        slots=slots,
        family=family,
        product=product,
        sharing=sharing,
        replicas=replicas,
        devices=slots // replicas,
        gpu_memory_mib=memory,
        visible_memory_mib=part if sharing is Sharing.MPS else memory,
        slot_memory_mib=part,
        blocked=blocked,
    )
    labelled = NodeObject(name, labels=labels or {}, allocatable={"cpu": 64000, resource: slots})
    return Node(labelled, pools=(pool,))


def facts_of(*nodes: Node, dialects: Iterable[str] = ()) -> ClusterFacts:
    """Facts of a cluster of these nodes and no others."""
    return ClusterFacts(
        known=True,
        nodes=nodes,
        pools=tuple(pool for node in nodes for pool in node.pools if pool.slots),
        resources=frozenset(name for node in nodes for name in node.object.allocatable if "/" in name),
        dialects=frozenset(dialects),
    )


def resolver(
    policy: Mapping[str, str], config: Config, namespace: str, labels: Mapping[str, str] | None = None
) -> Callable[[Mapping[str, str]], Resolution]:
    """What holds for a pod's annotations in a namespace with this policy, its keys without prefix."""
    parsed = parse_namespace({f"gpusched.io/{key}": value for key, value in policy.items()})
    return lambda annotations: resolve(config, namespace, labels or {}, parsed, parse_pod(annotations))


def brought(
    tree: Any,
    *,
    policy: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    facts: ClusterFacts | None = None,
    config: Config | None = None,
    **context: Any,
) -> tuple[Pod, Any, Demand, Context]:
    """What admission is told of a pod. `policy` are the namespace's annotations without prefix, `labels` its labels; no
    facts: no cluster is known.
    """
    pod = read_pod(tree, [])
    settings = config or Config()
    resolution = resolver(policy or {}, settings, pod.namespace, labels)(pod.annotations)
    ctx = Context(
        facts=facts or ClusterFacts(),
        resolution=resolution,
        config=settings,
        resources=RESOURCES,
        namespace=pod.namespace,
        **context,
    )
    return pod, tree, demand(pod, RESOURCES, resolution.own.claim_mib), ctx


def judged(tree: Any, **arguments: Any) -> Admission:
    """The answer to a pod; arguments as for `brought`."""
    return judge_pod(*brought(tree, **arguments))


def lines(answer: Admission) -> tuple[list[str], list[str]]:
    """Refusals and warnings as users see them, code first; those of the patch itself left out."""
    refusals = [f"{finding.code}: {finding.message}" for finding in answer.refusals]
    return refusals, [f"{finding.code}: {finding.message}" for finding in answer.warnings if finding.code != _PATCH]


_PATCH = "runtime-class-missing"


def codes(answer: Admission) -> tuple[list[str], list[str]]:
    """Codes of refusals and of warnings."""
    refusals, warnings = lines(answer)
    return [line.partition(":")[0] for line in refusals], [line.partition(":")[0] for line in warnings]
