"""What a preflight looks at, from raw objects."""

from collections.abc import Iterable
from typing import Any

from gpusched.cli.install_objects import overlays, shipped_webhooks
from gpusched.doctor.preflight import Preflight, Site, Surroundings
from gpusched.doctor.preflight_problems import preflight
from gpusched.policy.model import Config
from gpusched.simulate.report import report
from tests.build import Tree
from tests.doctor.scenes import scene

OVERLAYS = overlays()
SHIPPED = shipped_webhooks()


def site(*trees: Tree, config: Config | None = None, **around: Any) -> Site:
    """A cluster of these objects; what is around it by name of the field."""
    looked = scene(trees, config=config)
    given = {"overlays": OVERLAYS, "shipped": SHIPPED} | around
    return Site(looked, Surroundings(**given), report(looked.standing, looked.world, []))


def found(*trees: Tree, **options: Any) -> Preflight:
    """The whole finding."""
    return preflight(site(*trees, **options))


def told(*trees: Tree, **options: Any) -> dict[str, list[str]]:
    """Texts of the facts by title."""
    titles: dict[str, list[str]] = {}
    for fact in found(*trees, **options).there:
        titles.setdefault(fact.title, []).append(fact.text)
    return titles


def webhook(name: str, *, groups: Iterable[str] = ("",), resources: Iterable[str] = ("pods",)) -> Tree:
    """A mutating webhook configuration."""
    rule = {"apiGroups": list(groups), "resources": list(resources), "operations": ["CREATE"]}
    return {
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [{"name": f"{name}.example.com", "rules": [rule]}],
    }
