"""What one pod asks of a node, gathered once per decision."""

import msgspec

from gpusched.core.demand import Demand, demand
from gpusched.core.pod import Pod
from gpusched.policy.resolution import Resolution
from gpusched.state.cluster import Cluster
from gpusched.state.events import key_of


class Request(msgspec.Struct, frozen=True):
    """A pod that looks for a node. `uid` is its key in the cluster state; `created` sorts as text.

    `time_slicing_single` is the configuration's word on several time-sliced slots in one container: True refuses
    them, False lets them through, None refuses them where the provider's device plugin is known to.
    """

    namespace: str
    name: str
    uid: str
    demand: Demand
    resolution: Resolution
    priority: int = 0
    created: str = ""
    soft_preferences: bool = False
    time_slicing_single: bool | None = None


def request_of(pod: Pod, cluster: Cluster) -> Request:
    """What the pod asks, under the policy that holds for it now."""
    resolution = cluster.resolution(pod.namespace, pod.annotations)
    return Request(
        namespace=pod.namespace,
        name=pod.name,
        uid=key_of(pod),
        demand=demand(pod, cluster.resources, resolution.own.claim_mib),
        resolution=resolution,
        priority=pod.spec.priority,
        created=pod.created,
        soft_preferences=pod.spec.soft_preferences,
        time_slicing_single=cluster.config.time_slicing_single,
    )
