"""Checks of pods: bound round gpusched, refused by the kubelet, waiting for what will never come."""

from collections.abc import Iterator, Mapping

from gpusched.core.demand import mentions_gpu
from gpusched.core.fingerprint import fingerprint
from gpusched.core.misspelt import names_of, near_misses
from gpusched.core.names import POLICY_HASH_ANNOTATION, QUOTA_GATE
from gpusched.core.pod import Pod
from gpusched.core.read_pod import read_pod
from gpusched.doctor.check import Sight
from gpusched.doctor.scene import Scene, Tree
from gpusched.native.affinity import node_affinity_reason
from gpusched.placement.quota import liftable
from gpusched.simulate.reasons.shortfall import Shortfalls
from gpusched.simulate.unlower import unlowered
from gpusched.state.events import key_of

#: Seconds after which a gate that could have gone is late: the leader looks at every change.
_LATE = 60.0
_RECREATE = "kubectl delete pod -n {namespace} {name}  # {after}"
_ANEW = "its controller creates it anew"
_LOST = "it has no controller: then it is gone and must be created again"


def bound_elsewhere(scene: Scene) -> Iterator[Sight]:
    """GPU pods that somebody else put on their node, where gpusched binds others."""
    pods = [pod for pod, _ in _gpu_pods(scene) if pod.spec.node_name and not _exempt(scene, pod)]
    if not any(pod.bound_by_us for pod in pods):
        return
    for pod in pods:
        if not pod.bound_by_us and not pod.mirror:
            by = pod.spec.scheduler_name
            seen = f"on {pod.spec.node_name}, not bound by gpusched" + (
                f" but by {by}" if by not in {"", "default-scheduler"} else ""
            )
            yield Sight(_name(pod), seen, _recreate(pod))


def nothing_bound(scene: Scene) -> Iterator[Sight]:
    """GPU pods run, and gpusched has bound none, though it offers the extender."""
    if scene.installation is not None and not scene.installation.extender:
        return
    pods = [pod for pod, _ in _gpu_pods(scene) if pod.spec.node_name and not _exempt(scene, pod)]
    if pods and not any(pod.bound_by_us for pod in pods):
        yield Sight(
            "kube-scheduler",
            f"{len(pods)} GPU pods run, none of them bound by gpusched",
            "gpusched config scheduler  # and start kube-scheduler with it; pods from before it count all the same",
        )


def unadmitted(scene: Scene) -> Iterator[Sight]:
    """Pods that the kubelet refused for want of a device."""
    for pod, tree in scene.pods:
        status = tree.get("status")
        reason = status.get("reason") if isinstance(status, Mapping) else None
        if reason == "UnexpectedAdmissionError" and mentions_gpu(pod, scene.world.cluster.resources):
            message = status.get("message") if isinstance(status, Mapping) else None
            yield Sight(_name(pod), f"{pod.spec.node_name}: {message or reason}", _recreate(pod))


def late_gates(scene: Scene) -> Iterator[Sight]:
    """Pods behind the quota gate that might go."""
    waiting = {key_of(pod): pod for pod, _ in scene.pods if QUOTA_GATE in pod.spec.gates}
    for key in liftable(scene.world.cluster):
        pod = waiting.get(key)
        age = scene.age(pod.created) if pod is not None else None
        if pod is not None and age is not None and age > _LATE:
            yield Sight(
                _name(pod),
                f"gated for {round(age)} s although the quota has room",
                "kubectl get lease -n gpusched-system gpusched  # nobody leads, or the leader is stuck",
            )


def stale_policy(scene: Scene) -> Iterator[Sight]:
    """Pods that wait under rules that have changed since."""
    for pod, _ in _gpu_pods(scene):
        lowered = pod.annotations.get(POLICY_HASH_ANNOTATION)
        if lowered is None or pod.spec.node_name:
            continue
        resolution = scene.world.cluster.resolution(pod.namespace, pod.annotations)
        if lowered != fingerprint(resolution.constraints):
            yield Sight(_name(pod), "created under an older policy, which its affinity still says", _recreate(pod))


