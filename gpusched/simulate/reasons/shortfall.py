"""Workloads of a cluster that lack pods, since those were refused when their controllers wanted to create them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from gpusched.admission.admission import Admission
from gpusched.core.fields import Field
from gpusched.core.misspelt import asks_for_gpu
from gpusched.core.pod import Pod
from gpusched.core.read_pod import read_pod
from gpusched.simulate.admit import Admitted, admit
from gpusched.simulate.expand import PlannedPod, expand, owned_elsewhere
from gpusched.simulate.manifest import Manifest
from gpusched.simulate.owners import workload_of
from gpusched.simulate.reasons.explain import Explanation
from gpusched.simulate.reasons.refused_pods import Refusal, condition_of, refusal_of
from gpusched.simulate.reasons.waits import demand_text
from gpusched.simulate.reasons.why import Why
from gpusched.simulate.remedies.resource_quota import exceeded, quota_suggestion
from gpusched.simulate.result import PodView, UnschedulableView, admission_view
from gpusched.simulate.workloads import judge_templates
from gpusched.simulate.world import World

_KINDS: Final = frozenset(
    {"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "CronJob"}
)
_GROUPS: Final = frozenset({"", "apps", "batch"})
#: Characters of a time stamp that tell the second.
_SECOND: Final = len("2006-01-02T15:04:05")
_FORBIDDEN: Final = " is forbidden: "
_OURS: Final = '.gpusched.io" denied the request'
_ALLOWED_BY_NOW: Final = "Wait: gpusched would let it pass now, and its controller tries again within minutes"
#: Of the API server's refusals in a namespace that goes.
_UNTOLD: Final = "nothing tells of a refusal: judged as if its controller made a pod now"
_GOING: Final = "because it is being terminated"


class Shortfall(msgspec.Struct, frozen=True):
    """A workload with fewer pods than its `wanted` ones, or none of its present template.

    `running` have a node, `waiting` have none. `told` is the last refusal of a pod in the API server's words, empty
    where nothing tells of one; `admitted` is what gpusched would make of a pod now.
    """

    workload: Manifest
    planned: PlannedPod
    wanted: int
    running: int
    waiting: int
    admitted: Admitted
    told: str

    @property
    def admission(self) -> Admission:
        """The word of gpusched on a pod of it."""
        return self.admitted.admission

    @property
    def labels(self) -> Mapping[str, str]:
        """Those that its pods have."""
        return read_pod(self.planned.tree, []).labels

    @property
    def counts(self) -> str:
        """How many pods there are, such as `2 of 4 pods run, 2 refused`."""
        waiting = f", {self.waiting} pending" if self.waiting else ""
        refused = max(self.wanted - self.running - self.waiting, 0)
        rest = f"{refused} refused" if refused else "those of the present template are refused"
        return f"{self.running} of {self.wanted} pods run{waiting}, {rest}"

    @property
    def reason(self) -> str:
        """Why: gpusched's own words with their code, or those of whoever else refused."""
        if not self.admission.allowed:
            return f"{self.admission.code}: {self.admission.message}"
        quota = exceeded(self.told)
        return self.told.rpartition(_FORBIDDEN)[2] if quota is None else quota.cause

    @property
    def depends_on_nodes(self) -> bool:
        """Whether the change does: with less than it asks for some node may take it."""
        quota = exceeded(self.told)
        return self.admission.allowed and quota is not None and quota.left > 0

    def change(self, world: World) -> str:
        """What helps where the reason does not say it; empty where it does, or nobody knows."""
        if not self.admission.allowed:
            return ""
        quota = exceeded(self.told)
        if quota is not None:
            return quota_suggestion(quota, self.workload, world)
        return _ALLOWED_BY_NOW if _OURS in self.told else ""


