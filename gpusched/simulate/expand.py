"""From manifests to the pods that their controllers would create."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from gpusched.admission.template_table import TABLE
from gpusched.admission.templates import Template, templates_of
from gpusched.core.fault import Fault
from gpusched.core.fields import Field, literal
from gpusched.core.read_pod import read_pod
from gpusched.simulate.manifest import InputFault, Manifest, located

#: Pods made of one template at most; more are an input fault, so that no number in a manifest can eat the memory.
MAX_PODS: Final = 10_000
#: Groups of the kinds whose templates are whole pods; the templates of others are completed by their controllers.
_NATIVE_GROUPS: Final = frozenset({"", "apps", "batch"})
_SET: Final = "StatefulSet"
#: Where such kinds say how many pods they make.
_COUNTS: Final = ("replicas", "parallelism")


class PlannedPod(msgspec.Struct, frozen=True):
    """A pod to be created. `template_path` is empty for a bare pod; `per_node` marks a DaemonSet's template, `dormant`
    that of an object that makes no pods now. `pinned` is the node a DaemonSet's controller made this pod for.
    """

    manifest: Manifest
    name: str
    tree: Mapping[str, object]
    owner: str | None
    controller: str
    template_path: str = ""
    per_node: bool = False
    dormant: bool = False
    pinned: str = ""
    notes: tuple[str, ...] = ()


def owned_elsewhere(manifest: Manifest, present: frozenset[tuple[str, str, str]]) -> bool:
    """Whether the object's controller is among the inputs too, so that it would be counted twice."""
    metadata = manifest.tree.get("metadata")
    references = metadata.get("ownerReferences") if isinstance(metadata, Mapping) else None
    if not isinstance(references, list):
        return False
    return any(
        isinstance(item, Mapping)
        and item.get("controller") is True
        and (str(item.get("kind")), manifest.namespace, str(item.get("name"))) in present
        for item in references
    )


def expand(manifests: Iterable[Manifest], faults: list[InputFault]) -> list[PlannedPod]:
    """Pods in the order of the files. Objects whose own controller is given too are left to it.

    An object that makes no pods stands for itself once, as `dormant`: it may be refused all the same.
    """
    ordered = list(manifests)
    present = frozenset((item.kind, item.namespace, item.name) for item in ordered)
    planned: list[PlannedPod] = []
    for manifest in ordered:
        if owned_elsewhere(manifest, present):
            continue
        found: list[Fault] = []
        pods = [pod for template in whole_templates(manifest, found) for pod in _made(manifest, template, found)]
        awake = [pod for pod in pods if not pod.dormant]
        planned.extend(awake or pods[:1])
        faults.extend(located(manifest, found))
    return planned


def no_pods(manifest: Manifest) -> str:
    """What is said of an object that makes none now, such as `makes no pods: replicas 0`."""
    spec = manifest.tree.get("spec")
    if not isinstance(spec, Mapping):
        return "makes no pods"
    stated = [f"{name} 0" for name in _COUNTS if spec.get(name) == 0]
    stated += [held_back(manifest)] if held_back(manifest) else []
    return f"makes no pods: {stated[0]}" if stated else "makes no pods"


def held_back(manifest: Manifest) -> str:
    """That its controller makes no pods of the template, and until when; empty where it does."""
    spec = manifest.tree.get("spec")
    if not isinstance(spec, Mapping):
        return ""
    if spec.get("suspend") is True:
        return "suspended until spec.suspend is false, which a queue such as Kueue sees to"
    paused = manifest.kind == "Deployment" and spec.get("paused") is True
    return f"paused until kubectl rollout resume deployment/{manifest.name}" if paused else ""


def whole_templates(manifest: Manifest, faults: list[Fault]) -> list[Template]:
    """The templates of which pods can be made; what is missing in the others is reported, for kinds of Kubernetes
    itself. The API server would refuse it.
    """
    templates = templates_of(manifest.tree, faults) or ()
    if manifest.group not in _NATIVE_GROUPS:
        return list(templates)
    if not (templates or faults):
        faults.extend(_missing(manifest))
    return [template for template in templates if _has_containers(template, faults)]


