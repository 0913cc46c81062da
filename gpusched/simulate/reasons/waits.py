"""Why pods of a cluster wait for a node, found once for all that are alike."""

from collections.abc import Sequence

import msgspec

from gpusched.core.constraints import Constraints
from gpusched.core.fingerprint import fingerprint
from gpusched.core.names import DEFAULT_SCHEDULER, LOWERED_ANNOTATION, POLICY_HASH_ANNOTATION, PREFIX, STATUS_PREFIX
from gpusched.core.pod import Pod
from gpusched.core.quantity import format_mib
from gpusched.placement.quota import Place, excesses, places
from gpusched.simulate.admit import Candidate
from gpusched.simulate.claim_objects import PodClaims
from gpusched.simulate.expand import PlannedPod
from gpusched.simulate.manifest import Manifest
from gpusched.simulate.outcome import never_text
from gpusched.simulate.placer import Placer
from gpusched.simulate.reasons.explain import Explanation, explain_besides, explain_fully, never_taken, with_suggestion
from gpusched.simulate.reasons.obstacle import Obstacle, obstacle
from gpusched.simulate.reasons.stored_pod import as_stored, is_whole
from gpusched.simulate.reasons.survey import some_node_takes
from gpusched.simulate.remedies.remedy import recreated_fits
from gpusched.simulate.world import World
from gpusched.state.cluster import Cluster
from gpusched.state.events import key_of


class Wait(msgspec.Struct, frozen=True):
    """What is said of a pod that waits; no explanation where some node takes it now. `demand` and `history` are for
    people.
    """

    demand: str
    history: str
    explanation: Explanation | None = None