class Shortfalls:
    """Looks for them among the objects of a cluster. `events` are those of pods that could not be created."""

    def __init__(self, standing: Iterable[Manifest], events: Sequence[Manifest], world: World) -> None:
        self._world = world
        self._events = events
        self._workloads = [item for item in standing if item.kind in _KINDS and item.group in _GROUPS]
        # A CronJob may have several Jobs, which are told of one by one.
        self._present = frozenset(
            (item.kind, item.namespace, item.name) for item in self._workloads if item.kind != "CronJob"
        )
        self._running: Counter[tuple[str, str]] = Counter()
        self._waiting: Counter[tuple[str, str]] = Counter()
        self._newest: dict[tuple[str, str], str] = {}
        for pod in world.pods.values():
            self._count(pod)

    def _count(self, pod: Pod) -> None:
        if pod.owner is None:
            return
        for owner in {f"{pod.owner.kind}/{pod.owner.name}", workload_of(pod, self._world.between) or ""}:
            key = pod.namespace, owner
            (self._running if pod.spec.node_name else self._waiting)[key] += 1
            self._newest[key] = max(self._newest.get(key, ""), pod.created)

    def all(self, chosen: Iterable[Manifest]) -> Iterator[Shortfall]:
        """Those about GPUs among the chosen objects, each workload by the name that people know."""
        for item in chosen:
            found = None if owned_elsewhere(item, self._present) else self.of(item)
            if found is not None and self._about_gpus(found):
                yield found

    def of(self, workload: Manifest) -> Shortfall | None:
        """What the workload lacks; None where it lacks nothing, or nothing that was refused."""
        if workload.kind not in _KINDS or workload.group not in _GROUPS or _going(workload):
            return None
        key = workload.namespace, f"{workload.kind}/{workload.name}"
        running, waiting, wanted = self._running[key], self._waiting[key], _wanted(workload)
        if running + waiting >= wanted and not (wanted and condition_of(workload)):
            return None
        planned = next(iter(expand([single(workload)], [])), None)
        if planned is None:
            return None
        timed = workload.kind == "CronJob"
        refusal = refusal_of(workload, () if timed else self._workloads, self._events)
        told = refusal.message if refusal is not None and self._holds(refusal, key) else ""
        admitted = _admitted(workload, planned, self._world)
        if _GOING in told or not (told or not (timed or admitted.admission.allowed)):
            return None
        return Shortfall(workload, planned, wanted, running, waiting, admitted, told)

    def _holds(self, refusal: Refusal, key: tuple[str, str]) -> bool:
        """Whether no pod was created since: an event stays for an hour."""
        return not refusal.time or refusal.time[:_SECOND] >= self._newest.get(key, "")[:_SECOND]

    def _about_gpus(self, lack: Shortfall) -> bool:
        if not lack.admission.allowed or _OURS in lack.told:
            return True
        cluster = self._world.cluster
        return asks_for_gpu(read_pod(lack.planned.tree, []), cluster.resources, cluster.facts.resources)


def _admitted(workload: Manifest, planned: PlannedPod, world: World) -> Admitted:
    """The word of gpusched on the object as it would be applied, or else on its pods."""
    admission = judge_templates(workload, world)
    return admit(planned, world) if admission.allowed else Admitted(admission, None)


def single(workload: Manifest) -> Manifest:
    """The workload as if it made one pod."""
    spec = workload.tree.get("spec")
    kept = dict(spec) if isinstance(spec, dict) else {}
    return msgspec.structs.replace(workload, tree={**workload.tree, "spec": {**kept, "replicas": 1, "parallelism": 1}})


def _going(workload: Manifest) -> bool:
    return Field(workload.tree).get("metadata").get("deletionTimestamp").present


def _wanted(workload: Manifest) -> int:
    """How many pods its controller wants to have now."""
    tree = Field(workload.tree)
    spec, status = tree.get("spec"), tree.get("status")
    if workload.kind == "DaemonSet":
        return _number(status, "desiredNumberScheduled", 0 if status.present else 1)
    if workload.kind == "CronJob":
        return int(spec.get("suspend").value is not True)
    if workload.kind != "Job":
        return _number(spec, "replicas", 1)
    if has_ended(workload) or spec.get("suspend").value is True:
        return 0
    parallelism = _number(spec, "parallelism", 1)
    left = _number(spec, "completions", parallelism) - _number(status, "succeeded", 0)
    return max(min(parallelism, left), 0)


def has_ended(workload: Manifest) -> bool:
    """Whether it is a Job that makes no pods any more."""
    return workload.kind == "Job" and any(
        item.get("type").value in {"Complete", "Failed", "FailureTarget", "SuccessCriteriaMet"}
        and item.get("status").value == "True"
        for item in Field(workload.tree).get("status").get("conditions").items()
    )


def _number(field: Field, key: str, otherwise: int) -> int:
    value = field.get(key).value
    return value if isinstance(value, int) else otherwise


def why_refused(lack: Shortfall, world: World) -> Why:
    """The answer about a workload that lacks pods."""
    said, change = f"{lack.counts}: {lack.reason}", lack.change(world)
    waits = UnschedulableView((), change) if change else None
    view = PodView(
        namespace=lack.workload.namespace,
        name=f"{lack.workload.name}-{lack.running + lack.waiting}",
        owner=lack.planned.owner,
        source=lack.workload.source,
        admission=admission_view(lack.admission),
        unschedulable=waits,
        notes=(said, *([f"its controller could not create pods: {lack.told}"] if lack.told else [_UNTOLD])),
    )
    candidate = lack.admitted.candidate
    return Why(
        view,
        demand_text(candidate) if candidate is not None else "",
        Explanation(waits, {}) if waits is not None else None,
        lacks=said,
    )
