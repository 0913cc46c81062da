"""A pod as the API server has it: what its author wrote of it, and what the scheduler meets."""

import msgspec

from gpusched.core.demand import demand
from gpusched.core.names import LOWERED_ANNOTATION, PREFIX
from gpusched.core.pod import Pod
from gpusched.core.read_pod import read_pod
from gpusched.core.selector import Requirement
from gpusched.simulate.admit import Candidate, admit, candidate_of
from gpusched.simulate.expand import PlannedPod, bare_pod
from gpusched.simulate.manifest import Manifest
from gpusched.simulate.unlower import unlowered
from gpusched.simulate.world import World


def as_stored(manifest: Manifest, world: World) -> tuple[PlannedPod, Candidate]:
    """The pod to be created anew, without the affinity that was lowered into it, and the pod as it stands."""
    pod = read_pod(manifest.tree, [])
    resolution = world.cluster.resolution(pod.namespace, pod.annotations)
    asked = demand(pod, world.cluster.resources, resolution.own.claim_mib)
    written = unlowered(manifest.tree, resolution.constraints.node_selector)
    candidate = candidate_of(pod, read_pod(written, []).spec, asked, world)
    return msgspec.structs.replace(bare_pod(manifest), tree=written, pinned=_pinned(pod, world)), candidate


def _pinned(pod: Pod, world: World) -> str:
    """The node that a DaemonSet's controller made the pod for; empty for other pods, and where it is not at hand."""
    if pod.owner is None or pod.owner.kind != "DaemonSet":
        return ""
    names = {name for term in pod.spec.node_affinity or () for part in term.fields for name in part.values}
    return names.pop() if len(names) == 1 and names <= world.cluster.nodes.keys() else ""


def is_whole(planned: PlannedPod, candidate: Candidate, world: World) -> bool:
    """Whether nothing of the author's went with what was lowered: he too may ask for gpusched's labels, and a change
    that is tried without that promises too much.
    """
    if LOWERED_ANNOTATION not in candidate.pod.annotations:
        return True
    again = admit(planned, world).candidate
    return again is None or _own_labels(candidate.pod) <= _own_labels(again.pod)


def _own_labels(pod: Pod) -> set[Requirement]:
    terms = pod.spec.node_affinity or ()
    return {part for term in terms for part in term.expressions if part.key.startswith(PREFIX)}
