"""`why`: everything there is to say about one pod, of the manifests or of the dump."""

from collections.abc import Iterable
from typing import Final

import msgspec

from gpusched.admission.admission import Admission
from gpusched.core.constraints import Constraints
from gpusched.core.demand import demand, mentions_gpu
from gpusched.core.fingerprint import fingerprint
from gpusched.core.names import LOWERED_ANNOTATION, POLICY_HASH_ANNOTATION, QUOTA_GATE
from gpusched.core.pod import Pod
from gpusched.core.quantity import format_mib
from gpusched.core.read_pod import read_pod
from gpusched.placement.quota import exceeds_quota, position
from gpusched.simulate.admit import Candidate, candidate_of
from gpusched.simulate.expand import PlannedPod, bare_pod, expand
from gpusched.simulate.explain import Explanation, explain_fully, with_suggestion
from gpusched.simulate.manifest import Manifest
from gpusched.simulate.outcome import Outcome
from gpusched.simulate.placer import Placer
from gpusched.simulate.pod_status import status_notes
from gpusched.simulate.remedy import recreated_fits
from gpusched.simulate.result import PlacementView, PodView, admission_view
from gpusched.simulate.run import Simulation
from gpusched.simulate.unlower import unlowered
from gpusched.simulate.world import World
from gpusched.state.events import key_of

#: Short and plural names of kinds that kubectl users type.
_KIND_NAMES: Final = {
    "po": "pod",
    "deploy": "deployment",
    "sts": "statefulset",
    "ds": "daemonset",
    "rs": "replicaset",
    "rc": "replicationcontroller",
    "cj": "cronjob",
}
#: Kinds whose pods belong to objects of another kind that they make.
_BETWEEN: Final = {"deployment": "ReplicaSet", "cronjob": "Job"}

#: How suggestions begin that change the pod itself.
_OF_PODS: Final = ("Set ", "Remove ", "Replace ", "Ask for ", "Tolerate ")

_BOUND_BY_OTHERS: Final = (
    "it was bound without gpusched: by another scheduler, spec.nodeName, or before gpusched was installed"
)
_NO_PODS: Final = "there is no pod of it: judged as if it made one now"


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
    #: The phase of a pod that has ended.
    finished: str = ""
    #: When the pod was created, as the API server writes it.
    created: str = ""


def parse_target(text: str) -> tuple[Target, ...]:
    """`name`, `namespace/name` or `TYPE/name`: what it may mean, the likeliest first."""
    first, slash, rest = text.partition("/")
    if not slash:
        return (Target("", "", text),)
    return Target(_kind(first), "", rest), Target("", first, rest)


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


def find_workloads(manifests: Iterable[Manifest], target: Target) -> list[Manifest]:
    """Workloads of the dump that the target means, whether or not any pod of theirs is there."""
    return [
        manifest
        for manifest in manifests
        if (manifest.group, manifest.kind) != ("", "Pod")
        and manifest.namespace
        and target.kind in {"", manifest.kind.lower()}
        and target.namespace in {"", manifest.namespace}
        and manifest.name == target.name
    ]


