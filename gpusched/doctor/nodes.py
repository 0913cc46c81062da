"""Checks of nodes: what they offer, what their labels say, and whether pods can get there."""

from collections.abc import Iterator

from gpusched.core.codes import Reason
from gpusched.core.names import FACTS_ANNOTATION, PREFIX
from gpusched.core.pool import Pool
from gpusched.dialects.agreement import memory_disagreement
from gpusched.dialects.inventory import NONE_OFFERED
from gpusched.doctor.check import Sight
from gpusched.doctor.scene import Scene
from gpusched.simulate.node_notes import foreign_taints, taint_text
from gpusched.state.node_state import NodeState


def without_allocatable(scene: Scene) -> Iterator[Sight]:
    """Labels or capacity speak of GPUs, and the kubelet offers none."""
    for state in _states(scene):
        node = state.node
        if any(pool.slots for pool in node.pools) or node.dra_resources:
            continue
        lost = [
            name
            for name, amount in sorted(node.object.capacity.items())
            if amount and scene.world.cluster.resources.vendor(name) is not None
        ]
        if lost or NONE_OFFERED in node.notes:
            seen = f"capacity {', '.join(lost)}, allocatable 0" if lost else "GPU labels, but no GPU in allocatable"
            yield Sight(
                f"node/{node.name}",
                seen,
                f"kubectl get pods -A -o wide --field-selector spec.nodeName={node.name}"
                "  # is the device plugin there and ready?",
            )


def unhealthy_devices(scene: Scene) -> Iterator[Sight]:
    """The device plugin reports devices that the kubelet does not give out."""
    for state in _states(scene):
        for pool in state.node.pools:
            capacity = state.node.object.capacity.get(pool.resource, 0)
            if capacity > pool.slots > 0:
                yield Sight(
                    f"node/{state.node.name}",
                    f"{pool.resource}: {capacity - pool.slots} of {capacity} are unhealthy",
                    f"kubectl debug node/{state.node.name} -it --image=ubuntu -- chroot /host sh -c"
                    " 'dmesg | grep -i xid; nvidia-smi'",
                )


def facts_unknown(scene: Scene) -> Iterator[Sight]:
    """Slots of which neither family nor memory is known: nobody tells, or labels and slots disagree."""
    for state in _states(scene):
        name = state.node.name
        for pool in state.node.pools:
            facts = {"family": pool.family, "gpu-memory": pool.visible_memory_mib}
            unknown = [fact for fact, value in facts.items() if value is None]
            if not pool.slots or not unknown or pool.blocked is not None:
                continue
            seen = f"{pool.resource}: {' and '.join(unknown).replace('gpu-', '')} unknown"
            written = f'gpusched.io/facts="{", ".join(f"{fact}=…" for fact in unknown)}"'
            told = memory_disagreement(pool)
            if told is None:
                fix = f"kubectl annotate node {name} {written}  # or install GPU Feature Discovery"
                yield Sight(f"node/{name}", seen, fix)
            else:
                seen = f"{seen}, since labels and slots disagree: {told}"
                yield Sight(f"node/{name}", seen, _agreeing(name, told, written))


def _agreeing(name: str, told: str, written: str) -> str:
    """What makes labels and slots agree: another word of the administrator, else labels written anew."""
    if FACTS_ANNOTATION in told:
        return f'kubectl annotate node {name} --overwrite {FACTS_ANNOTATION}="replicas=…"  # slots per GPU'
    return (
        f"kubectl delete pod -A -l app=gpu-feature-discovery --field-selector spec.nodeName={name}"
        f"  # it writes labels anew; for unlike cards: kubectl annotate node {name} {written}"
    )


def disagreements(scene: Scene) -> Iterator[Sight]:
    """Sources that contradict each other, and corrections that were made."""
    for state in _states(scene):
        notes = (*state.node.notes, *(note for pool in state.node.pools if pool.blocked is None for note in pool.notes))
        for note in dict.fromkeys(notes):
            if note != NONE_OFFERED and not note.startswith(FACTS_ANNOTATION):
                yield Sight(
                    f"node/{state.node.name}",
                    note,
                    f"gpusched nodes --provenance -l kubernetes.io/hostname={state.node.name}"
                    "  # then restart GPU Feature Discovery there, or annotate gpusched.io/facts",
                )


def mixed_models(scene: Scene) -> Iterator[Sight]:
    """Pools of one vendor on one node that are different cards."""
    for state in _states(scene):
        models: dict[str, set[str]] = {}
        for pool in state.node.pools:
            if pool.product is not None and pool.slots:
                models.setdefault(pool.vendor, set()).add(pool.product)
        for products in models.values():
            if len(products) > 1:
                yield Sight(
                    f"node/{state.node.name}",
                    f"offers {', '.join(sorted(products))} together",
                    "give each model a resource name of its own in the device plugin's configuration"
                    ' (resources.gpus[].pattern), and annotate gpusched.io/facts="RESOURCE:family=…"',
                )


