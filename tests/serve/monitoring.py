"""Alerts, dashboard and metrics as they are shipped, read for tests."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from gpusched.obs.inventory import Inventory
from gpusched.obs.metrics import Metrics
from tests.build import namespace
from tests.serve.view.scene import Scene

FOLDER = Path(__file__).parents[2] / "manifests" / "monitoring"
#: Values of labels that alerts and dashboard name; all others have the label's own name.
_VALUES = {"kind": "Pod", "mode": "enforce"}


def rules() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((FOLDER / "prometheusrule.yaml").read_text())["spec"]
    return found


def alerts() -> list[dict[str, Any]]:
    return [rule for group in rules()["groups"] for rule in group["rules"]]


def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / "grafana-dashboard.json").read_text())
    return found


def shown() -> Iterator[tuple[str, str]]:
    """The queries of the panels with their titles."""
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]


def exposition() -> str:
    """What a scrape reads where every metric has a value."""
    metrics = Metrics()
    for collector in list(metrics.registry._collector_to_names):
        if collector._labelnames:
            collector.labels(*(_VALUES.get(label, label) for label in collector._labelnames))
    scene = Scene()
    scene.namespace(namespace("team-a", quota="turing=2", quota_gpu_memory="8Gi"))
    scene.wait("open", "team-b")
    inventory = Inventory(scene.cluster)
    list(inventory.update())
    return (metrics.render() + inventory.render()).decode()
