"""`simulate`: creates the pods of the manifests one after the other on a copy of the cluster, and says what happens."""

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from gpusched.admission.admission import Admission
from gpusched.core.names import BOUND_ANNOTATION, QUOTA_GATE
from gpusched.core.pod import Pod
from gpusched.native.daemonset import daemon_nodes, daemon_pod
from gpusched.placement.quota import liftable
from gpusched.simulate.admit import Admitted, Candidate, admit
from gpusched.simulate.expand import PlannedPod, expand
from gpusched.simulate.explain import explain
from gpusched.simulate.manifest import InputFault, Manifest, located
from gpusched.simulate.namespaces import Namespaces
from gpusched.simulate.placer import Placer
from gpusched.simulate.result import PlacementView, PodView, UnschedulableView, admission_view
from gpusched.simulate.workloads import judge_templates
from gpusched.simulate.world import World
from gpusched.state.events import Upsert

#: The best score of the extender protocol; the chosen node always has it.
_BEST_SCORE: Final = 10

Progress = Callable[[int, int], None]


def _no_progress(_done: int, _total: int) -> None:
    """Nobody watches."""


class Outcome(msgspec.Struct):
    """What became of one pod. At most one of `node`, `gated` and `waiting` is set; none when it was refused."""

    planned: PlannedPod
    admission: Admission
    candidate: Candidate | None = None
    node: str | None = None
    gated: str | None = None
    waiting: bool = False
    notes: tuple[str, ...] = ()