def why_workload(manifest: Manifest, simulation: Simulation) -> Why | None:
    """A workload without pods, as if it were created now; None when it has no pod template.

    Pods of it that find a node come last. One that makes no pods now is judged as if it made one.
    """
    before = len(simulation.outcomes)
    planned = expand([manifest], simulation.faults)
    simulation.run([manifest])
    if planned and len(simulation.outcomes) == before:
        simulation.create([msgspec.structs.replace(planned[0], dormant=False, per_node=False)])
    created = sorted(simulation.outcomes[before:], key=lambda outcome: outcome.node is not None)
    if not created:
        return None
    answer = why_planned(created[0], simulation)
    return msgspec.structs.replace(
        answer,
        view=msgspec.structs.replace(answer.view, placement=None, notes=(*answer.view.notes, _NO_PODS)),
        history=f"node {created[0].node} would take it" if created[0].node else "",
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
        # The object between the two has the name of the outer one and a suffix; only pods need be in a dump.
        between = _BETWEEN.get(target.kind)
        through = owner is not None and owner.kind == between and owner.name.rpartition("-")[0] == target.name
        return owned or through
    return manifest.name == target.name


def why_standing(manifest: Manifest, world: World) -> Why:
    """A pod of the cluster: why it waits, or why it is where it is."""
    pod = read_pod(manifest.tree, [])
    resolution = world.cluster.resolution(pod.namespace, pod.annotations)
    asked = demand(pod, world.cluster.resources, resolution.own.claim_mib)
    written = unlowered(manifest.tree, resolution.constraints.node_selector)
    candidate = candidate_of(pod, read_pod(written, []).spec, asked, world)
    planned = msgspec.structs.replace(bare_pod(manifest), tree=written)
    view = PodView(
        namespace=pod.namespace,
        name=pod.name,
        owner=planned.owner,
        source=manifest.source,
        admission=admission_view(Admission()),
        notes=status_notes(manifest.tree),
    )
    answer = Why(view=view, demand=_demand_text(candidate), created=pod.created)
    if pod.terminal:
        notes = (f"finished ({pod.phase}): it holds no GPU any more", *view.notes)
        return _with(answer, finished=pod.phase, notes=notes)
    if pod.spec.node_name:
        placement = PlacementView(node=pod.spec.node_name, resources=dict(sorted(asked.slots.items())), score=0)
        return _with(answer, history=_history(pod, candidate, world), placement=placement)
    if QUOTA_GATE in pod.spec.gates:
        return _with(answer, line=_line(pod, world), gated="quota")
    if pod.spec.gates:
        return _with(answer, gated=pod.spec.gates[0])
    taker = Placer(world).choose(candidate, None)
    if taker is not None:
        return _with(answer, history=f"node {taker} takes it now: kube-scheduler should place it soon")
    explanation = explain_fully(planned, candidate, world)
    outdated = _outdated(pod, candidate)
    if outdated and recreated_fits(planned, candidate, world):
        explanation = with_suggestion(explanation, "Create it anew as it is: the policy of today lets it run")
    notes = (*_where_to_change(explanation.view.suggestion, planned.owner), *view.notes)
    return _with(answer, explanation=explanation, history=outdated, unschedulable=explanation.view, notes=notes)


def _where_to_change(suggestion: str, owner: str | None) -> tuple[str, ...]:
    """Pods that a controller made are changed where it has their template."""
    if owner is None or not suggestion.startswith(_OF_PODS):
        return ()
    return (f"change it in the pod template: {owner} made this pod and would make the same again",)


def waits(manifest: Manifest, world: World) -> bool:
    """Whether it is a pod that asks for a GPU and is on no node."""
    pod = read_pod(manifest.tree, [])
    return not (pod.terminal or pod.spec.node_name) and mentions_gpu(pod, world.cluster.resources)


def with_note(answer: Why, note: str) -> Why:
    """The answer with one more note, before the others."""
    return _with(
        answer, answer.explanation, answer.line, answer.history, answer.finished, notes=(note, *answer.view.notes)
    )


def _with(
    answer: Why,
    explanation: Explanation | None = None,
    line: str = "",
    history: str = "",
    finished: str = "",
    **view: object,
) -> Why:
    """The answer with its findings, of which `view` are those that programs read too."""
    seen = msgspec.structs.replace(answer.view, **view)
    return Why(seen, answer.demand, explanation, line, history, finished, answer.created)


def _outdated(pod: Pod, candidate: Candidate) -> str:
    """Affinity stays as it was lowered: a policy that has changed since does not reach the pod."""
    return "" if candidate.request is None else outdated(pod, candidate.request.resolution.constraints)


def outdated(pod: Pod, constraints: Constraints) -> str:
    """What to do about a pod that was lowered under other constraints than those of today; empty when it was not."""
    if pod.annotations.get(POLICY_HASH_ANNOTATION) in {None, fingerprint(constraints)}:
        return ""
    rules = pod.annotations.get(LOWERED_ANNOTATION, "")
    return f"it was created under an older policy ({rules}): recreate it, so that the policy of today holds"


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
    if exceeds_quota(key_of(pod), world.cluster):
        return f"it asks for more than the whole quota of namespace {pod.namespace} and never goes: ask for less"
    holders = ", ".join(place.holders) if place.holders else "nobody"
    return f"place {place.place} in the line of namespace {pod.namespace}; slots held by {holders}"


def _history(pod: Pod, candidate: Candidate, world: World) -> str:
    """Why a bound pod is where it is, from what is known now."""
    if candidate.request is None:
        absent = "" if pod.spec.node_name in world.cluster.nodes else "; its node is not in the cluster"
        return f"it asks for no GPU: kube-scheduler placed it{absent}"
    state = world.cluster.nodes.get(pod.spec.node_name)
    if not pod.bound_by_us:
        absent = "; its node is not in the cluster" if state is None else ""
        return f"{_BOUND_BY_OTHERS}{absent}"
    if state is None:
        return "its node is not in the cluster"
    pools = [pool for resource in candidate.request.demand.slots if (pool := state.node.pool(resource)) is not None]
    facts = "; ".join(f"{pool.product or 'unknown product'} ({pool.family or 'unknown family'})" for pool in pools)
    families = candidate.request.resolution.constraints.families
    preference = f"; preferred families {', '.join(families)}" if families else ""
    return f"gpusched bound it to {facts}{preference}; placement {candidate.request.resolution.placement}"
