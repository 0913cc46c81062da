"""Sorts documents by what they are for: the cluster, its configuration, manifests with pods, and all the rest."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from gpusched.core.fault import Fault
from gpusched.core.fields import literal
from gpusched.simulate.claim_objects import CLAIM_KINDS
from gpusched.simulate.manifest import InputFault, Manifest, located

#: Known by group and kind; the version is left to whoever reads the object.
_FIELDS: Final[dict[tuple[str, str], str]] = {
    ("", "Node"): "nodes",
    ("", "Namespace"): "namespaces",
    ("", "Pod"): "pods",
    ("node.k8s.io", "RuntimeClass"): "runtime_classes",
    ("nvidia.com", "ClusterPolicy"): "cluster_policies",
    ("resource.k8s.io", "DeviceClass"): "device_classes",
    ("resource.k8s.io", "ResourceSlice"): "resource_slices",
    **dict.fromkeys(CLAIM_KINDS, "claims"),
    ("gpusched.io", "Config"): "configs",
    ("kubescheduler.config.k8s.io", "KubeSchedulerConfiguration"): "scheduler_configs",
}
#: Files of configuration: they have no name.
_NAMELESS: Final = frozenset({"configs", "scheduler_configs"})
_CREATED: Final = frozenset({"pods", "workloads"})
#: Skipped objects of these kinds are most likely meant to be used, so the note tells their apiVersion.
_FAMILIAR: Final = frozenset(kind for _, kind in _FIELDS) | {
    "CronJob",
    "DaemonSet",
    "Deployment",
    "Job",
    "ReplicaSet",
    "ReplicationController",
    "StatefulSet",
}

#: What to do with kinds that stand for manifests.
_REMEDIES: Final = {"Kustomization": " (render it: kubectl kustomize DIRECTORY | gpusched … -f -)"}


class Objects(msgspec.Struct):
    """Documents by use, each list in the order of the files.

    `workloads` have pod templates. `manifests` are pods and workloads in one order, that of creation. `skipped`
    counts the kinds that nothing uses, `others` are these objects.
    """

    nodes: list[Manifest] = []
    namespaces: list[Manifest] = []
    pods: list[Manifest] = []
    workloads: list[Manifest] = []
    runtime_classes: list[Manifest] = []
    cluster_policies: list[Manifest] = []
    device_classes: list[Manifest] = []
    resource_slices: list[Manifest] = []
    claims: list[Manifest] = []
    configs: list[Manifest] = []
    scheduler_configs: list[Manifest] = []
    manifests: list[Manifest] = []
    skipped: Counter[str] = msgspec.field(default_factory=Counter)
    others: list[Manifest] = []

    def skipped_note(self) -> str | None:
        """One line about skipped kinds, such as `skipped: 3 Service, 1 ConfigMap`; None where nothing was."""
        if not self.skipped:
            return None
        counts = sorted(self.skipped.items(), key=lambda item: (-item[1], item[0]))
        return "skipped: " + ", ".join(f"{count} {kind}{_REMEDIES.get(kind, '')}" for kind, count in counts)


def sort_objects(
    documents: Sequence[Manifest], *, has_template: Callable[[Mapping[str, object]], bool]
) -> tuple[Objects, list[InputFault]]:
    """The documents by use, and an error for each used one whose name or namespace is not as it must be.

    `has_template` says whether a tree is of a kind that holds pod templates. An object without a name, or with one
    that is no text, is reported and left out: nothing could refer to it.
    """
    objects = Objects()
    errors: list[InputFault] = []
    for document in documents:
        field = _field(document, has_template)
        if field is None:
            objects.skipped[_skipped_as(document)] += 1
            objects.others.append(document)
            continue
        fault = None if field in _NAMELESS else _identity_fault(document)
        if fault is not None:
            errors += located(document, [fault])
            continue
        getattr(objects, field).append(document)
        if field in _CREATED:
            objects.manifests.append(document)
    return objects, errors


def _field(document: Manifest, has_template: Callable[[Mapping[str, object]], bool]) -> str | None:
    field = _FIELDS.get((document.group, document.kind))
    if field is not None:
        return field
    return "workloads" if has_template(document.tree) else None


def _skipped_as(document: Manifest) -> str:
    if document.kind in _FAMILIAR:
        return f"{document.kind} ({document.api_version})"
    return document.kind


def _identity_fault(document: Manifest) -> Fault | None:
    metadata = document.tree.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        return Fault("metadata", f"must be a mapping with a name, not {_shown(metadata)}")
    given = metadata or {}
    for key in ("name", "generateName", "namespace"):
        value = given.get(key)
        if value is not None and not isinstance(value, str):
            return Fault(f"metadata.{key}", f"must be text, not {_shown(value)}{_quoted(value)}")
    if not document.name:
        return Fault("metadata.name", "missing: every object needs a name")
    return None


def _quoted(value: object) -> str:
    return "" if isinstance(value, dict | list) else f': write "{literal(value)}"'


def _shown(value: object) -> str:
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return f'"{literal(value)}"' if isinstance(value, str) else literal(value)
