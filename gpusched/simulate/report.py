"""`report`: what a policy would refuse among what stands in the cluster, and would not come back after a restart."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from gpusched.admission.admission import Admission, Context
from gpusched.admission.judge_pod import judge_pod
from gpusched.admission.standing_pods import broken_by_node
from gpusched.core.codes import Code, Finding, Reason
from gpusched.core.constraints import Constraints
from gpusched.core.demand import demand
from gpusched.core.pod import Owner
from gpusched.core.read_pod import read_pod
from gpusched.policy.intersection import intersect
from gpusched.policy.layers import fields_of, without
from gpusched.policy.model import Group, Mode, Modes
from gpusched.policy.resolution import Resolution
from gpusched.simulate.admit import Candidate, admit
from gpusched.simulate.expand import PlannedPod, bare_pod, expand
from gpusched.simulate.manifest import InputFault, Manifest
from gpusched.simulate.reasons.comeback import Comebacks
from gpusched.simulate.tree_edit import drop
from gpusched.simulate.unlower import as_written
from gpusched.simulate.world import World
from gpusched.state.events import key_of
from gpusched.state.node_state import NodeState

#: Warnings that say that the pod would not run again, although nothing refuses it.
_LASTING = frozenset({Code.NO_NODE})
#: What the API server writes on each object anew.
_OWN_NAME: Final = frozenset(
    {"name", "generateName", "uid", "creationTimestamp", "resourceVersion", "managedFields", "ownerReferences"}
)


class Violation(msgspec.Struct, frozen=True):
    """One object that a rule speaks against, or a running pod that would find no node again.

    `refused` tells whether it is so under the present modes, or would be once the namespace enforces; `already` whether
    it was so before the policy that was proposed.
    """

    namespace: str
    name: str
    kind: str
    owner: str | None
    node: str | None
    code: str
    message: str
    refused: bool
    already: bool = False


class Count(msgspec.Struct, frozen=True):
    """Objects per namespace and code, with those among them that the fields of a violation tell of."""

    namespace: str
    code: str
    objects: int
    refused: int
    already: int = 0


class Report(msgspec.Struct, frozen=True):
    """The whole answer of `report`. `judged` counts GPU pods and templates looked at."""

    violations: tuple[Violation, ...]
    counts: tuple[Count, ...]
    judged: int


def report(manifests: Iterable[Manifest], world: World, faults: list[InputFault]) -> Report:
    """Judge every GPU pod of the dump as if it were created again now, and every template of a workload."""
    violations: list[Violation] = []
    judged = 0
    seen: set[object] = set()
    judge = _Judge(world)
    running = _movable(manifests)
    for planned in expand(running, faults):
        tree = _as_created(planned.tree)
        likeness = _likeness(planned, tree)
        key = planned.owner, planned.manifest.kind, planned.manifest.name, likeness
        if key in seen:
            continue
        seen.add(key)
        found = judge.findings(planned, tree, likeness)
        judged += found is not None
        if found is not None:
            state = world.cluster.nodes.get(_node_name(planned.tree) or "")
            violations.extend(
                _violation(planned, finding, found.code(finding, state), refused=refused)
                for finding, refused in found.items
            )
    told = {(item.namespace, item.kind, item.name) for item in violations}
    violations.extend(_not_coming_back(running, world, told))
    return Report(tuple(violations), _counts(violations), judged)


def since(found: Report, before: Report) -> Report:
    """The report with what it says more than the one before a policy was proposed first, and the rest marked."""
    known = {_subject(item) for item in before.violations}
    marked = [msgspec.structs.replace(item, already=_subject(item) in known) for item in found.violations]
    marked.sort(key=lambda item: item.already)
    return Report(tuple(marked), _counts(marked), found.judged)


def _subject(item: Violation) -> object:
    return item.namespace, item.kind, item.name, item.code, item.refused


def _counts(violations: list[Violation]) -> tuple[Count, ...]:
    def number(chosen: Iterable[Violation]) -> Counter[tuple[str, str]]:
        return Counter((item.namespace, item.code) for item in chosen)

    refused = number(item for item in violations if item.refused)
    already = number(item for item in violations if item.already)
    return tuple(
        Count(*key, objects=objects, refused=refused[key], already=already[key])
        for key, objects in sorted(number(violations).items())
    )


def _movable(manifests: Iterable[Manifest]) -> list[Manifest]:
    """Everything but finished pods, which nobody starts again."""
    return [item for item in manifests if not (item.kind == "Pod" and _finished(item.tree))]


def _finished(tree: Mapping[str, object]) -> bool:
    status = tree.get("status")
    return isinstance(status, Mapping) and status.get("phase") in {"Succeeded", "Failed"}


def _as_created(tree: Mapping[str, object]) -> dict[str, object]:
    """The pod as its author sent it: without the node it got, and without what gpusched wrote on it or into it."""
    return drop(as_written(tree), ("spec", "nodeName"))


def _likeness(planned: PlannedPod, tree: Mapping[str, object]) -> str:
    """Text that is equal for pods that differ in nothing but their name and what the API server wrote on them."""
    metadata = tree.get("metadata")
    given = metadata.items() if isinstance(metadata, Mapping) else ()
    kept = {key: value for key, value in given if key not in _OWN_NAME}
    return json.dumps([planned.manifest.namespace, planned.controller, kept, tree.get("spec")], sort_keys=True)


def _node_name(tree: Mapping[str, object]) -> str | None:
    spec = tree.get("spec")
    name = spec.get("nodeName") if isinstance(spec, Mapping) else None
    return name if isinstance(name, str) and name else None


def _violation(planned: PlannedPod, finding: Finding, code: Code | Reason, *, refused: bool) -> Violation:
    return Violation(
        namespace=planned.manifest.namespace,
        name=planned.manifest.name,
        kind=planned.manifest.kind,
        owner=None if planned.template_path else planned.owner,
        node=_node_name(planned.tree),
        code=code.value,
        message=finding.message,
        refused=refused,
    )


class _Findings(msgspec.Struct, frozen=True):
    """What speaks against pods that are alike, and whether it is so now; the rules, and the resources asked for."""

    items: tuple[tuple[Finding, bool], ...]
    constraints: Constraints
    slots: tuple[str, ...]

    def code(self, finding: Finding, state: NodeState | None) -> Code | Reason:
        """That of the finding; where no node would take a running pod again, that of the rule that its own node breaks,
        as in the warning about a policy that is written.
        """
        broken = broken_by_node(self.constraints, self.slots, state) if finding.code is Code.NO_NODE else None
        return broken or finding.code


class _Judge:
    """Judges pods as if they were created again, each likeness once."""

    def __init__(self, world: World) -> None:
        self._cluster = world.cluster
        self._found: dict[str, _Findings | None] = {}

    def findings(self, planned: PlannedPod, tree: Mapping[str, object], likeness: str) -> _Findings | None:
        """What speaks against one pod, and whether it is refused for it now; None when it asks for no GPU."""
        if likeness not in self._found:
            self._found[likeness] = self._judged(planned, tree)
        return self._found[likeness]

    def _judged(self, planned: PlannedPod, tree: Mapping[str, object]) -> _Findings | None:
        pod = read_pod(tree, [])
        owner = Owner(planned.controller, planned.manifest.name) if planned.template_path else pod.owner
        pod = msgspec.structs.replace(pod, name=planned.name, owner=owner)
        cluster = self._cluster
        resolution = cluster.resolution(pod.namespace, pod.annotations)
        asked = demand(pod, cluster.resources, resolution.own.claim_mib)
        if not asked.slots or resolution.exempt:
            return None

        def judged(held: Resolution) -> Admission:
            context = Context(
                facts=cluster.facts,
                resolution=held,
                config=cluster.config,
                resources=cluster.resources,
                namespace=pod.namespace,
                controller=planned.controller,
            )
            return judge_pod(pod, tree, asked, context)

        now = {finding.code for finding in _lasting(judged(resolution))}
        enforced = _enforced(resolution)
        items = tuple((finding, finding.code in now) for finding in _lasting(judged(enforced)))
        return _Findings(items, enforced.constraints, tuple(asked.slots))


def _lasting(admission: Admission) -> list[Finding]:
    """What refuses the pod, else the warnings that say that no node would take it."""
    return list(admission.refusals) or [finding for finding in admission.warnings if finding.code in _LASTING]


def _not_coming_back(
    manifests: Iterable[Manifest], world: World, told: set[tuple[str, str, str]]
) -> Iterator[Violation]:
    """Running pods that the rules let through but no node would take again; those of DaemonSets have their node."""
    comebacks = Comebacks(world)
    candidates: dict[str, Candidate | None] = {}
    for manifest in manifests:
        node_name = _node_name(manifest.tree)
        if manifest.kind != "Pod" or node_name is None or (manifest.namespace, manifest.kind, manifest.name) in told:
            continue
        planned = bare_pod(manifest)
        tree = _as_created(manifest.tree)
        likeness = _likeness(planned, tree)
        if likeness not in candidates:
            candidates[likeness] = admit(msgspec.structs.replace(planned, tree=tree), world).candidate
        candidate = candidates[likeness]
        if candidate is None or candidate.request is None or planned.controller == "DaemonSet":
            continue
        resolution = candidate.request.resolution
        candidate = _own(candidate, manifest)
        found = comebacks.lost(candidate, _enforced(resolution), node_name, (likeness, "enforced"))
        if found is not None:
            now = comebacks.lost(candidate, resolution, node_name, (likeness, "now"))
            yield Violation(
                namespace=manifest.namespace,
                name=manifest.name,
                kind=manifest.kind,
                owner=planned.owner,
                node=node_name,
                code=(_broken(candidate, node_name, world) or found.code).value,
                message=found.message,
                refused=now is not None,
            )


def _broken(candidate: Candidate, node_name: str, world: World) -> Code | None:
    """The code of the rule that the pod's own node breaks, None where it is something else that is against it."""
    request = candidate.request
    if request is None:
        return None
    constraints = _enforced(request.resolution).constraints
    return broken_by_node(constraints, request.demand.slots, world.cluster.nodes.get(node_name))


