"""What a policy that is being written means for the pods that run already: they stay, but may not come back."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from gpusched.admission.admission import Admission, Context
from gpusched.admission.judge_namespace import Written, judge_namespace
from gpusched.admission.judge_pod import judge_pod
from gpusched.admission.messages import fit, listed
from gpusched.admission.rules.no_node import no_node
from gpusched.admission.rules.policy_bounds import CODES
from gpusched.core.codes import Code, Finding, Reason
from gpusched.core.constraints import Constraints
from gpusched.core.names import LOWERED_ANNOTATION, PREFIX
from gpusched.core.pod import Pod
from gpusched.core.quantity import format_mib
from gpusched.policy.annotations import parse_namespace, parse_pod
from gpusched.policy.model import Group, Parsed
from gpusched.policy.resolution import Resolution
from gpusched.policy.resolve import resolve
from gpusched.state.cluster import Cluster
from gpusched.state.node_state import NodeState
from gpusched.state.pods import PodRecord

#: Longest warning: several names of pods do not fit into what a rule about one pod has room for.
_LIMIT: Final = 200
_NAMED: Final = 3
#: Pods that differ in more than name and node, of which as many are judged: the API server waits for the answer.
_LIKENESSES: Final = 200
_OF_POLICY: Final = frozenset({*CODES.values(), Code.VISIBLE_DEVICES})
_CODES: Final[Mapping[Reason, Code]] = {
    Reason.FAMILY: Code.POLICY_FAMILY,
    Reason.PRODUCT: Code.POLICY_PRODUCT,
    Reason.MEMORY: Code.POLICY_MEMORY,
    Reason.SHARING: Code.POLICY_SHARING,
    Reason.VERSION: Code.POLICY_VERSION,
}
_RANK: Final = {code: rank for rank, code in enumerate(Code)}


class _Verdict(msgspec.Struct, frozen=True):
    """What would become of pods that are alike if they were made again. `code` is None where nothing refuses them."""

    resolution: Resolution
    code: Code | None
    lost: bool


class _Violation(msgspec.Struct, frozen=True):
    lost: bool
    name: str
    code: Code


def judge_namespace_with_pods(
    name: str, new: Written, old: Written | None, cluster: Cluster, *, deleting: bool = False
) -> Admission:
    """Judge a Namespace, and warn once where its change of policy leaves running pods that violate it.

    A pod violates a policy that would refuse it, or that its node does not satisfy, where the policy enforces. Quotas
    are no matter of a single pod: another warning names those exceeded from now on. `old` is None on creation.
    """
    admission = judge_namespace(new, old, deleting=deleting)
    held, before = _held(name, new, cluster), _held(name, old or Written(), cluster)
    if deleting or not admission.allowed or held == before:
        return admission
    exceeded = sorted(set(_exceeded(name, held, cluster)) - set(_exceeded(name, before, cluster)))
    if exceeded:
        text = fit(f"{', '.join(exceeded)} in use; running pods stay, new ones wait.", _LIMIT - len(Reason.QUOTA) - 2)
        warning = Finding(Reason.QUOTA, text)
        admission = msgspec.structs.replace(admission, warnings=(*admission.warnings, warning))
    judge = _Judge(name, new, cluster)
    found = sorted(judge.violations(), key=lambda item: (not item.lost, item.name))
    if not found:
        return admission
    code = min((item.code for item in found), key=_RANK.__getitem__)
    warning = Finding(code, _sentence(found, _LIMIT - len(code) - 2, complete=judge.complete))
    return msgspec.structs.replace(admission, warnings=(*admission.warnings, warning))


def _held(name: str, written: Written, cluster: Cluster) -> Resolution:
    """What a Namespace says about all of its pods."""
    return resolve(cluster.config, name, written.labels, parse_namespace(written.annotations), Parsed())


def _exceeded(name: str, held: Resolution, cluster: Cluster) -> Iterator[str]:
    """Limits of a quota in force that the namespace's running pods exceed, such as `2 of hopper=1`."""
    if held.exempt or not held.enforces(Group.QUOTA):
        return
    use = cluster.quota_use(name, placed=True)
    for family, slots in held.quota.families if held.quota is not None else ():
        if use.families.get(family, 0) > slots:
            yield f"{use.families[family]} of {family}={slots}"
    total = held.quota.total if held.quota is not None else None
    if total is not None and use.total > total:
        yield f"{use.total} of *={total}"
    memory = held.quota_memory_mib
    if memory is not None and use.memory_mib > memory:
        yield f"{format_mib(use.memory_mib)} of {format_mib(memory)}"


