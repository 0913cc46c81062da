"""`why`: everything there is to say about one pod, of the manifests or of the dump."""

from collections.abc import Iterable
from typing import Final

import msgspec

from gpusched.admission.admission import Admission
from gpusched.core.demand import demand
from gpusched.core.fault import Fault
from gpusched.core.names import QUOTA_GATE
from gpusched.core.pod import Pod
from gpusched.core.quantity import format_mib
from gpusched.core.read_pod import read_pod
from gpusched.placement.quota import position
from gpusched.simulate.admit import Candidate, candidate_of
from gpusched.simulate.expand import PlannedPod
from gpusched.simulate.explain import Explanation, explain_fully
from gpusched.simulate.manifest import Manifest
from gpusched.simulate.result import PlacementView, PodView, admission_view
from gpusched.simulate.run import Outcome, Simulation
from gpusched.simulate.world import World
from gpusched.state.events import key_of

#: Short and plural names of kinds that kubectl users type.
_KIND_NAMES: Final = {
    "po": "pod", "deploy": "deployment", "sts": "statefulset", "ds": "daemonset", "rs": "replicaset",
    "rc": "replicationcontroller", "cj": "cronjob",
}  # fmt: skip


class Target(msgspec.Struct, frozen=True):
    """What the user named: a kind in lower case (empty for any), a namespace (empty for any) and a name."""

    kind: str
    namespace: str
    name: str


class Why(msgspec.Struct, frozen=True):
    """The answer: the element of `simulate`'s pods, and for people the demand, examples and the place in line."""

    view: PodView
    demand: str = ""
    explanation: Explanation | None = None
    line: str = ""
    history: str = ""


def parse_target(text: str, kinds: Iterable[str]) -> Target:
    """`name`, `namespace/name` or `TYPE/name`; a first part is a type when some object is of that kind."""
    first, slash, rest = text.partition("/")
    if not slash:
        return Target("", "", text)
    kind = _kind(first)
    known = {name.lower() for name in kinds} | {"pod"}
    return Target(kind, "", rest) if kind in known else Target("", first, rest)


def _kind(text: str) -> str:
    lower = text.lower().split(".")[0]
    lower = _KIND_NAMES.get(lower, lower)
    return lower[:-1] if lower.endswith("s") and not lower.endswith("ss") else lower


def find_planned(simulation: Simulation, target: Target) -> list[Outcome]:
    """Outcomes of the manifests that the target means, those that are not placed first."""
    found = [outcome for outcome in simulation.outcomes if _means(outcome.planned, target)]
    return sorted(found, key=lambda outcome: outcome.node is not None)


def _means(planned: PlannedPod, target: Target) -> bool:
    manifest = planned.manifest
    if target.namespace and manifest.namespace != target.namespace:
        return False
    if target.kind not in {"", "pod"}:
        return manifest.kind.lower() == target.kind and manifest.name == target.name
    return planned.name == target.name or (not target.kind and manifest.name == target.name)


def why_planned(outcome: Outcome, simulation: Simulation) -> Why:
    """A pod of the manifests, as the simulation left it."""
    (view,) = simulation.views((outcome,))
    candidate = outcome.candidate
    if candidate is None:
        return Why(view=view)
    explanation = explain_fully(outcome.planned, candidate, simulation.world) if outcome.waiting else None
    return Why(
        view=view,
        demand=_demand_text(candidate),
        explanation=explanation,
        line=_line(candidate.pod, simulation.world) if outcome.gated == "quota" else "",
    )


def find_standing(manifests: Iterable[Manifest], target: Target) -> list[Manifest]:
    """Pods of the dump that the target means: by name, or by the workload that owns them."""
    pods = [manifest for manifest in manifests if manifest.kind == "Pod" and not manifest.group]
    return [manifest for manifest in pods if _stands_for(manifest, target)]


def _stands_for(manifest: Manifest, target: Target) -> bool:
    if target.namespace and manifest.namespace != target.namespace:
        return False
    if target.kind not in {"", "pod"}:
        owner = read_pod(manifest.tree, []).owner
        owned = owner is not None and owner.kind.lower() == target.kind and owner.name == target.name
        through_set = owner is not None and target.kind == "deployment" and owner.kind == "ReplicaSet"
        return owned or (through_set and owner is not None and owner.name.rpartition("-")[0] == target.name)
    return manifest.name == target.name


def why_standing(manifest: Manifest, world: World) -> Why:
    """A pod of the dump: why it waits, or why it is where it is."""
    faults: list[Fault] = []
    pod = read_pod(manifest.tree, faults)
    resolution = world.cluster.resolution(pod.namespace, pod.annotations)
    asked = demand(pod, world.cluster.resources, resolution.own.claim_mib)
    candidate = candidate_of(pod, pod.spec, asked, world)
    owner = f"{pod.owner.kind}/{pod.owner.name}" if pod.owner else None
    planned = PlannedPod(manifest, pod.name, manifest.tree, owner, pod.owner.kind if pod.owner else "")
    view = PodView(
        namespace=pod.namespace, name=pod.name, owner=owner, source=manifest.source,
        admission=admission_view(Admission()),
    )  # fmt: skip
    text = _demand_text(candidate)
    if pod.spec.node_name:
        placement = PlacementView(node=pod.spec.node_name, resources=dict(sorted(asked.slots.items())), score=0)
        history = _history(pod, candidate, world)
        return Why(view=msgspec.structs.replace(view, placement=placement), demand=text, history=history)
    if QUOTA_GATE in pod.spec.gates:
        return Why(view=msgspec.structs.replace(view, gated="quota"), demand=text, line=_line(pod, world))
    if pod.spec.gates:
        return Why(view=msgspec.structs.replace(view, gated=pod.spec.gates[0]), demand=text)
    explanation = explain_fully(planned, candidate, world)
    if not explanation.view.reasons and world.cluster.nodes:
        return Why(view=view, demand=text, history="some node takes it now: kube-scheduler should place it soon")
    return Why(view=msgspec.structs.replace(view, unschedulable=explanation.view), demand=text, explanation=explanation)


def _demand_text(candidate: Candidate) -> str:
    request = candidate.request
    if request is None:
        return "no GPU"
    parts = [f"{count} {resource}" for resource, count in sorted(request.demand.slots.items())]
    if request.demand.claim_mib is not None:
        parts.append(f"claim {format_mib(request.demand.claim_mib)} per slot")
    return ", ".join(parts)


def _line(pod: Pod, world: World) -> str:
    """The place in the quota line, and who holds what it waits for."""
    place = position(key_of(pod), world.cluster)
    if place is None:
        return ""
    holders = ", ".join(place.holders) if place.holders else "nobody"
    return f"place {place.place} in the line of namespace {pod.namespace}; slots held by {holders}"


def _history(pod: Pod, candidate: Candidate, world: World) -> str:
    """Why a bound pod is where it is, from what is known now."""
    if candidate.request is None:
        return "it asks for no GPU: kube-scheduler placed it"
    if not pod.bound_by_us:
        return "it was bound without gpusched: by another scheduler, spec.nodeName, or before gpusched was installed"
    state = world.cluster.nodes.get(pod.spec.node_name)
    if state is None:
        return "its node is not in the dump"
    pools = [pool for resource in candidate.request.demand.slots if (pool := state.node.pool(resource)) is not None]
    facts = "; ".join(f"{pool.product or 'unknown product'} ({pool.family or 'unknown family'})" for pool in pools)
    families = candidate.request.resolution.constraints.families
    preference = f"; preferred families {', '.join(families)}" if families else ""
    return f"gpusched bound it to {facts}{preference}; placement {candidate.request.resolution.placement}"