class Simulation:
    """One run over one cluster. The outcomes are complete after `run`."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.outcomes: list[Outcome] = []
        self.faults: list[InputFault] = []
        self.namespaces = Namespaces(world)
        self._placer = Placer(world)
        self._admitted: dict[object, Admitted] = {}
        self._refused: dict[int, Admission | None] = {}

    def run(self, manifests: Iterable[Manifest], progress: Progress = _no_progress) -> None:
        """Create everything in the order of the files."""
        ordered = list(manifests)
        self.namespaces.take(ordered, self.faults)
        planned = self._per_node(expand(ordered, self.faults))
        for index, item in enumerate(planned):
            self.outcomes.append(self._create(item))
            progress(index + 1, len(planned))

    def _per_node(self, planned: list[PlannedPod]) -> list[PlannedPod]:
        """A DaemonSet's template becomes one pod for each node that its controller would choose."""
        result: list[PlannedPod] = []
        nodes = [state.node.object for _, state in sorted(self.world.cluster.nodes.items())]
        for item in planned:
            if not item.per_node:
                result.append(item)
                continue
            admitted = self._admit(item)
            template = admitted.candidate.pod if admitted.candidate is not None else None
            names = daemon_nodes(template, nodes) if template is not None else []
            if not names:
                notes = (*item.notes, "no node matches this DaemonSet") if template is not None else item.notes
                result.append(msgspec.structs.replace(item, notes=notes))
            result.extend(
                msgspec.structs.replace(item, name=f"{item.manifest.name}-{name}", pinned=name) for name in names
            )
        return result

    def _create(self, planned: PlannedPod) -> Outcome:
        refusal = self.namespaces.refusal(planned.manifest.namespace) or self._template_refusal(planned)
        if refusal is not None:
            return Outcome(planned, refusal, notes=planned.notes)
        admitted = self._admit(planned)
        if admitted.candidate is None:
            return Outcome(planned, admitted.admission, notes=planned.notes)
        candidate = self._named(admitted.candidate, planned)
        outcome = Outcome(planned, admitted.admission, candidate, notes=_notes(planned, candidate.pod))
        if planned.per_node and not planned.pinned:
            return outcome
        self._schedule(outcome, candidate)
        return outcome

    def _schedule(self, outcome: Outcome, candidate: Candidate) -> None:
        pod = candidate.pod
        gates = [gate for gate in pod.spec.gates if gate != QUOTA_GATE]
        if gates:
            outcome.gated = gates[0]
        elif QUOTA_GATE in pod.spec.gates and not self._lift(candidate):
            outcome.gated = "quota"
        if outcome.gated is not None:
            return
        if pod.spec.node_name:
            outcome.node = pod.spec.node_name
        else:
            likeness = (outcome.planned.pinned, id(outcome.admission))
            outcome.node = self._placer.choose(candidate, likeness)
        outcome.waiting = outcome.node is None
        if outcome.node is not None:
            self._bind(candidate, outcome.node)

    def _lift(self, candidate: Candidate) -> bool:
        """Enter the gated pod, and whether the leader would lift its gate now."""
        pod = candidate.pod
        self.world.cluster.apply(Upsert(pod))
        if pod.uid not in liftable(self.world.cluster):
            return False
        self.world.cluster.apply(Upsert(_ungated(pod)))
        return True

    def _bind(self, candidate: Candidate, node_name: str) -> None:
        pod = _ungated(candidate.pod)
        annotations = dict(pod.annotations)
        if not pod.spec.node_name:
            annotations[BOUND_ANNOTATION] = node_name
        spec = msgspec.structs.replace(pod.spec, node_name=node_name)
        bound = msgspec.structs.replace(pod, annotations=annotations, spec=spec)
        self.world.cluster.apply(Upsert(bound))
        self.world.ledger.add(bound, candidate.requests, node_name)

    def _admit(self, planned: PlannedPod) -> Admitted:
        """Admission of one kind of pod, judged once: pods of one template differ in nothing but their name."""
        likeness = (planned.controller, _fingerprint(planned))
        found = self._admitted.get(likeness)
        if found is None:
            found = self._admitted[likeness] = admit(planned, self.world)
            self.faults.extend(located(planned.manifest, found.faults, planned.template_path))
        return found

    def _template_refusal(self, planned: PlannedPod) -> Admission | None:
        """The refusal that the workload object itself gets when it is applied."""
        if not planned.template_path:
            return None
        key = id(planned.manifest)
        if key not in self._refused:
            admission = judge_templates(planned.manifest, self.world)
            self._refused[key] = None if admission.allowed else admission
        return self._refused[key]

    def _named(self, candidate: Candidate, planned: PlannedPod) -> Candidate:
        """The candidate under this pod's own name; the sequence number makes the creation order explicit."""
        uid = f"simulated-{len(self.outcomes)}"
        pod = msgspec.structs.replace(candidate.pod, name=planned.name, uid=uid)
        if planned.pinned:
            pod = daemon_pod(pod, planned.pinned)
        request = candidate.request
        if request is not None:
            request = msgspec.structs.replace(request, name=planned.name, uid=uid)
        return msgspec.structs.replace(candidate, pod=pod, request=request)

    def views(self, outcomes: Iterable[Outcome] | None = None) -> tuple[PodView, ...]:
        """The outcomes (all of them unless given) as they are printed, explained on the cluster as it is at the end."""
        explanations: dict[object, UnschedulableView] = {}
        chosen = self.outcomes if outcomes is None else outcomes
        return tuple(self._view(outcome, explanations) for outcome in chosen)

    def _view(self, outcome: Outcome, explanations: dict[object, UnschedulableView]) -> PodView:
        planned = outcome.planned
        unschedulable = None
        if outcome.waiting and outcome.candidate is not None:
            key = (planned.pinned, id(outcome.admission))
            if key not in explanations:
                explanations[key] = explain(planned, outcome.candidate, self.world)
            unschedulable = explanations[key]
        return PodView(
            namespace=planned.manifest.namespace,
            name=planned.name,
            owner=planned.owner,
            source=planned.manifest.source,
            admission=admission_view(outcome.admission),
            placement=_placement(outcome),
            unschedulable=unschedulable,
            gated=outcome.gated,
            notes=outcome.notes,
        )


def _placement(outcome: Outcome) -> PlacementView | None:
    if outcome.node is None or outcome.candidate is None:
        return None
    request = outcome.candidate.request
    resources = dict(sorted(request.demand.slots.items())) if request is not None else {}
    return PlacementView(node=outcome.node, resources=resources, score=_BEST_SCORE if resources else 0)


def _ungated(pod: Pod) -> Pod:
    gates = tuple(gate for gate in pod.spec.gates if gate != QUOTA_GATE)
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, gates=gates))


def _notes(planned: PlannedPod, pod: Pod) -> tuple[str, ...]:
    notes = list(planned.notes)
    notes.extend(f"{name} are not modelled" for name in pod.spec.unmodelled)
    if pod.spec.node_name:
        notes.append("spec.nodeName goes round the scheduler: no filter was asked")
    if pod.spec.scheduler_name != "default-scheduler":
        notes.append(f"scheduler {pod.spec.scheduler_name} is simulated as if it were the default one")
    return tuple(notes)


def _fingerprint(planned: PlannedPod) -> bytes:
    """The pod without its name, as bytes that are equal for equal trees."""
    metadata = planned.tree.get("metadata")
    kept = {key: value for key, value in metadata.items() if key != "name"} if isinstance(metadata, dict) else None
    return msgspec.json.encode([planned.manifest.namespace, kept, planned.tree.get("spec")], order="sorted")
