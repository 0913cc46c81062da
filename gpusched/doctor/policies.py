"""Checks of policy: annotations of Namespaces, the configuration, and whether any node can serve what they ask."""

from collections.abc import Iterator

from gpusched.core.demand import mentions_gpu
from gpusched.core.pod import Pod
from gpusched.doctor.check import Sight
from gpusched.doctor.scene import Scene
from gpusched.policy.resolution import Resolution
from gpusched.simulate.uses import quota_lines

#: Parts of the names of pods by which the GPU stacks' own DaemonSets are known.
_STACK = (
    "nvidia-device-plugin",
    "gpu-feature-discovery",
    "nvidia-operator-validator",
    "nvidia-cuda-validator",
    "amdgpu-device-plugin",
    "intel-gpu-plugin",
)


def malformed(scene: Scene) -> Iterator[Sight]:
    """Values on Namespaces that cannot be read."""
    cluster = scene.world.cluster
    for name in scene.namespaces():
        for fault in cluster.namespace(name).parsed.malformed:
            key = fault.path.removeprefix("metadata.annotations[").removesuffix("]")
            yield Sight(
                f"namespace/{name}",
                f"{key}: {fault.message}",
                f"kubectl annotate namespace {name} --overwrite {key}=…  # or {key}- to take it off",
            )


def unknown_keys(scene: Scene) -> Iterator[Sight]:
    """Keys on Namespaces that mean nothing."""
    cluster = scene.world.cluster
    for name in scene.namespaces():
        for fault in cluster.namespace(name).parsed.unknown:
            key = fault.path.removeprefix("metadata.annotations[").removesuffix("]")
            yield Sight(f"namespace/{name}", fault.message, f"kubectl annotate namespace {name} {key}-")


def configuration(scene: Scene) -> Iterator[Sight]:
    """What is wrong with the configuration file; a running service keeps the one before."""
    for fault in scene.config_faults:
        yield Sight(
            "configuration",
            str(fault),
            "kubectl edit configmap -n gpusched-system gpusched  # gpusched config check FILE",
        )


def absent_families(scene: Scene) -> Iterator[Sight]:
    """Families that a policy allows and no node has, where that leaves nothing."""
    present = {pool.family for pool in scene.world.cluster.facts.pools if pool.family is not None}
    for name, resolution in _resolutions(scene):
        families = resolution.wanted.families
        if families and present and not present.intersection(families):
            yield Sight(
                f"namespace/{name}",
                f"allows {', '.join(families)}; the nodes have {', '.join(sorted(present))}",
                f'kubectl annotate namespace {name} --overwrite gpusched.io/families="{", ".join(sorted(present))}"'
                "  # unless an autoscaler brings such nodes",
            )


def unused_families(scene: Scene) -> Iterator[Sight]:
    """Some of the families of a policy or quota that no node has."""
    present = {pool.family for pool in scene.world.cluster.facts.pools if pool.family is not None}
    for name, resolution in _resolutions(scene):
        families = resolution.wanted.families or ()
        named = {*families, *(dict(resolution.quota.families) if resolution.quota else {})}
        missing = sorted(named - present)
        if present and missing and (not families or present.intersection(families)):
            yield Sight(
                f"namespace/{name}",
                f"names {', '.join(missing)}, which no present node has",
                f"kubectl get namespace {name} -o yaml  # fine where an autoscaler brings such nodes",
            )


def empty_policies(scene: Scene) -> Iterator[Sight]:
    """Layers that leave nothing together: ceiling or configuration against a Namespace."""
    for name, resolution in _resolutions(scene):
        for conflict in resolution.conflicts:
            yield Sight(
                f"namespace/{name}",
                f"{conflict.asker} allows {conflict.asked}, {conflict.allower} allows {conflict.allowed}",
                f"kubectl annotate namespace {name} --overwrite gpusched.io/{_key(conflict.group.value)}=…"
                "  # a value within the outer rule",
            )


