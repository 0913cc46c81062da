"""Takes a pod through admission as the API server would, and reads what comes out of it."""

from collections.abc import Mapping

import msgspec

from gpusched.admission.admission import Admission, Context
from gpusched.admission.judge_pod import judge_pod
from gpusched.core.cluster_facts import RuntimeClass
from gpusched.core.codes import Code, Finding
from gpusched.core.demand import Demand, demand, native_requests
from gpusched.core.fault import Fault
from gpusched.core.pod import Owner, Pod, PodSpec
from gpusched.core.read_pod import read_pod
from gpusched.placement.request import Request, request_of
from gpusched.simulate.amounts import judge_amounts
from gpusched.simulate.apply_patch import apply_patch
from gpusched.simulate.expand import PlannedPod
from gpusched.simulate.tree_edit import drop
from gpusched.simulate.world import World


class Candidate(msgspec.Struct, frozen=True):
    """A pod as the scheduler meets it. `request` is None for a pod without a GPU, which the extender never sees.

    `plain` is the spec before gpusched's patch: what the user's own affinity says.
    """

    pod: Pod
    plain: PodSpec
    requests: dict[str, int]
    request: Request | None


class Admitted(msgspec.Struct, frozen=True):
    """The admission verdict of a pod, what the scheduler gets if it is good, and what could not be read."""

    admission: Admission
    candidate: Candidate | None
    faults: tuple[Fault, ...] = ()

    @property
    def unreadable(self) -> bool:
        """Whether the API server could not read it either: that it is allowed would be wrong."""
        return self.admission.allowed and bool(self.faults)


def admit(planned: PlannedPod, world: World) -> Admitted:
    """Judge and patch one pod; the same template always gives the same answer while the cluster's facts stay."""
    faults: list[Fault] = []
    tree, node_name = _without_place(planned.tree)
    before = _owned(read_pod(tree, faults), planned)
    cluster = world.cluster
    resolution = cluster.resolution(before.namespace, before.annotations)
    context = Context(
        facts=cluster.facts,
        resolution=resolution,
        config=cluster.config,
        resources=cluster.resources,
        namespace=before.namespace,
        controller=planned.controller,
    )
    asked = demand(before, cluster.resources, resolution.own.claim_mib)
    admission = judge_pod(before, tree, asked, context)
    if admission.allowed:
        admission = _refuse_unknown_class(admission, before, world)
    if not admission.allowed:
        return Admitted(admission, None, tuple(faults))
    judge_amounts(tree, "", cluster.resources, faults)
    after = _owned(read_pod(apply_patch(tree, admission.patch), []), planned)
    if node_name:
        after = msgspec.structs.replace(after, spec=msgspec.structs.replace(after.spec, node_name=node_name, gates=()))
    return Admitted(admission, candidate_of(after, before.spec, asked, world), tuple(faults))


def _without_place(tree: Mapping[str, object]) -> tuple[Mapping[str, object], str]:
    """The pod as it was created, and the node that it was bound to since, for an object out of a cluster (it has a
    uid). In a manifest spec.nodeName is the author's own word and stays.
    """
    metadata, spec = tree.get("metadata"), tree.get("spec")
    exported = isinstance(metadata, Mapping) and metadata.get("uid")
    node_name = spec.get("nodeName") if exported and isinstance(spec, Mapping) else None
    if not isinstance(node_name, str) or not node_name:
        return tree, ""
    return drop(tree, ("spec", "nodeName")), node_name


def candidate_of(pod: Pod, plain: PodSpec, asked: Demand, world: World) -> Candidate:
    """The pod with what its RuntimeClass adds (RuntimeClass admission plugin: node selector, tolerations, overhead)."""
    runtime_class = world.runtime_classes.get(pod.spec.runtime_class or "")
    if runtime_class is not None:
        pod = msgspec.structs.replace(pod, spec=_with_class(pod.spec, runtime_class))
        plain = _with_class(plain, runtime_class)
    request = request_of(pod, world.cluster) if asked.slots else None
    return Candidate(pod=pod, plain=plain, requests=native_requests(pod), request=request)


def _with_class(spec: PodSpec, runtime_class: RuntimeClass) -> PodSpec:
    return msgspec.structs.replace(
        spec,
        node_selector={**spec.node_selector, **runtime_class.node_selector},
        tolerations=spec.tolerations + runtime_class.tolerations,
        overhead=dict(runtime_class.overhead) or spec.overhead,
    )


def _owned(pod: Pod, planned: PlannedPod) -> Pod:
    owner = Owner(kind=planned.controller, name=planned.manifest.name) if planned.template_path else pod.owner
    return msgspec.structs.replace(pod, name=planned.name, owner=owner)


def _refuse_unknown_class(admission: Admission, pod: Pod, world: World) -> Admission:
    """The API server refuses a class that does not exist; told only where the dump lists RuntimeClasses."""
    name = pod.spec.runtime_class
    if not name or "RuntimeClass" not in world.kinds or name in world.runtime_classes:
        return admission
    message = (
        f"spec.runtimeClassName {name} does not exist; the API server refuses the pod. Remove it or create the class."
    )
    return Admission(allowed=False, refusals=(Finding(Code.RUNTIME_CLASS_MISSING, message),))