def bare_pod(manifest: Manifest) -> PlannedPod:
    """A Pod object as it is applied."""
    owner = read_pod(manifest.tree, []).owner
    text = f"{owner.kind}/{owner.name}" if owner is not None else None
    return PlannedPod(manifest, manifest.name, manifest.tree, text, owner.kind if owner is not None else "")


def _made(manifest: Manifest, template: Template, faults: list[Fault]) -> Iterator[PlannedPod]:
    if manifest.kind == "Pod":
        yield bare_pod(manifest)
        return
    base = "-".join(part for part in (manifest.name, template.label) if part)
    first = PlannedPod(
        manifest=manifest,
        name=f"{base}-0",
        tree=_pod_tree(template, manifest),
        owner=f"{manifest.kind}/{manifest.name}",
        controller=manifest.kind,
        template_path=template.path,
        per_node=template.replicas is None,
        dormant=template.replicas == 0,
        notes=tuple(_notes(manifest, template)),
    )
    yield first
    for index in range(1, _count(manifest, template, faults)):
        yield msgspec.structs.replace(first, name=f"{base}-{index}")


def _missing(manifest: Manifest) -> Iterator[Fault]:
    for entry in TABLE.get((manifest.group, manifest.kind), ()):
        yield Fault(entry.path, f"missing: a {manifest.kind} needs a pod template")


def _has_containers(template: Template, faults: list[Fault]) -> bool:
    containers = Field(template.tree, template.path, faults).get("spec").get("containers")
    items = containers.items()
    blank = [item for item in items if not item.present]
    for item in blank:
        item.fault("must be a mapping with a name and an image, not null")
    if not (items or faults):
        containers.fault("missing: a pod needs at least one container")
    return bool(items) and not blank


def _notes(manifest: Manifest, template: Template) -> Iterator[str]:
    if template.note:
        yield template.note
    why = held_back(manifest)
    if why:
        yield f"its pods come later: {why}"


def _count(manifest: Manifest, template: Template, faults: list[Fault]) -> int:
    count = 1 if template.replicas is None else template.replicas
    if count <= MAX_PODS:
        return count
    spec = manifest.tree.get("spec")
    stated = next((name for name in _COUNTS if isinstance(spec, Mapping) and name in spec), None)
    path = template.path if stated is None else f"spec.{stated}"
    faults.append(Fault(path, f"{literal(count)} is too many to simulate: write {MAX_PODS} or less"))
    return MAX_PODS


def _pod_tree(template: Template, manifest: Manifest) -> dict[str, object]:
    """The Pod object a controller sends: the template's labels, annotations and spec, without a name of its own."""
    metadata = template.tree.get("metadata")
    kept = dict(metadata) if isinstance(metadata, Mapping) else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": kept | {"namespace": manifest.namespace},
        "spec": _with_claims(template.tree.get("spec"), manifest),
    }


def _with_claims(spec: object, manifest: Manifest) -> object:
    """The spec with the volumes that a StatefulSet's controller adds for its claim templates.

    Rule: pkg/controller/statefulset/stateful_set_utils.go, updateStorage. All pods are given the claims of the first.
    """
    of_set = Field(manifest.tree).get("spec").get("volumeClaimTemplates").items() if manifest.kind == _SET else ()
    names = [name for item in of_set if (name := item.get("metadata").get("name").text())]
    if not names or not isinstance(spec, Mapping):
        return spec
    own = [item for item in Field(spec).get("volumes").items() if item.get("name").text() not in names]
    added = [{"name": name, "persistentVolumeClaim": {"claimName": f"{name}-{manifest.name}-0"}} for name in names]
    return {**spec, "volumes": [*(item.value for item in own), *added]}
