"""Which workloads of a cluster have pods, as their pods tell."""

from collections.abc import Iterable
from typing import Final

from gpusched.core.read_pod import read_pod
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
