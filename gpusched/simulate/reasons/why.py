"""`why`: everything there is to say about one pod, of the manifests or of the dump."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from gpusched.admission.admission import Admission
from gpusched.core.misspelt import asks_for_gpu
from gpusched.core.names import QUOTA_GATE
from gpusched.core.pod import Pod
from gpusched.core.read_pod import read_pod
from gpusched.simulate.admit import Candidate
from gpusched.simulate.claim_objects import CLAIM_KINDS
from gpusched.simulate.expand import PlannedPod, expand, held_back, no_pods
from gpusched.simulate.manifest import Manifest
from gpusched.simulate.outcome import Outcome, gate_notes
from gpusched.simulate.owners import workload_of
from gpusched.simulate.reasons.explain import Explanation
from gpusched.simulate.reasons.pod_status import status_notes
from gpusched.simulate.reasons.stored_pod import as_stored
from gpusched.simulate.reasons.waits import Wait, Waits, demand_text
from gpusched.simulate.remedies.daemon_template import shut_out
from gpusched.simulate.result import PlacementView, PodView, admission_view
from gpusched.simulate.run import Simulation
from gpusched.simulate.world import World

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
    #: Of a workload that makes no pods now, that it does not and why: the last of its notes.
    dormant: str = ""
    #: Of a workload that lacks pods since those are refused, how many it has and how many not.
    lacks: str = ""


def state_of(answer: Why) -> str:
    """refused, finished, no-pods, placed, gated or pending."""
    if answer.lacks or not answer.view.admission.allowed:
        return "refused"
    if answer.finished:
        return "finished"
    if answer.dormant:
        return "no-pods"
    if answer.view.placement is not None:
        return "placed"
    return "gated" if answer.view.gated is not None else "pending"


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


def why_planned(outcome: Outcome, simulation: Simulation, waits: Waits | None = None) -> Why:
    """A pod of the manifests, as the simulation left it."""
    (view,) = simulation.views((outcome,))
    candidate = outcome.candidate
    if candidate is None:
        return Why(view=view)
    return Why(
        view=view,
        demand=demand_text(candidate),
        explanation=simulation.explanation(outcome, candidate) if outcome.waiting else None,
        line=(waits or Waits(simulation.world)).line(outcome.planned, candidate) if outcome.gated == "quota" else "",
    )


def find_workloads(manifests: Iterable[Manifest], target: Target) -> list[Manifest]:
    """Workloads of the dump that the target means, whether or not any pod of theirs is there."""
    return [
        manifest
        for manifest in manifests
        if (manifest.group, manifest.kind) != ("", "Pod")
        and (manifest.group, manifest.kind) not in CLAIM_KINDS
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
    dormant = bool(held_back(manifest)) or (bool(planned) and planned[0].dormant)
    simulation.run([manifest])
    if planned and len(simulation.outcomes) == before:
        simulation.create([msgspec.structs.replace(planned[0], dormant=False, per_node=False)])
    created = sorted(simulation.outcomes[before:], key=lambda outcome: outcome.node is not None)
    if not created:
        return None
    answer = why_planned(created[0], simulation)
    note = f"it {no_pods(manifest)}: judged as if it made one now" if dormant else _NO_PODS
    if dormant:
        # The answer says so already.
        simulation.remarks[:] = [text for text in simulation.remarks if not text.startswith(f"{manifest.where}: ")]
    return msgspec.structs.replace(
        answer,
        view=msgspec.structs.replace(answer.view, placement=None, notes=(*answer.view.notes, note)),
        history=f"node {created[0].node} would take it" if created[0].node else "",
        dormant=note if dormant else "",
    )


def find_standing(manifests: Iterable[Manifest], target: Target) -> list[Manifest]:
    """Pods of the dump that the target means: by name, or by the workload that owns them."""
    pods = [manifest for manifest in manifests if manifest.kind == "Pod" and not manifest.group]
    return [manifest for manifest in pods if _stands_for(manifest, target)]


def _stands_for(manifest: Manifest, target: Target) -> bool:
    if target.namespace and manifest.namespace != target.namespace:
        return False
    if target.kind not in {"", "pod"}:
        if not _may_be_of(manifest, target.name):
            return False
        owner = read_pod(manifest.tree, []).owner
        owned = owner is not None and owner.kind.lower() == target.kind and owner.name == target.name
        # The object between the two has the name of the outer one and a suffix; only pods need be in a dump.
        between = _BETWEEN.get(target.kind)
        through = owner is not None and owner.kind == between and owner.name.rpartition("-")[0] == target.name
        return owned or through
    return manifest.name == target.name


def _may_be_of(manifest: Manifest, workload: str) -> bool:
    """Whether an owner's name starts with that of the workload: of few pods all need be read."""
    metadata = manifest.tree.get("metadata")
    owners = metadata.get("ownerReferences") if isinstance(metadata, Mapping) else None
    return isinstance(owners, list) and any(
        isinstance(owner, Mapping) and str(owner.get("name")).startswith(workload) for owner in owners
    )


