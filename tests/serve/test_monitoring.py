"""Alerts and dashboard ask for metrics that there are, with labels that these have."""

import re
from collections.abc import Iterator

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from gpusched.obs.inventory import METRICS as INVENTORY
from gpusched.obs.metrics import Metrics
from tests.serve.monitoring import FOLDER, alerts, dashboard, exposition, shown

#: Labels that Prometheus adds to what it scrapes from a pod.
TARGET = {"pod", "container", "endpoint", "instance", "job"}
SELECTOR = re.compile(r"(gpusched_\w+)(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"[^"]*"')


def queries() -> Iterator[tuple[str, str]]:
    for rule in alerts():
        yield rule["alert"], rule["expr"]
    yield from shown()
    for variable in dashboard()["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["name"], variable["definition"]


def labels_by_metric() -> dict[str, set[str]]:
    """Every series name with its labels, as a scrape reads them."""
    families = text_string_to_metric_families(exposition())
    return {sample.name: set(sample.labels) for family in families for sample in family.samples}


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


def test_every_metric_is_shown_or_watched() -> None:
    asked = {re.sub("_(total|bucket)$", "", metric) for _, query in queries() for metric, _ in SELECTOR.findall(query)}
    names = {family.name for family in text_string_to_metric_families(Metrics().render().decode())}

    assert (names | INVENTORY.keys()) - asked == set()


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


def test_the_dashboard_works_with_whatever_data_source_is_chosen() -> None:
    tree = dashboard()
    variables = {variable["name"]: variable for variable in tree["templating"]["list"]}
    panels = [panel for panel in tree["panels"] if panel["type"] != "row"]
    chosen = {"type": "prometheus", "uid": "${datasource}"}

    # Data sources are objects, as here, since version 33; an `id` would be another installation's.
    assert tree["schemaVersion"] >= 33
    assert "id" not in tree
    assert tree["uid"] == "gpusched"
    assert variables["datasource"]["type"] == "datasource"
    asking = [*panels, *(target for panel in panels for target in panel["targets"])]
    asking += [variable for variable in variables.values() if variable["type"] == "query"]
    assert [each["datasource"] for each in asking] == [chosen] * len(asking)
    used = {name for _, query in queries() for name in re.findall(r"\$(\w+)", query)}
    assert used == variables.keys() - {"datasource"} | {"__rate_interval"}


def test_panels_have_a_unit_and_names_of_their_own() -> None:
    panels = dashboard()["panels"]

    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        if panel["type"] != "row":
            assert panel["fieldConfig"]["defaults"]["unit"]
            names = [target["refId"] for target in panel["targets"]]
            assert len(set(names)) == len(names) > 0


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
