"""Other software for GPUs, by the traces that it leaves on a cluster."""

from collections.abc import Iterable, Iterator
from typing import Final

from gpusched.core.fields import Field
from gpusched.doctor.scene import Tree

#: Parts of the names under which other software that rewrites GPU pods registers its webhooks.
_REWRITING: Final = ("hami", "vgpu", "runai", "run-ai", "gpu-manager", "gpushare", "volcano", "nos-gpu", "kai-")
#: API groups of schedulers and of quota systems that look after GPU pods.
_GROUPS: Final = {
    "kueue.x-k8s.io": "Kueue",
    "scheduling.volcano.sh": "Volcano",
    "scheduling.run.ai": "KAI Scheduler or Run:ai",
    "run.ai": "Run:ai",
    "kai.scheduler": "KAI Scheduler",
    "scheduling.yunikorn.apache.org": "YuniKorn",
    "scheduling.x-k8s.io": "coscheduling of scheduler-plugins",
    "scheduling.koordinator.sh": "Koordinator",
    "nos.nebuly.com": "nos",
}


def rewriting(configurations: Iterable[Tree]) -> list[str]:
    """Names of the mutating webhook configurations of such software."""
    names = (_name(tree) for tree in configurations if tree.get("kind") == "MutatingWebhookConfiguration")
    return sorted(name for name in names if name != "gpusched" and any(word in name.lower() for word in _REWRITING))


def mutating_pods(configurations: Iterable[Tree]) -> list[str]:
    """Names of the mutating webhook configurations that see pods when they are created, gpusched's left out."""
    return sorted(
        _name(tree)
        for tree in configurations
        if tree.get("kind") == "MutatingWebhookConfiguration" and _name(tree) != "gpusched" and _sees_pods(tree)
    )


def schedulers_of(groups: Iterable[str]) -> list[str]:
    """Schedulers and quota systems whose API groups are served."""
    return sorted({_GROUPS[group] for group in groups if group in _GROUPS})


def _sees_pods(tree: Tree) -> bool:
    rules = [rule for webhook in Field(tree).get("webhooks").items() for rule in webhook.get("rules").items()]
    return any(
        {"", "*"}.intersection(_words(rule.get("apiGroups")))
        and {"pods", "*", "*/*"}.intersection(_words(rule.get("resources")))
        and {"CREATE", "*"}.intersection(_words(rule.get("operations")))
        for rule in rules
    )


def _words(field: Field) -> Iterator[str]:
    return (item.text() for item in field.items())


def _name(tree: Tree) -> str:
    return Field(tree).get("metadata").get("name").text()