class _Judge:
    """Judges the running GPU pods of one namespace by its new policy, those that are alike once.

    `complete` tells whether all were judged.
    """

    def __init__(self, name: str, written: Written, cluster: Cluster) -> None:
        self._name = name
        self._labels = written.labels
        self._parsed = parse_namespace(written.annotations)
        self._cluster = cluster
        self._verdicts: dict[object, _Verdict] = {}
        self.complete = True

    def violations(self) -> Iterator[_Violation]:
        """Pods that have a node and violate the policy."""
        for key in self._cluster.books.of_namespace(self._name):
            record, node_name = self._cluster.pods.get(key), self._cluster.node_of(key)
            if record is None or node_name is None or record.pod.deleting or record.pod.mirror:
                continue
            verdict = self._verdict(record)
            if verdict is None or verdict.resolution.exempt:
                continue
            state = self._cluster.nodes.get(node_name)
            code = verdict.code or broken_by_node(verdict.resolution.constraints, record.demand.slots, state)
            if code is not None:
                yield _Violation(verdict.lost, record.pod.name, code)

    def _verdict(self, record: PodRecord) -> _Verdict | None:
        pod, spec = record.pod, record.pod.spec
        own = tuple(sorted(item for item in pod.annotations.items() if item[0].startswith(PREFIX)))
        # Equal parts of pods are the same objects (state.shared).
        parts = (id(record.demand), id(spec.containers), id(spec.node_selector), id(spec.node_affinity))
        likeness = (own, parts, LOWERED_ANNOTATION in pod.annotations)
        if likeness not in self._verdicts:
            if len(self._verdicts) >= _LIKENESSES:
                self.complete = False
                return None
            self._verdicts[likeness] = self._judged(record, dict(own))
        return self._verdicts[likeness]

    def _judged(self, record: PodRecord, own: Mapping[str, str]) -> _Verdict:
        cluster = self._cluster
        resolution = resolve(
            cluster.config, self._name, self._labels, self._parsed, parse_pod(own), cluster.node_books.products
        )
        pod = _as_created(record.pod)
        ctx = Context(
            facts=cluster.facts,
            resolution=resolution,
            config=cluster.config,
            resources=cluster.resources,
            namespace=self._name,
            controller=pod.owner.kind if pod.owner else "",
            template=True,
        )
        refusals = judge_pod(pod, {}, record.demand, ctx).refusals
        code = next((code for finding in refusals for code in _OF_POLICY if code == finding.code), None)
        return _Verdict(resolution, code, bool(refusals) or bool(no_node(pod, record.demand, ctx)))


def broken_by_node(constraints: Constraints, slots: Iterable[str], state: NodeState | None) -> Code | None:
    """The code of the first rule that a node breaks for a pod on it with slots of these resources; None where it breaks
    none, or is not known.
    """
    if state is None:
        return None
    pools = (pool for resource in slots if (pool := state.node.pool(resource)) is not None)
    reasons: Iterable[Reason | None] = (
        *(constraints.reason_against(pool) for pool in pools),
        constraints.reason_against_labels(state.node.object.labels),
    )
    reason = next((reason for reason in reasons if reason is not None), None)
    return None if reason is None else _CODES.get(reason, Code.NO_NODE)


def _as_created(pod: Pod) -> Pod:
    """The pod without its node, and without affinity that may be an older policy's rather than the user's."""
    lowered = LOWERED_ANNOTATION in pod.annotations
    spec = msgspec.structs.replace(pod.spec, node_name="", node_affinity=None if lowered else pod.spec.node_affinity)
    return msgspec.structs.replace(pod, spec=spec)


def _sentence(found: list[_Violation], limit: int, *, complete: bool) -> str:
    """The warning with as many names as it has room for."""
    number, lost = len(found), sum(item.lost for item in found)
    many = number > 1
    subject = f"{'' if complete else 'at least '}{number} running pod{'s violate' if many else ' violates'} it"
    stay, they = ("they stay", "they go") if many else ("it stays", "it goes")
    if lost == number:
        future = f"{stay}, but will not return after a drain."
    elif lost:
        future = f"{stay}, but {lost} will not return after a drain."
    else:
        future = f"{stay}; after a drain {they} to other nodes."
    names = [item.name for item in found]
    texts = (f"{subject} ({listed(names, most)}); {future}" for most in range(_NAMED, 0, -1))
    return next((text for text in texts if len(text) <= limit), fit(f"{subject}; {future}", limit))
