"""Whether one node takes one pod: kube-scheduler's own filters first, then the extender's."""

from gpusched.core.codes import Reason
from gpusched.core.names import LOWERED_ANNOTATION
from gpusched.native.affinity import node_affinity_reason
from gpusched.native.filter import dynamic_reason, static_reason
from gpusched.placement import fit
from gpusched.simulate.admit import Candidate
from gpusched.simulate.world import World
from gpusched.state.node_state import NodeState


def static_verdict(candidate: Candidate, state: NodeState) -> Reason | None:
    """The part that depends on the node's own object alone: taints, affinity, unschedulable."""
    node = state.node
    reason = static_reason(candidate.pod, node.object)
    if reason is not Reason.NATIVE_AFFINITY or candidate.request is None:
        return reason
    if LOWERED_ANNOTATION not in candidate.pod.annotations:
        return reason
    if node_affinity_reason(candidate.plain, node.object) is not None:
        return reason
    # The user's own affinity matches, so it was the lowered policy that said no: name the rule. A node that lacks the
    # GPU resource is refused for that by kube-scheduler itself.
    rule = fit.static_reason(candidate.request, node)
    return Reason.NATIVE_RESOURCES if rule is Reason.NO_RESOURCE else rule or reason


def live_verdict(candidate: Candidate, state: NodeState, world: World) -> Reason | None:
    """The part that changes with what runs in the cluster, and the extender's answer."""
    native = dynamic_reason(
        candidate.pod,
        candidate.requests,
        world.ledger.node(state.node.name),
        world.ledger,
        skip=state.node.dra_resources,
    )
    if native is not None or candidate.request is None:
        return native
    return fit.reason(candidate.request, state, world.cluster)


def verdict(candidate: Candidate, state: NodeState, world: World) -> Reason | None:
    """The first filter that refuses the node, None when it takes the pod."""
    return static_verdict(candidate, state) or live_verdict(candidate, state, world)