def _own(like: Candidate, manifest: Manifest) -> Candidate:
    """The candidate of one pod, made from that of another pod like it."""
    metadata = manifest.tree.get("metadata")
    uid = str(metadata.get("uid") or "") if isinstance(metadata, Mapping) else ""
    pod = msgspec.structs.replace(like.pod, name=manifest.name, uid=uid)
    request = like.request
    if request is not None:
        request = msgspec.structs.replace(request, name=manifest.name, uid=key_of(pod))
    return msgspec.structs.replace(like, pod=pod, request=request)


def _enforced(resolution: Resolution) -> Resolution:
    """The same policy with every rule in force that is not switched off."""
    modes = resolution.modes
    off = [group for group in Group if modes.of(group) is Mode.OFF]
    # The default mode governs the node selector, which is in no group.
    silent = fields_of(off) | ({"node_selector"} if modes.default is Mode.OFF else frozenset())
    policies = [without(layer.policy, silent) for layer in reversed(resolution.layers)]
    return msgspec.structs.replace(
        resolution,
        modes=Modes(
            Mode.OFF if modes.default is Mode.OFF else Mode.ENFORCE,
            tuple((group, Mode.OFF if group in off else Mode.ENFORCE) for group in Group),
        ),
        constraints=intersect([*policies, resolution.own.policy]),
    )