def affinity_without_nodes(scene: Scene) -> Iterator[Sight]:
    """GPU pods whose own node selector or affinity matches no node at all."""
    nodes = [state.node.object for state in scene.world.cluster.nodes.values()]
    for pod, tree in _gpu_pods(scene):
        spec = read_pod(unlowered(tree), []).spec
        asks = bool(spec.node_selector) or spec.node_affinity is not None
        if asks and not spec.node_name and nodes and all(node_affinity_reason(spec, node) for node in nodes):
            said = ", ".join(f"{key}={value}" for key, value in sorted(spec.node_selector.items()))
            what = f"nodeSelector {said}" if said else "its node affinity"
            yield Sight(
                _name(pod),
                f"{what} matches none of {len(nodes)} nodes",
                f"gpusched why -n {pod.namespace} {pod.name}",
            )


def absent_resources(scene: Scene) -> Iterator[Sight]:
    """Pods that wait for a GPU resource which no node offers."""
    facts = scene.world.cluster.facts
    for record in sorted(scene.world.cluster.pods.values(), key=lambda record: record.key):
        if record.pod.spec.node_name:
            continue
        for resource in sorted(record.demand.slots):
            if resource not in facts.resources and resource not in facts.dra_resources:
                offered = ", ".join(sorted({pool.resource for pool in facts.pools})) or "none"
                yield Sight(
                    _name(record.pod),
                    f"asks for {resource}, which no node offers (GPU resources here: {offered})",
                    f"gpusched why -n {record.pod.namespace} {record.pod.name}",
                )


def misspelt_resources(scene: Scene) -> Iterator[Sight]:
    """Pods that wait for a resource that was meant to be a GPU."""
    cluster = scene.world.cluster
    for pod, _ in scene.pods:
        if pod.terminal or pod.spec.node_name:
            continue
        for name, meant in near_misses(names_of(pod), cluster.resources, cluster.facts.resources).items():
            yield Sight(
                _name(pod),
                f"asks for {name}, which no device plugin serves; did you mean {meant}?",
                f"gpusched why -n {pod.namespace} {pod.name}",
            )


def refused_pods(scene: Scene) -> Iterator[Sight]:
    """Workloads that lack pods since those were refused."""
    for lack in Shortfalls(scene.standing, scene.failures, scene.world).all(scene.standing):
        kind, namespace, name = lack.workload.kind.lower(), lack.workload.namespace, lack.workload.name
        yield Sight(
            f"{kind}/{namespace}/{name}",
            f"{lack.counts}: {lack.reason}",
            f"gpusched why -n {namespace} {kind}/{name}",
        )


def other_schedulers(scene: Scene) -> Iterator[Sight]:
    """GPU pods that name a scheduler which does not ask gpusched."""
    for pod, _ in _gpu_pods(scene):
        name = pod.spec.scheduler_name
        if name not in {"", "default-scheduler"} and not _exempt(scene, pod):
            yield Sight(
                _name(pod),
                f"schedulerName {name}",
                "gpusched config scheduler  # configure that scheduler too, or take schedulerName off",
            )


def missing_classes(scene: Scene) -> Iterator[Sight]:
    """RuntimeClasses that GPU pods name and that are not there: such pods cannot be created anew."""
    classes = scene.world.runtime_classes
    if "RuntimeClass" not in scene.world.kinds and scene.installation is None:
        return
    for pod, _ in _gpu_pods(scene):
        name = pod.spec.runtime_class
        if name and name not in classes:
            yield Sight(
                _name(pod),
                f"spec.runtimeClassName {name} does not exist",
                f"kubectl get runtimeclass {name}  # create it, or remove runtimeClassName from the workload",
            )


def _gpu_pods(scene: Scene) -> list[tuple[Pod, Tree]]:
    resources = scene.world.cluster.resources
    return [(pod, tree) for pod, tree in scene.pods if not pod.terminal and mentions_gpu(pod, resources)]


def _exempt(scene: Scene, pod: Pod) -> bool:
    return scene.world.cluster.resolution(pod.namespace, {}).exempt


def _name(pod: Pod) -> str:
    return f"pod/{pod.namespace}/{pod.name}"


def _recreate(pod: Pod) -> str:
    return _RECREATE.format(namespace=pod.namespace, name=pod.name, after=_ANEW if pod.owner is not None else _LOST)