def _key(group: str) -> str:
    return {"family": "families", "product": "products", "memory": "min-gpu-memory"}.get(group, group)


def missing_policy_classes(scene: Scene) -> Iterator[Sight]:
    """RuntimeClasses that policy or configuration name for vendors that are present."""
    cluster = scene.world.cluster
    if "RuntimeClass" not in scene.world.kinds and scene.installation is None:
        return
    classes = scene.world.runtime_classes
    for name, resolution in _resolutions(scene):
        wish = resolution.runtime_class
        if wish not in {"auto", "never"} and wish not in classes:
            yield Sight(
                f"namespace/{name}",
                f"runtime-class {wish} does not exist",
                f"kubectl get runtimeclass {wish}"
                f"  # create it, or kubectl annotate namespace {name} --overwrite gpusched.io/runtime-class=auto",
            )
    operator = cluster.facts.operator
    if operator is not None and (operator.nri_enabled or operator.cdi_enabled):
        return
    vendors = {pool.vendor for pool in cluster.facts.pools}
    for vendor, name in sorted(cluster.config.runtime_classes.items()):
        if name and vendor in vendors and name not in classes and "gke" not in cluster.facts.dialects:
            yield Sight(
                f"runtimeclass/{name}",
                f"configured for {vendor} GPUs, and not there",
                f'kubectl get runtimeclass {name}  # create it, or configure runtimeClasses: {{{vendor}: ""}} where'
                " containerd uses it by default",
            )


def superfluous_classes(scene: Scene) -> Iterator[Sight]:
    """A RuntimeClass that a policy forces although the GPU Operator injects devices without it."""
    operator = scene.world.cluster.facts.operator
    if operator is None or not operator.nri_enabled:
        return
    for name, resolution in _resolutions(scene):
        if resolution.runtime_class not in {"auto", "never"}:
            yield Sight(
                f"namespace/{name}",
                f"runtime-class {resolution.runtime_class}, while the GPU Operator runs in NRI mode",
                f"kubectl annotate namespace {name} --overwrite gpusched.io/runtime-class=auto",
            )


def exceeded_quotas(scene: Scene) -> Iterator[Sight]:
    """Namespaces that use more than their quota."""
    for line in quota_lines(scene.world.cluster):
        if line.limit is not None and line.used > line.limit:
            unit = " MiB" if line.what == "memory" else ""
            yield Sight(
                f"namespace/{line.namespace}",
                f"{line.what}: {line.used}{unit} used of {line.limit}{unit}",
                f"gpusched quota -n {line.namespace}  # running pods stay; end some, or raise the quota",
            )


def exemptions(scene: Scene) -> Iterator[Sight]:
    """Namespaces of GPU stacks that are not exempt: their pods go round the scheduler and must not be judged."""
    cluster = scene.world.cluster
    by_namespace: dict[str, list[Pod]] = {}
    for pod, _ in scene.pods:
        by_namespace.setdefault(pod.namespace, []).append(pod)
    for name, pods in sorted(by_namespace.items()):
        if cluster.resolution(name, {}).exempt or cluster.namespace(name).labels.get("gpusched.io/exempt") == "true":
            continue
        stack = sorted(pod.name for pod in pods if pod.name.startswith(_STACK) and not pod.terminal)
        if stack:
            asking = sum(mentions_gpu(pod, cluster.resources) for pod in pods)
            also = f"; {asking} pods there ask for GPUs" if asking else ""
            yield Sight(
                f"namespace/{name}",
                f"runs {stack[0]} of the GPU stack and is not exempt{also}",
                f"kubectl label namespace {name} gpusched.io/exempt=true  # and add it to exemptNamespaces",
            )


def _resolutions(scene: Scene) -> Iterator[tuple[str, Resolution]]:
    cluster = scene.world.cluster
    for name in scene.namespaces():
        resolution = cluster.resolution(name, {})
        if not resolution.exempt:
            yield name, resolution