def why_standing(manifest: Manifest, world: World, waits: Waits | None = None) -> Why:
    """A pod of the cluster: why it waits, or why it is where it is. `waits` are kept for questions about many pods."""
    pod = read_pod(manifest.tree, [])
    view = PodView(
        namespace=pod.namespace,
        name=pod.name,
        owner=workload_of(pod, world.between),
        source=manifest.source,
        admission=admission_view(Admission()),
        notes=(*gate_notes(pod.spec.gates), *status_notes(manifest.tree)),
    )
    answer, waits = Why(view=view, created=pod.created), waits or Waits(world)
    if pod.deleting and not (pod.terminal or pod.spec.node_name):
        return msgspec.structs.replace(answer, demand=demand_text(as_stored(manifest, world)[1]))
    if not (pod.terminal or pod.spec.node_name or pod.spec.gates):
        return _waiting(answer, waits.of(manifest, pod))
    planned, candidate = as_stored(manifest, world)
    answer = msgspec.structs.replace(answer, demand=demand_text(candidate))
    if pod.terminal:
        notes = (f"finished ({pod.phase}): it holds no GPU any more", *view.notes)
        return _with(answer, finished=pod.phase, notes=notes)
    if pod.spec.node_name:
        slots = candidate.request.demand.slots if candidate.request is not None else {}
        placement = PlacementView(node=pod.spec.node_name, resources=dict(sorted(slots.items())), score=0)
        shut = shut_out(candidate, world) if pod.owner is not None and pod.owner.kind == "DaemonSet" else ""
        notes = (*view.notes, *([f"{view.owner}: {shut}"] if shut else ()))
        return _with(answer, history=_history(pod, candidate, world), placement=placement, notes=notes)
    if QUOTA_GATE in pod.spec.gates:
        return _with(answer, line=waits.line(planned, candidate), gated="quota")
    return _with(answer, gated=pod.spec.gates[0])


def _waiting(answer: Why, wait: Wait) -> Why:
    answer, explanation, view = msgspec.structs.replace(answer, demand=wait.demand), wait.explanation, answer.view
    if explanation is None:
        return _with(answer, history=wait.history)
    notes = (*_where_to_change(explanation.view.suggestion, view.owner), *explanation.caveats, *view.notes)
    return _with(answer, explanation=explanation, history=wait.history, unschedulable=explanation.view, notes=notes)


def _where_to_change(suggestion: str, owner: str | None) -> tuple[str, ...]:
    """Pods that a controller made are changed where it has their template."""
    options = [option[:1].upper() + option[1:] for option in suggestion.split("; or ")]
    if owner is None or not any(option.startswith(_OF_PODS) for option in options):
        return ()
    return (f"change it in the pod template: {owner} made this pod and would make the same again",)


def waits(manifest: Manifest, world: World) -> bool:
    """Whether it is a pod that asks for a GPU, or for what was meant to be one, and is on no node."""
    if _on_node(manifest):
        return False
    pod = read_pod(manifest.tree, [])
    if pod.terminal or pod.spec.node_name:
        return False
    return asks_for_gpu(pod, world.cluster.resources, world.cluster.facts.resources)


def _on_node(manifest: Manifest) -> bool:
    """Whether it plainly is: most pods of a cluster are, and reading all of each takes long."""
    spec = manifest.tree.get("spec")
    node_name = spec.get("nodeName") if isinstance(spec, Mapping) else None
    return isinstance(node_name, str) and bool(node_name)


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
    return msgspec.structs.replace(
        answer, view=seen, explanation=explanation, line=line, history=history, finished=finished
    )


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
