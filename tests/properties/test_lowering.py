"""Affinity that admission writes and rules that the extender checks are the same rules."""

from hypothesis import assume, given, settings

from gpusched.admission.admission import Context
from gpusched.admission.judge_pod import judge_pod
from gpusched.core.node import Node, NodeObject
from gpusched.core.pod import PodSpec
from gpusched.core.pool import SHARED_KINDS, Sharing
from gpusched.core.read_cluster import read_node
from gpusched.core.read_pod import read_pod
from gpusched.core.selector import all_match
from gpusched.dialects.native_terms import native_terms
from gpusched.native.affinity import node_affinity_reason
from gpusched.placement.fit import static_reason
from gpusched.placement.request import Request, request_of
from gpusched.policy.model import Config, Group
from gpusched.state.cluster import Cluster
from tests.admission.patching import applied
from tests.build import Tree
from tests.placement.scene import see
from tests.properties.fleet import TEMPLATES, nodes, pods, policies, team

settings.register_profile("lowering", max_examples=200, deadline=None)
PROFILE = settings.get_profile("lowering")
MIXED = "gpusched.io/mixed"


def cluster_of(trees: list[Tree]) -> Cluster:
    """A cluster whose nodes the labeller has labelled."""
    cluster = Cluster(Config(), label_nodes=True)
    for tree in trees:
        see(cluster, tree)
    return cluster


def admitted(tree: Tree, cluster: Cluster) -> tuple[PodSpec, PodSpec, Request]:
    """The pod's spec before and after admission, and what it asks of a node; refused pods are no examples."""
    pod = read_pod(tree, [])
    request = request_of(pod, cluster)
    context = Context(
        facts=cluster.facts,
        resolution=request.resolution,
        config=cluster.config,
        resources=cluster.resources,
        namespace=pod.namespace,
    )
    admission = judge_pod(pod, tree, request.demand, context)
    assume(admission.allowed)
    return pod.spec, read_pod(applied(tree, admission.patch), []).spec, request


def accepts(spec: PodSpec, node: NodeObject) -> bool:
    return node_affinity_reason(spec, node) is None


def offers(request: Request, node: Node) -> bool:
    """Whether the node has slots of every resource asked for."""
    pools = [node.pool(resource) for resource in request.demand.slots]
    return all(pool is not None and pool.slots for pool in pools)


def breaks_rules(request: Request, node: Node) -> bool:
    """Whether a pool or the node breaks a static rule of the policy, whatever else speaks against it."""
    constraints = request.resolution.constraints
    pools = [pool for resource in request.demand.slots if (pool := node.pool(resource)) is not None]
    by_labels = constraints.reason_against_labels(node.object.labels)
    return by_labels is not None or any(constraints.reason_against(pool) is not None for pool in pools)


def must_be_unshared(request: Request, cluster: Cluster) -> bool:
    """Whether a container that asks for several slots is kept off shared GPUs, the cluster having both kinds."""
    kinds = [
        {pool.sharing for pool in cluster.facts.pools if pool.resource == resource}
        for resource in request.demand.slots
        if request.demand.largest_container(resource) > 1
    ]
    both = any(kinds_of & SHARED_KINDS and kinds_of & {Sharing.NONE, Sharing.MIG} for kinds_of in kinds)
    return both and request.resolution.enforces(Group.SHARING)


def stood_for(request: Request, node: Node, cluster: Cluster) -> bool:
    """Whether the cloud's labels speak for the node, as they do until the device's own facts are known."""
    terms = native_terms(request.resolution.constraints, cluster.facts.dialects)
    return any(all_match(term, node.object.labels) for term in terms)


@PROFILE
@given(nodes(), policies(), pods())
def test_affinity_accepts_a_node_exactly_if_the_rules_do(trees: list[Tree], policy: dict[str, str], tree: Tree) -> None:
    cluster = cluster_of([*trees, team(policy)])
    plain, lowered, request = admitted(tree, cluster)
    unshared = must_be_unshared(request, cluster)
    for state in cluster.nodes.values():
        node = state.node
        accepted, wished = accepts(lowered, node.object), accepts(plain, node.object)
        assert accepted <= wished
        if not wished or not offers(request, node):
            continue
        excluded = unshared and any(pool.sharing in SHARED_KINDS for pool in node.pools)
        if static_reason(request, node) is None and not excluded:
            assert accepted, node
        if MIXED not in node.object.labels:
            # Whether the extender refuses for what is not lowered, such as GPUs being reconfigured, is not asked here.
            broken = breaks_rules(request, node)
            assert accepted or excluded or broken, node
            assert not (accepted and excluded), node
            assert not (accepted and broken) or stood_for(request, node, cluster), node


@PROFILE
@given(nodes(TEMPLATES), policies(), pods())
def test_affinity_accepts_the_template_of_every_node_that_the_rules_accept(
    trees: list[Tree], policy: dict[str, str], tree: Tree
) -> None:
    cluster = cluster_of([*trees, team(policy)])
    plain, lowered, request = admitted(tree, cluster)
    for template in trees:
        seen = read_node(template, [])
        node = cluster.nodes[seen.name].node
        if offers(request, node) and accepts(plain, seen) and not breaks_rules(request, node):
            assert accepts(lowered, seen), seen


@PROFILE
@given(nodes(TEMPLATES), policies(), pods())
def test_a_template_that_is_accepted_still_is_once_it_is_a_node(
    trees: list[Tree], policy: dict[str, str], tree: Tree
) -> None:
    """Else an autoscaler would buy one such node after the other."""
    cluster = cluster_of([*trees, team(policy)])
    _, lowered, request = admitted(tree, cluster)
    # No cloud's label is asked whether a GPU is shared.
    assume(not must_be_unshared(request, cluster))
    for template in trees:
        seen = read_node(template, [])
        node = cluster.nodes[seen.name].node
        if offers(request, node) and accepts(lowered, seen):
            assert accepts(lowered, node.object), node