class Waits:
    """Answers for one pod after the other while their world stays as it is."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._known: dict[object, Wait] = {}
        self._places: dict[str, Place] | None = None
        self._lines: dict[bytes, tuple[str, str]] = {}

    def of(self, manifest: Manifest, pod: Pod) -> Wait:
        """Why a pod waits that has no node and no gate; `pod` is what was read of it."""
        besides = obstacle(manifest.tree, pod, self._world)
        key = self._likeness(pod), besides
        if key not in self._known:
            self._known[key] = _wait(manifest, pod, besides, self._world)
        return self._known[key]

    def line(self, planned: PlannedPod, candidate: Candidate) -> str:
        """The place of a pod in the quota line, who holds what it waits for, and what keeps it from every node even
        when the quota lets it go; empty where it is in no line.
        """
        cluster, pod = self._world.cluster, candidate.pod
        if self._places is None:
            self._places = {record.key: place for record, place in places(cluster)}
        place, template = self._places.get(key_of(pod)), self._template(pod)
        if place is None:
            return ""
        if template not in self._lines:
            never = _never(pod, cluster)
            self._lines[template] = never, never_taken(planned, candidate, self._world)
        never, cause = self._lines[template]
        besides = f"; besides, no node would take it: {cause}" if cause else ""
        return (never or _line(pod, place)) + besides

    def _likeness(self, pod: Pod) -> object:
        """Equal for pods of which the same is said: all of one template, also with what controllers add for each, such
        as an index and volumes of its own. A quota counts other pods for each pod in its line.
        """
        resolution = self._world.cluster.resolution(pod.namespace, pod.annotations)
        if resolution.quota is not None or resolution.quota_memory_mib is not None:
            return key_of(pod)
        return self._template(pod)

    def _template(self, pod: Pod) -> bytes:
        own = sorted(item for item in pod.annotations.items() if item[0].startswith((PREFIX, STATUS_PREFIX)))
        labels = [(key, pod.labels.get(key)) for key in self._world.ledger.labels_asked(pod)]
        controller = pod.owner.kind if pod.owner is not None else ""
        return msgspec.json.encode((pod.namespace, controller, own, labels, pod.spec), order="deterministic")


def line_text(pod: Pod, place: Place, cluster: Cluster) -> str:
    """The place of a pod behind the quota gate in words."""
    return _never(pod, cluster) or _line(pod, place)


def _never(pod: Pod, cluster: Cluster) -> str:
    over = excesses(key_of(pod), cluster)
    return never_text(pod.namespace, over) if over else ""


def _line(pod: Pod, place: Place) -> str:
    return f"place {place.place} in the line of namespace {pod.namespace}; slots held by {holders_text(place)}"


def holders_text(place: Place, most: int | None = None) -> str:
    """Who holds what a pod behind the quota gate waits for, with no more than so many names of a kind."""
    kinds = [_named(place.holders, most)] if place.holders else []
    if place.pending:
        pods = "pod" if len(place.pending) == 1 else "pods"
        kinds.append(f"the ungated pending {pods} {_named(place.pending, most)}")
    return " and ".join(kinds) or "nobody"


def _named(names: Sequence[str], most: int | None) -> str:
    known = names[:most]
    more = f" and {len(names) - len(known)} more" if len(names) > len(known) else ""
    return f"{', '.join(known)}{more}"


def outdated(pod: Pod, constraints: Constraints) -> str:
    """What to do about a pod that was lowered under other constraints than those of today; empty when it was not.

    Affinity stays as it was lowered: a policy that has changed since does not reach the pod.
    """
    if pod.annotations.get(POLICY_HASH_ANNOTATION) in {None, fingerprint(constraints)}:
        return ""
    rules = pod.annotations.get(LOWERED_ANNOTATION, "")
    return f"it was created under an older policy ({rules}): recreate it, so that the policy of today holds"


def demand_text(candidate: Candidate) -> str:
    """What the pod asks for, such as `2 nvidia.com/gpu, claim 6Gi per slot`."""
    request = candidate.request
    if request is None:
        return "no GPU"
    parts = [f"{count} {resource}" for resource, count in sorted(request.demand.slots.items())]
    if request.demand.claim_mib is not None:
        parts.append(f"claim {format_mib(request.demand.claim_mib)} per slot")
    return ", ".join(parts)


def _soon(taker: str, pod: Pod, besides: Obstacle | None, claims: PodClaims) -> str:
    name = pod.spec.scheduler_name
    scheduler = "kube-scheduler" if name == DEFAULT_SCHEDULER else f"scheduler {name}"
    if besides is None and pod.spec.unmodelled:
        named = claims.named()
        what = " and ".join(pod.spec.unmodelled) + (f" ({named})" if named else "")
        return f"node {taker} has room for it; {what} are not judged here, and {scheduler} has said nothing of them yet"
    if besides is None:
        return f"node {taker} takes it now: {scheduler} should place it soon"
    return (
        f"{scheduler} said at its last try: {besides.cause}; now node {taker} takes it, so the next try should place it"
    )


def _both(suggestion: str, other: str) -> str:
    """What makes some node fit, and what keeps the pod waiting even then."""
    return f"{suggestion}; besides, {other[0].lower()}{other[1:]}" if suggestion and other else suggestion or other


def _wait(manifest: Manifest, pod: Pod, besides: Obstacle | None, world: World) -> Wait:
    planned, candidate = as_stored(manifest, world)
    demand = demand_text(candidate)
    if besides is not None and besides.absolute:
        return Wait(demand, "", explain_besides(planned, candidate, world, besides))
    taker = Placer(world).choose(candidate, None) if some_node_takes(candidate, world) else None
    if taker is not None:
        if besides is not None and not besides.passing:
            return Wait(demand, "", explain_besides(planned, candidate, world, besides, taker))
        claims = PodClaims(manifest.tree, pod.namespace, world.claims, world.claim_kinds)
        return Wait(demand, _soon(taker, pod, besides, claims))
    explanation = explain_fully(planned, candidate, world)
    if besides is not None and not besides.passing:
        caveats = (f"besides, {besides.cause}", *explanation.caveats)
        explanation = msgspec.structs.replace(explanation, caveats=caveats)
        explanation = with_suggestion(explanation, _both(explanation.view.suggestion, besides.change))
    older = outdated(pod, candidate.request.resolution.constraints) if candidate.request is not None else ""
    if older and recreated_fits(planned, candidate, world):
        explanation = with_suggestion(explanation, "Create it anew as it is: the policy of today lets it run")
    elif not older and not is_whole(planned, candidate, world):
        explanation = with_suggestion(explanation, "")
    unknown = f"{explanation.open} more nodes have GPUs for it; what else they lack was not looked at"
    history = "; ".join(text for text in (older, unknown if explanation.open else "") if text)
    return Wait(demand, history, explanation)