def invalid_mig(scene: Scene) -> Iterator[Sight]:
    """GPU Feature Discovery says that the MIG configuration makes no sense."""
    yield from _blocked(
        scene,
        Reason.FACTS_UNKNOWN,
        "kubectl describe node {node}  # then give it a profile of the MIG manager's configuration, or take MIG off",
    )


def reconfiguring(scene: Scene) -> Iterator[Sight]:
    """MIG manager at work."""
    yield from _blocked(
        scene,
        Reason.RECONFIGURING,
        "kubectl logs -A -l app=nvidia-mig-manager --field-selector spec.nodeName={node}"
        "  # if it lasts longer than a few minutes",
    )


def _blocked(scene: Scene, reason: Reason, fix: str) -> Iterator[Sight]:
    for state in _states(scene):
        for pool in state.node.pools:
            if pool.blocked is reason:
                seen = "; ".join(pool.notes) or "no pod is put there"
                yield Sight(f"node/{state.node.name}", f"{pool.resource}: {seen}", fix.format(node=state.node.name))


def untolerated_taints(scene: Scene) -> Iterator[Sight]:
    """Taints of GPU nodes for which nothing makes GPU pods tolerant."""
    for state in _states(scene):
        for taint in () if _visited(scene, state) else foreign_taints(state, scene.world.cluster):
            yield Sight(
                f"node/{state.node.name}",
                f"taint {taint_text(taint)} keeps every GPU pod away but those that name it",
                f"gpusched config: tolerations: [{{key: {taint.key}, operator: Exists, effect: {taint.effect}}}]"
                f"  # or kubectl taint node {state.node.name} {taint_text(taint)}-",
            )


def _visited(scene: Scene, state: NodeState) -> bool:
    """Whether a pod that is no part of the GPU stack runs there: the taint then keeps the node for those it is for."""
    return any(
        holder.namespace not in scene.world.cluster.config.exempt_namespaces for holder in state.holders.values()
    )


def over_claimed(scene: Scene) -> Iterator[Sight]:
    """Pools that hold more than they have: slots, or memory claims by the rule of the largest claims."""
    for state in _states(scene):
        for pool in state.node.pools:
            use = state.use(pool.resource)
            where = f"node/{state.node.name}"
            fix = f"kubectl delete pod …  # one of {', '.join(_holders(state, pool))}"
            if use.used > pool.slots:
                yield Sight(where, f"{pool.resource}: {use.used} slots held of {pool.slots}", fix)
            if use.claims and _exceeds(pool, use.claims):
                yield Sight(where, f"{pool.resource}: claims of {sum(use.claims)} MiB can meet on one GPU", fix)


def _exceeds(pool: Pool, claims: tuple[int, ...]) -> bool:
    """Whether the R largest claims can meet on a device that is too small for them."""
    memory = pool.device_memory_mib
    if memory is None or pool.replicas is None:
        return False
    return sum(claims[: max(1, pool.replicas)]) > memory


def _holders(state: NodeState, pool: Pool) -> list[str]:
    found = [f"{item.namespace}/{item.name}" for item in state.holders.values() if pool.resource in item.slots]
    return sorted(found)[:5]


def out_of_service(scene: Scene) -> Iterator[Sight]:
    """GPU nodes that take no pods."""
    for state in _states(scene):
        seen = state.node.object
        slots = sum(pool.slots for pool in state.node.pools)
        if slots and seen.unschedulable:
            yield Sight(f"node/{seen.name}", f"cordoned, with {slots} GPU slots", f"kubectl uncordon {seen.name}")
        elif slots and not seen.ready:
            yield Sight(f"node/{seen.name}", f"not ready, with {slots} GPU slots", f"kubectl describe node {seen.name}")


def unread_facts(scene: Scene) -> Iterator[Sight]:
    """What an administrator wrote on a node and nobody can read."""
    for state in _states(scene):
        for note in state.node.notes:
            if note.startswith(FACTS_ANNOTATION):
                yield Sight(
                    f"node/{state.node.name}",
                    note,
                    f'kubectl annotate node {state.node.name} --overwrite gpusched.io/facts="replicas=4"',
                )
        for key in sorted(state.node.object.annotations):
            if key.startswith(PREFIX) and key != FACTS_ANNOTATION:
                yield Sight(
                    f"node/{state.node.name}",
                    f"{key} is no known key of Nodes",
                    f"kubectl annotate node {state.node.name} {key}-",
                )


def _states(scene: Scene) -> list[NodeState]:
    return [state for _, state in sorted(scene.world.cluster.nodes.items())]
