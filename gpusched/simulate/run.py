"""`simulate`: creates the pods of the manifests one after the other on a copy of the cluster, and says what happens."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Final

import msgspec

from gpusched.admission.admission import Admission
from gpusched.admission.scheduler_name import calls_gpusched
from gpusched.core.codes import Reason
from gpusched.core.names import BOUND_ANNOTATION, QUOTA_GATE
from gpusched.core.pod import Pod
from gpusched.native.daemonset import daemon_nodes, daemon_pod
from gpusched.native.filter import needs_full_view
from gpusched.placement.quota import excesses, liftable
from gpusched.simulate.admit import Admitted, Candidate, admit
from gpusched.simulate.evaluate import live_verdict, verdict
from gpusched.simulate.expand import PlannedPod, expand, no_pods
from gpusched.simulate.manifest import InputFault, Manifest, located
from gpusched.simulate.namespaces import Namespaces
from gpusched.simulate.outcome import (
    Cause,
    Outcome,
    fingerprint,
    gate_notes,
    likeness,
    never_text,
    of_any_node,
    placement_view,
    ungated,
    waiting_daemons,
)
from gpusched.simulate.placer import Placer
from gpusched.simulate.reasons.explain import Explanation, explain_fully, told_reason
from gpusched.simulate.reasons.shortage import shortage_of_each
from gpusched.simulate.reasons.wording import message
from gpusched.simulate.result import PodView, UnschedulableView, admission_view
from gpusched.simulate.workloads import judge_templates
from gpusched.simulate.world import World
from gpusched.state.events import Upsert

_QUOTA: Final = "quota"
#: Pods of one DaemonSet that wait and are each explained; of more only one for every cause.
_EXPLAINED_EACH: Final = 20

Progress = Callable[[int, int], None]


def _no_progress(_done: int, _total: int) -> None:
    """Nobody watches."""


class Simulation:
    """One run over one cluster. The outcomes are complete after `run`; `remarks` are about objects without pods."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.outcomes: list[Outcome] = []
        self.faults: list[InputFault] = []
        self.remarks: list[str] = []
        self.namespaces = Namespaces(world)
        self._placer = Placer(world)
        self._created = 0
        self._admitted: dict[object, Admitted] = {}
        self._likenesses: dict[int, object] = {}
        self._refused: dict[int, Admission | None] = {}
        self._many: set[int] = set()
        self._explained: dict[object, Explanation] = {}

    def run(self, manifests: Iterable[Manifest], progress: Progress = _no_progress) -> None:
        """Create everything in the order of the files, then try again what waited for pods created after it."""
        ordered = list(manifests)
        self.namespaces.take(ordered, self.faults)
        self.create([pod for item in expand(ordered, self.faults) for pod in self._made_now(item)], progress)

    def create(self, planned: Sequence[PlannedPod], progress: Progress = _no_progress) -> None:
        """Create these pods, those of one object together."""
        self._explained.clear()
        for _, group in groupby(planned, key=lambda item: id(item.manifest)):
            created = [outcome for item in group if (outcome := self._create(item)) is not None]
            self.outcomes.extend(created)
            self._lift(created)
            for done, outcome in enumerate(created, start=len(self.outcomes) - len(created) + 1):
                self._schedule(outcome)
                progress(done, len(planned))
        self._schedule_again()

    def _made_now(self, item: PlannedPod) -> list[PlannedPod]:
        """The pod itself; of a DaemonSet one for each node that its controller would choose; of an object without pods
        one in its place when it is refused.
        """
        if not (item.per_node or item.dormant):
            return [item]
        if self._refusal(item) is not None:
            return [item]
        if item.dormant:
            notes = "".join(f" ({note})" for note in item.notes)
            self.remarks.append(f"{item.manifest.where}: {no_pods(item.manifest)}{notes}")
            return []
        admitted = self._admit(item)
        if admitted.candidate is None or admitted.unreadable:
            return [item]
        nodes = [state.node.object for _, state in sorted(self.world.cluster.nodes.items())]
        names = daemon_nodes(admitted.candidate.pod, nodes)
        if not names:
            self.remarks.append(f"{item.manifest.where}: no node matches it, so it has no pods")
        base = item.manifest.name
        return [msgspec.structs.replace(item, name=f"{base}-{name}", pinned=name) for name in names]

    def _create(self, planned: PlannedPod) -> Outcome | None:
        """What admission makes of a pod; None for one that cannot be read, of which there are faults instead."""
        refusal = self._refusal(planned)
        if refusal is not None:
            return Outcome(planned, refusal, notes=planned.notes)
        admitted = self._admit(planned)
        if admitted.unreadable:
            return None
        if admitted.candidate is None:
            return Outcome(planned, admitted.admission, notes=planned.notes)
        candidate = self._named(admitted.candidate, planned)
        gates = [gate for gate in candidate.pod.spec.gates if gate != QUOTA_GATE]
        outcome = Outcome(planned, admitted.admission, candidate, gated=gates[0] if gates else None)
        outcome.notes = (*planned.notes, *self._notes(planned, candidate))
        return outcome

    def _lift(self, created: Iterable[Outcome]) -> None:
        """Enter the gated pods of one object, which may leave the line together only, and lift those that may go."""
        waiting: dict[str, tuple[Outcome, Pod]] = {}
        for outcome in created:
            pod = outcome.candidate.pod if outcome.candidate is not None else None
            if pod is not None and outcome.gated is None and QUOTA_GATE in pod.spec.gates:
                outcome.gated = _QUOTA
                waiting[pod.uid] = outcome, pod
                self.world.cluster.apply(Upsert(pod))
        for uid in liftable(self.world.cluster) if waiting else ():
            if uid in waiting:
                outcome, pod = waiting.pop(uid)
                outcome.gated = None
                self.world.cluster.apply(Upsert(ungated(pod)))
        over = {id(outcome.admission): excesses(uid, self.world.cluster) for uid, (outcome, _) in waiting.items()}
        for outcome, pod in waiting.values():
            found = over[id(outcome.admission)]
            outcome.notes += (never_text(pod.namespace, found),) if found else ()

    def _schedule(self, outcome: Outcome) -> None:
        candidate = outcome.candidate
        if candidate is None or outcome.gated is not None:
            return
        pod = candidate.pod
        if pod.spec.node_name:
            outcome.node = pod.spec.node_name
            outcome.notes += self._kubelet_notes(candidate)
        else:
            outcome.node = self._placer.choose(candidate, likeness(outcome), outcome.planned.pinned)
        outcome.waiting = outcome.node is None
        if outcome.node is not None:
            self._bind(candidate, outcome.node)

    def _schedule_again(self) -> None:
        """Pods that look at other pods may fit once those are there: kube-scheduler retries them at every change."""
        moved = True
        while moved:
            moved = False
            for outcome in self.outcomes:
                candidate = outcome.candidate
                if outcome.waiting and candidate and needs_full_view(candidate.pod, self.world.ledger):
                    self._schedule(outcome)
                    moved = moved or not outcome.waiting

    def _bind(self, candidate: Candidate, node_name: str) -> None:
        pod = ungated(candidate.pod)
        annotations = dict(pod.annotations)
        if not pod.spec.node_name:
            annotations[BOUND_ANNOTATION] = node_name
        spec = msgspec.structs.replace(pod.spec, node_name=node_name)
        bound = msgspec.structs.replace(pod, annotations=annotations, spec=spec)
        self.world.cluster.apply(Upsert(bound))
        self.world.ledger.add(bound, candidate.requests, node_name)

    def _admit(self, planned: PlannedPod) -> Admitted:
        """Admission of one kind of pod, judged once: pods of one template differ in nothing but their name."""
        kind = self._likenesses.get(id(planned.tree))
        if kind is None:
            kind = self._likenesses[id(planned.tree)] = (planned.controller, fingerprint(planned))
        found = self._admitted.get(kind)
        if found is None:
            found = self._admitted[kind] = admit(planned, self.world)
        self.faults.extend(located(planned.manifest, found.faults, planned.template_path))
        return found

    def _refusal(self, planned: PlannedPod) -> Admission | None:
        """The refusal of the pod's Namespace, or that of the workload object itself when it is applied."""
        refusal = self.namespaces.refusal(planned.manifest.namespace)
        if refusal is not None or not planned.template_path:
            return refusal
        key = id(planned.manifest)
        if key not in self._refused:
            admission = judge_templates(planned.manifest, self.world, self.faults)
            self._refused[key] = None if admission.allowed else admission
        return self._refused[key]

    def _named(self, candidate: Candidate, planned: PlannedPod) -> Candidate:
        """The candidate as a pod of its own, created now whatever an exported manifest says."""
        uid = f"simulated-{self._created}"
        self._created += 1
        pod = msgspec.structs.replace(candidate.pod, name=planned.name, uid=uid, created="")
        if planned.pinned:
            pod = daemon_pod(pod, planned.pinned)
        request = candidate.request
        if request is not None:
            request = msgspec.structs.replace(request, name=planned.name, uid=uid, created="")
        return msgspec.structs.replace(candidate, pod=pod, request=request)

    def _notes(self, planned: PlannedPod, candidate: Candidate) -> Iterable[str]:
        pod, request = candidate.pod, candidate.request
        yield from gate_notes(pod.spec.gates)
        yield from (f"{name} are not modelled" for name in pod.spec.unmodelled)
        if request is not None and request.resolution.exempt:
            yield f"namespace {pod.namespace} is exempt: gpusched adds nothing to its pods"
        if not calls_gpusched(pod.spec.scheduler_name, self.world.cluster.config):
            yield f"scheduler {pod.spec.scheduler_name} is simulated as if it were the default one"
        if not planned.template_path and (pod.namespace, pod.name) in self.world.pods:
            yield "a pod of this name stands in the cluster already and is counted too"

    def _kubelet_notes(self, candidate: Candidate) -> tuple[str, ...]:
        """What nobody asks before a pod with spec.nodeName is on its node."""
        name = candidate.pod.spec.node_name
        state = self.world.cluster.nodes.get(name)
        round_about = "spec.nodeName goes round the scheduler: no filter was asked"
        if state is None:
            return (round_about, f"node {name} is not in the dump")
        if live_verdict(candidate, state, self.world) is Reason.NATIVE_RESOURCES:
            return (round_about, f"the kubelet of {name} would fail it: not enough left of what it requests")
        return (round_about,)

    def views(
        self, outcomes: Sequence[Outcome] | None = None, progress: Progress = _no_progress
    ) -> tuple[PodView, ...]:
        """The outcomes (all of them unless given) as they are printed, explained on the cluster as it is at the end."""
        explanations: dict[object, UnschedulableView] = {}
        chosen = self.outcomes if outcomes is None else outcomes
        self._many = {key for key, count in waiting_daemons(chosen).items() if count > _EXPLAINED_EACH}
        views = []
        for done, outcome in enumerate(chosen, start=1):
            views.append(self._view(outcome, explanations))
            progress(done, len(chosen))
        return tuple(views)

    def explanation(self, outcome: Outcome, candidate: Candidate) -> Explanation:
        """Why no node takes a pod that waits, the same for all that are alike."""
        key = likeness(outcome)
        if key not in self._explained:
            self._explained[key] = explain_fully(outcome.planned, candidate, self.world)
        return self._explained[key]

    def _view(self, outcome: Outcome, explanations: dict[object, UnschedulableView]) -> PodView:
        planned = outcome.planned
        unschedulable = None
        if outcome.waiting and outcome.candidate is not None:
            key = self._cause(outcome, outcome.candidate)
            if key not in explanations:
                explained = self.explanation(outcome, outcome.candidate).view
                if isinstance(key, Cause):
                    explained = of_any_node(explained, key.said)
                explanations[key] = explained
            unschedulable = explanations[key]
        return PodView(
            namespace=planned.manifest.namespace,
            name=planned.name,
            owner=planned.owner,
            source=planned.manifest.source,
            admission=admission_view(outcome.admission),
            placement=placement_view(outcome),
            unschedulable=unschedulable,
            gated=outcome.gated,
            notes=outcome.notes,
        )

    def _cause(self, outcome: Outcome, candidate: Candidate) -> object:
        """Equal for pods of which the same is said: of a large DaemonSet those with the same against their node."""
        pinned = outcome.planned.pinned
        if not pinned or id(outcome.admission) not in self._many:
            return likeness(outcome)
        state = self.world.cluster.nodes[pinned]
        reason = verdict(candidate, state, self.world)
        if reason is None:
            return id(outcome.admission), reason
        told = told_reason(reason, candidate, state)
        # What is left differs from node to node, and is not the cause.
        short = shortage_of_each(candidate, state, self.world) if told is Reason.NATIVE_RESOURCES else ""
        return Cause(id(outcome.admission), told, short or message(told, candidate, [state], self.world))
