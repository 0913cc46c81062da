"""Prometheus' own tool reads alerts, dashboard and metrics, and plays time for the alerts."""

import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.alert_stories import HEALTHY, LENGTH, STORIES, Story
from tests.e2e.promtool import RELEASE, recipe
from tests.serve.monitoring import alerts, exposition, rules, shown

#: What Grafana writes for the variables, with all values chosen.
VARIABLES = {"$__rate_interval": "5m", "$family": ".*", "$namespace": ".*"}
REPLICAS = ("one", "two")
#: Whatever Prometheus saw before it was started itself it takes for new so long, in minutes.
WARM = 11


def written(query: str) -> str:
    for variable, value in VARIABLES.items():
        query = query.replace(variable, value)
    return query


def firing(alert: str, minute: int, *expected: dict[str, Any]) -> dict[str, Any]:
    return {"alertname": alert, "eval_time": f"{minute}m", "exp_alerts": list(expected)}


@pytest.fixture
def check(promtool: Path, tmp_path: Path) -> Callable[..., None]:
    """Runs promtool, which must find nothing wrong."""
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(rules()))

    def run(*words: str, given: str = "") -> None:
        done = subprocess.run(
            [promtool, *words], cwd=tmp_path, input=given, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    return run


@pytest.fixture
def play(check: Callable[..., None], tmp_path: Path) -> Callable[..., None]:
    """Lets alerts and queries see the series minute by minute, and holds what they say against what is expected."""

    def run(series: Mapping[str, str], **expected: list[dict[str, Any]]) -> None:
        given = [{"series": name, "values": values} for name, values in series.items()]
        tests = [{"interval": "1m", "input_series": given, **expected}]
        (tmp_path / "tests.yaml").write_text(
            yaml.safe_dump({"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": tests})
        )
        check("test", "rules", "tests.yaml")

    return run


def test_the_module_is_that_of_the_release():
    assert f"\tgithub.com/prometheus/prometheus v{RELEASE}\n" in recipe().module.read_text(encoding="utf-8")


def test_alerts_and_queries_are_sound(check, tmp_path):
    panels = [{"record": f"panel:{number}", "expr": written(query)} for number, (_, query) in enumerate(shown())]
    (tmp_path / "panels.yaml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": panels}]}))

    check("check", "rules", "--lint=all", "--lint-fatal", "rules.yaml", "panels.yaml")


def test_metrics_keep_the_conventions(check):
    check("check", "metrics", "--lint=all", given=exposition())


def test_there_is_a_story_for_every_alert():
    assert {story.alert for story in STORIES} == {rule["alert"] for rule in alerts()}


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.alert)
def test_alert_fires_in_time(play, story: Story):
    rule = next(rule for rule in alerts() if rule["alert"] == story.alert)
    fired = {
        "exp_labels": story.labels | rule["labels"],
        "exp_annotations": {"summary": story.summary, "description": rule["annotations"]["description"]},
    }

    play(
        story.series,
        alert_rule_test=[firing(story.alert, story.after - 1), firing(story.alert, story.after, fired)],
    )


def test_service_that_is_well_raises_no_alert(play):
    play(
        HEALTHY,
        alert_rule_test=[firing(rule["alert"], minute) for rule in alerts() for minute in range(WARM, LENGTH)],
    )


def test_every_panel_shows_something_of_two_replicas(play):
    """Joins find their other side, and no series is there twice."""
    samples = [line.rpartition(" ") for line in exposition().splitlines() if not line.startswith("#")]
    series = {
        re.sub(r"^(\w+)(?:{(.*)})?$", rf'\1{{\2,pod="{pod}"}}', name).replace("{,", "{"): f"{float(value):.0f}+1x20"
        for name, _, value in samples
        for pod in REPLICAS
    }
    something = [{"labels": "{}", "value": 1}]

    play(
        series,
        promql_expr_test=[
            {"expr": f"count({written(query)}) > bool 0", "eval_time": "20m", "exp_samples": something}
            for _, query in shown()
        ],
    )
