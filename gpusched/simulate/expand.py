"""From manifests to the pods that their controllers would create."""

from collections.abc import Iterable, Mapping

import msgspec

from gpusched.admission.templates import Template, templates_of
from gpusched.core.fault import Fault
from gpusched.simulate.manifest import InputFault, Manifest, located


class PlannedPod(msgspec.Struct, frozen=True):
    """A pod to be created. `template_path` is empty for a bare pod; `per_node` marks a DaemonSet's template."""

    manifest: Manifest
    name: str
    tree: Mapping[str, object]
    owner: str | None
    controller: str
    template_path: str = ""
    per_node: bool = False
    #: The node a DaemonSet's controller made this pod for.
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
    """Pods in the order of the files. Objects whose own controller is given too are left to it."""
    ordered = list(manifests)
    present = frozenset((item.kind, item.namespace, item.name) for item in ordered)
    planned: list[PlannedPod] = []
    for manifest in ordered:
        if owned_elsewhere(manifest, present):
            continue
        found: list[Fault] = []
        templates = templates_of(manifest.tree, found) or ()
        faults.extend(located(manifest, found))
        planned.extend(_pods_of(manifest, templates))
    return planned


def _pods_of(manifest: Manifest, templates: Iterable[Template]) -> list[PlannedPod]:
    planned = []
    for template in templates:
        if manifest.kind == "Pod":
            planned.append(PlannedPod(manifest, _pod_name(manifest), manifest.tree, None, ""))
            continue
        base = "-".join(part for part in (manifest.name, template.label) if part)
        count = 1 if template.replicas is None else template.replicas
        for index in range(count):
            name = f"{base}-{index}"
            planned.append(
                PlannedPod(
                    manifest=manifest,
                    name=name,
                    tree=_pod_tree(template, manifest.namespace),
                    owner=f"{manifest.kind}/{manifest.name}",
                    controller=manifest.kind,
                    template_path=template.path,
                    per_node=template.replicas is None,
                    notes=(template.note,) if template.note else (),
                )
            )
    return planned


def _pod_name(manifest: Manifest) -> str:
    if manifest.name:
        return manifest.name
    metadata = manifest.tree.get("metadata")
    generated = metadata.get("generateName") if isinstance(metadata, Mapping) else None
    return f"{generated}0" if isinstance(generated, str) and generated else ""


def _pod_tree(template: Template, namespace: str) -> dict[str, object]:
    """The Pod object a controller sends: the template's labels, annotations and spec, without a name of its own."""
    metadata = template.tree.get("metadata")
    kept = dict(metadata) if isinstance(metadata, Mapping) else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": kept | {"namespace": namespace},
        "spec": template.tree.get("spec"),
    }
