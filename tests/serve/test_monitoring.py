"""Alerts and dashboard ask for metrics that there are, with labels that these have."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from gpusched.obs.inventory import METRICS as INVENTORY
from gpusched.obs.inventory import Inventory
from gpusched.obs.metrics import Metrics
from tests.build import namespace
from tests.serve.view.scene import Scene

FOLDER = Path(__file__).parents[2] / "manifests" / "monitoring"
#: Labels that Prometheus adds to what it scrapes from a pod.
TARGET = {"pod", "container", "endpoint", "instance", "job"}
SELECTOR = re.compile(r"(gpusched_\w+)(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"[^"]*"')


def alerts() -> list[dict[str, Any]]:
    tree = yaml.safe_load((FOLDER / "prometheusrule.yaml").read_text())
    return [rule for group in tree["spec"]["groups"] for rule in group["rules"]]


def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / "grafana-dashboard.json").read_text())
    return found


def queries() -> Iterator[tuple[str, str]]:
    for rule in alerts():
        yield rule["alert"], rule["expr"]
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]
    for variable in dashboard()["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["name"], variable["definition"]


def labels_by_metric() -> dict[str, set[str]]:
    """Every series name with its labels, from the collectors themselves."""
    metrics = Metrics()
    found: dict[str, set[str]] = {}
    for collector in list(metrics.registry._collector_to_names):
        names = metrics.registry._collector_to_names[collector]
        for name in names:
            found[name] = {*collector._labelnames, *(["le"] if name.endswith("_bucket") else [])}
    scene = Scene()
    scene.namespace(namespace("team-a", quota="turing=2", quota_gpu_memory="8Gi"))
    scene.wait("open", "team-b")
    inventory = Inventory(scene.cluster)
    list(inventory.update())
    for family in text_string_to_metric_families(inventory.render().decode()):
        found[family.name] = {label for sample in family.samples for label in sample.labels}
    return found


@pytest.mark.parametrize(("title", "query"), list(queries()))
def test_queries_name_metrics_that_there_are(title: str, query: str) -> None:
    known = labels_by_metric()
    asked = SELECTOR.findall(query)

    assert asked, query
    for metric, matchers in asked:
        assert metric in known
        assert set(MATCHER.findall(matchers)) <= known[metric] | TARGET
    grouped = {
        label.strip() for labels in re.findall(r"\b(?:by|on)\s*\(([^)]*)\)", query) for label in labels.split(",")
    }
    assert grouped <= set().union(*(known[metric] for metric, _ in asked)) | TARGET


def test_prometheus_itself_reads_the_queries(tmp_path: Path) -> None:
    program = shutil.which("promtool")
    if program is None:
        # It takes many minutes to build; the tests above hold the names in every query.
        pytest.skip("no promtool on the PATH")
    shown = [
        {"record": f"panel_{number}", "expr": query.replace("$__rate_interval", "5m")}
        for number, (_, query) in enumerate(queries())
        if not query.startswith("label_values")
    ]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "a", "rules": alerts()}, {"name": "p", "rules": shown}]}))

    checked = subprocess.run([program, "check", "rules", file], capture_output=True, text=True, check=False)

    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_every_metric_of_the_inventory_is_shown_or_watched() -> None:
    asked = {metric for _, query in queries() for metric, _ in SELECTOR.findall(query)}

    assert INVENTORY.keys() - asked == set()


def test_alerts_say_what_is_wrong_and_where_to_look() -> None:
    names = [rule["alert"] for rule in alerts()]
    assert len(set(names)) == len(names)
    for rule in alerts():
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        assert {"summary", "description"} == rule["annotations"].keys()
        labels = set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
        assert labels <= set(re.findall(r"\w+", rule["expr"]))


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard()["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert max(x for x, _ in cells) < 24
        assert not taken & cells
        taken |= cells


def test_metrics_keep_the_conventions() -> None:
    """https://prometheus.io/docs/practices/naming/: a prefix, base units, a help text."""
    text = Metrics().render().decode()
    for family in text_string_to_metric_families(text):
        assert re.fullmatch(r"gpusched_[a-z_]+", family.name)
        assert family.documentation.endswith(".")
    for name, help_text in INVENTORY.items():
        assert re.fullmatch(r"gpusched_[a-z_]+", name)
        assert help_text.endswith(".")
        assert not name.endswith(("_total", "_mib", "_mebibytes"))


def test_the_overlay_lists_its_files() -> None:
    tree = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
    listed = {*tree["resources"], *tree["configMapGenerator"][0]["files"]}

    assert listed == {path.name for path in FOLDER.iterdir()} - {"kustomization.yaml"}
