"""Which workloads the pods of a cluster are of, as their pods tell."""

from collections.abc import Iterable, Mapping
from typing import Final

from gpusched.core.fields import Field
from gpusched.core.pod import Pod
from gpusched.core.read_pod import read_pod
from gpusched.core.workload import workload_by_name
from gpusched.simulate.manifest import Manifest

#: Kinds whose objects are made by objects of another kind, with the name of that one and a suffix.
_AROUND: Final = {"ReplicaSet": "Deployment", "Job": "CronJob"}


def owners_of(manifests: Iterable[Manifest]) -> frozenset[tuple[str, str, str]]:
    """Kind, namespace and name of the pods of a cluster that have not ended, and of the workloads that they are of."""
    found: set[tuple[str, str, str]] = set()
    for manifest in manifests:
        if (manifest.group, manifest.kind) != ("", "Pod"):
            continue
        pod = read_pod(manifest.tree, [])
        if pod.terminal:
            continue
        found.add(("Pod", manifest.namespace, manifest.name))
        if pod.owner is not None:
            found.add((pod.owner.kind, manifest.namespace, pod.owner.name))
            outer = _AROUND.get(pod.owner.kind)
            if outer is not None:
                found.add((outer, manifest.namespace, pod.owner.name.rpartition("-")[0]))
    return frozenset(found)


#: Kind and name of what controls an object between pods and workloads, by its kind, namespace and name; empty for none.
Between = Mapping[tuple[str, str, str], str]


def between(manifest: Manifest) -> dict[tuple[str, str, str], str]:
    """The entry of an object that may stand between pods and the workload that people know."""
    if manifest.kind not in _AROUND:
        return {}
    references = Field(manifest.tree).get("metadata").get("ownerReferences").items()
    owners = [
        f"{item.get('kind').value}/{item.get('name').value}"
        for item in references
        if item.get("controller").value is True
    ]
    return {(manifest.kind, manifest.namespace, manifest.name): owners[0] if owners else ""}


def workload_of(pod: Pod, known: Between) -> str | None:
    """Kind and name of the workload that has the template of the pod: its controller, or the controller of that one.

    Where that one is not at hand, its name tells.
    """
    owner = pod.owner
    if owner is None:
        return None
    key = (owner.kind, pod.namespace, owner.name)
    if key in known:
        return known[key] or f"{owner.kind}/{owner.name}"
    return workload_by_name(owner.kind, owner.name, pod.labels.get("pod-template-hash", ""))
