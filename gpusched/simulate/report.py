"""`report`: what a policy would refuse among what stands in the cluster, and would not come back after a restart."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from gpusched.admission.admission import Admission, Context
from gpusched.admission.judge_pod import judge_pod
from gpusched.core.codes import Code, Finding
from gpusched.core.demand import demand
from gpusched.core.fault import Fault
from gpusched.core.names import STATUS_PREFIX
from gpusched.core.pod import Owner
from gpusched.core.read_pod import read_pod
from gpusched.policy.intersection import intersect
from gpusched.policy.layers import fields_of, without
from gpusched.policy.model import Group, Mode, Modes
from gpusched.policy.resolution import Resolution
from gpusched.simulate.admit import admit
from gpusched.simulate.comeback import lost
from gpusched.simulate.expand import PlannedPod, bare_pod, expand
from gpusched.simulate.manifest import InputFault, Manifest
from gpusched.simulate.tree_edit import drop, put
from gpusched.simulate.world import World

#: Warnings that say that the pod would not run again, although nothing refuses it.
_LASTING = frozenset({Code.NO_NODE})


class Violation(msgspec.Struct, frozen=True):
    """One object that a rule speaks against, or a running pod that would find no node again.

    `refused` tells whether it is so under the present modes, or would be once the namespace enforces.
    """

    namespace: str
    name: str
    kind: str
    owner: str | None
    node: str | None
    code: str
    message: str
    refused: bool


class Count(msgspec.Struct, frozen=True):
    """Objects per namespace and code."""

    namespace: str
    code: str
    objects: int
    refused: int


class Report(msgspec.Struct, frozen=True):
    """The whole answer of `report`. `judged` counts GPU pods and templates looked at."""

    violations: tuple[Violation, ...]
    counts: tuple[Count, ...]
    judged: int


def report(manifests: Iterable[Manifest], world: World, faults: list[InputFault]) -> Report:
    """Judge every GPU pod of the dump as if it were created again now, and every template of a workload."""
    violations: list[Violation] = []
    judged = 0
    seen: set[tuple[str, str, str]] = set()
    running = _movable(manifests)
    for planned in expand(running, faults):
        tree = _as_created(planned.tree)
        likeness = (
            planned.manifest.namespace,
            planned.owner or planned.name,
            json.dumps(tree, sort_keys=True),
        )
        if likeness in seen:
            continue
        seen.add(likeness)
        found = _violations(planned, tree, world)
        judged += found is not None
        violations.extend(found or ())
    violations.extend(_not_coming_back(running, world, {(item.namespace, item.kind, item.name) for item in violations}))
    counts = Counter((item.namespace, item.code) for item in violations)
    refused = Counter((item.namespace, item.code) for item in violations if item.refused)
    return Report(
        violations=tuple(violations),
        counts=tuple(
            Count(namespace=key[0], code=key[1], objects=number, refused=refused[key])
            for key, number in sorted(counts.items())
        ),
        judged=judged,
    )


def _movable(manifests: Iterable[Manifest]) -> list[Manifest]:
    """Everything but finished pods, which nobody starts again."""
    return [item for item in manifests if not (item.kind == "Pod" and _finished(item.tree))]


def _finished(tree: Mapping[str, object]) -> bool:
    status = tree.get("status")
    return isinstance(status, Mapping) and status.get("phase") in {"Succeeded", "Failed"}


def _as_created(tree: Mapping[str, object]) -> dict[str, object]:
    """The pod as its author sent it: without the node it got, and without what gpusched wrote on it."""
    metadata = tree.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    result = drop(tree, ("spec", "nodeName"))
    if isinstance(annotations, Mapping):
        kept = {key: value for key, value in annotations.items() if not str(key).startswith(STATUS_PREFIX)}
        result = put(result, ("metadata", "annotations"), kept)
    return result


def _violations(planned: PlannedPod, tree: Mapping[str, object], world: World) -> list[Violation] | None:
    """What speaks against one pod; None when it asks for no GPU."""
    ignored: list[Fault] = []
    pod = read_pod(tree, ignored)
    owner = Owner(planned.controller, planned.manifest.name) if planned.template_path else pod.owner
    pod = msgspec.structs.replace(pod, name=planned.name, owner=owner)
    cluster = world.cluster
    resolution = cluster.resolution(pod.namespace, pod.annotations)
    asked = demand(pod, cluster.resources, resolution.own.claim_mib)
    if not asked.slots or resolution.exempt:
        return None

    def judged(held: Resolution) -> Admission:
        context = Context(
            facts=cluster.facts, resolution=held, config=cluster.config, resources=cluster.resources,
            namespace=pod.namespace, controller=planned.controller,
        )  # fmt: skip
        return judge_pod(pod, tree, asked, context)

    now = {finding.code for finding in _lasting(judged(resolution))}
    bound = read_pod(planned.tree, ignored).spec.node_name
    return [
        Violation(
            namespace=pod.namespace,
            name=planned.manifest.name,
            kind=planned.manifest.kind,
            owner=None if planned.template_path else planned.owner,
            node=bound or None,
            code=finding.code.value,
            message=finding.message,
            refused=finding.code in now,
        )
        for finding in _lasting(judged(_enforced(resolution)))
    ]


def _lasting(admission: Admission) -> list[Finding]:
    """What refuses the pod, else the warnings that say that no node would take it."""
    return list(admission.refusals) or [finding for finding in admission.warnings if finding.code in _LASTING]


def _not_coming_back(
    manifests: Iterable[Manifest], world: World, told: set[tuple[str, str, str]]
) -> Iterator[Violation]:
    """Running pods that the rules let through but no node would take again; those of DaemonSets have their node."""
    for manifest in manifests:
        if manifest.kind != "Pod" or (manifest.namespace, manifest.kind, manifest.name) in told:
            continue
        standing = read_pod(manifest.tree, [])
        planned = bare_pod(manifest)
        tree = _as_created(manifest.tree)
        candidate = admit(msgspec.structs.replace(planned, tree=tree), world).candidate
        node = standing.spec.node_name
        if candidate is None or candidate.request is None or not node or planned.controller == "DaemonSet":
            continue
        resolution = candidate.request.resolution
        found = lost(candidate, _enforced(resolution), node, world)
        if found is not None:
            yield Violation(
                namespace=manifest.namespace,
                name=manifest.name,
                kind=manifest.kind,
                owner=planned.owner,
                node=node,
                code=found.code.value,
                message=found.message,
                refused=lost(candidate, resolution, node, world) is not None,
            )


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
