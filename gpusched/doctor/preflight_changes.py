"""What installing gpusched changes: objects, webhooks, labels of nodes, and what new GPU pods get."""

from collections.abc import Iterator, Mapping
from typing import Final

from gpusched.core.fields import Field
from gpusched.core.pod import Toleration
from gpusched.core.read_pod import read_pod
from gpusched.dialects.labels import KEYS, gpusched_labels
from gpusched.doctor.preflight import Changes, Fitting, Labelled, NewPod, Placed, Site, Webhook
from gpusched.doctor.scene import Tree
from gpusched.simulate.admit import admit
from gpusched.simulate.apply_patch import apply_patch
from gpusched.simulate.expand import bare_pod
from gpusched.simulate.manifest import Manifest

#: A Namespace without a policy of its own, which no cluster has: the name is none that the API server takes.
_ANY: Final = "(any)"
_NATIVE: Final = frozenset({"", "apps", "batch"})


def changes(site: Site, overlay: Fitting) -> Changes:
    """All of it, for one overlay; kind has that of kubeadm with other addresses."""
    chosen = site.around.overlays.get(overlay.name) or site.around.overlays["kubeadm"]
    return Changes(
        objects=tuple(sorted(chosen.objects, key=_order)),
        opt_in=chosen.opt_in,
        second_scheduler=site.scene.world.cluster.config.second_scheduler or chosen.second_scheduler,
        webhooks=tuple(_webhooks(site)),
        labels=tuple(_labels(site)),
        pods=tuple(_new_pods(site)),
    )


def _order(item: Placed) -> tuple[bool, bool, str, str, str]:
    return item.made_by != "overlay", bool(item.namespace), item.namespace, item.kind, item.name


def _webhooks(site: Site) -> Iterator[Webhook]:
    for tree in site.around.shipped:
        phase = "mutating" if tree.get("kind") == "MutatingWebhookConfiguration" else "validating"
        for item in Field(tree).get("webhooks").items():
            yield Webhook(
                item.get("name").text(),
                phase,
                tuple(_resources(item)),
                item.get("failurePolicy").text(),
                tuple(_exempt(item)),
            )


def _resources(webhook: Field) -> Iterator[str]:
    for rule in webhook.get("rules").items():
        for group in rule.get("apiGroups").items():
            suffix = "" if group.text() in _NATIVE else f".{group.text()}"
            yield from (f"{word.text()}{suffix}" for word in rule.get("resources").items())


def _exempt(webhook: Field) -> Iterator[str]:
    for part in webhook.get("namespaceSelector").get("matchExpressions").items():
        if part.get("key").text() == "kubernetes.io/metadata.name" and part.get("operator").text() == "NotIn":
            yield from (value.text() for value in part.get("values").items())


def _labels(site: Site) -> Iterator[Labelled]:
    """Nodes by the keys that they get: those whose value stands there already are left out."""
    present = {item.name: _own_labels(item.tree) for item in site.scene.standing if item.kind == "Node"}
    by_keys: dict[tuple[str, ...], list[str]] = {}
    for name, state in sorted(site.scene.world.cluster.nodes.items()):
        wanted, stands = gpusched_labels(state.node), present.get(name, {})
        keys = tuple(key for key in KEYS if key in wanted and stands.get(key) != wanted[key])
        if keys:
            by_keys.setdefault(keys, []).append(name)
    for keys, names in by_keys.items():
        yield Labelled(tuple(names), keys)


def _own_labels(tree: Tree) -> Mapping[str, str]:
    return Field(tree).get("metadata").get("labels").strings()


def _new_pods(site: Site) -> Iterator[NewPod]:
    cluster = site.scene.world.cluster
    offered = {pool.resource for state in cluster.nodes.values() for pool in state.node.pools if pool.slots}
    for resource in sorted(offered | cluster.facts.dra_resources):
        tree = _probe(resource)
        admitted = admit(bare_pod(Manifest("", tree, "Pod", "v1", "probe", _ANY)), site.scene.world)
        spec = read_pod(apply_patch(tree, admitted.admission.patch), []).spec
        why = dict(admitted.admission.audit).get("runtime-class", "")
        yield NewPod(resource, spec.runtime_class, why, tuple(_toleration(item) for item in spec.tolerations))


def _probe(resource: str) -> dict[str, object]:
    container = {"name": "main", "image": "probe", "resources": {"limits": {resource: "1"}}}
    metadata = {"name": "probe", "namespace": _ANY}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


def _toleration(item: Toleration) -> str:
    value = f"={item.value}" if item.operator == "Equal" else ""
    return f"{item.key}{value}:{item.effect}" if item.effect else f"{item.key}{value}"
