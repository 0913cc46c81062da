"""Every decision is logged and counted once, with names and codes alone."""

import io
from typing import Any

import msgspec
import pytest

from gpusched.obs.decisions import DecisionLog
from gpusched.obs.logging import configure
from gpusched.obs.metrics import Metrics
from gpusched.wire.decision import Decision, Observer


class Watched:
    def __init__(self) -> None:
        self.metrics = Metrics()
        self.stream = io.StringIO()
        times = iter([1.0, 1.0025])
        self.log = DecisionLog(configure(stream=self.stream), self.metrics, lambda: next(times))

    @property
    def line(self) -> dict[str, Any]:
        (text,) = self.stream.getvalue().splitlines()
        line = msgspec.json.decode(text)
        del line["timestamp"]
        return dict(line)

    def value(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(name, labels)


def test_whoever_asked_to_be_told_is_told_the_sentence_and_the_log_is_not() -> None:
    watched = Watched()
    told: list[Decision] = []
    watched.log.told.append(told.append)
    refused = Decision("mutate", "team-a", "p", code="gpu-claim", message="claim 9Gi is more than a slot can give.")

    watched.log.record(refused, 0.001)

    assert told == [refused]
    assert "claim 9Gi" not in str(watched.line)


def test_a_watched_answer_is_timed() -> None:
    def answer(body: bytes, observe: Observer) -> bytes:
        observe(Decision("filter", "team-a", "p", "u", code="family", asked=3))
        return body[::-1]

    watched = Watched()

    assert watched.log.watched(answer)(b"abc") == b"cba"
    assert watched.line == {
        "event": "decision",
        "level": "info",
        "verb": "filter",
        "namespace": "team-a",
        "name": "p",
        "uid": "u",
        "code": "family",
        "nodes": 3,
        "kept": 0,
        "duration_ms": 2.5,
    }
    assert watched.value("gpusched_decisions_total", verb="filter", code="family") == 1


def test_an_admission_counts_its_findings_by_mode() -> None:
    watched = Watched()
    findings = (("gpu-policy-family", "enforce"), ("gpu-unspecific", "warn"))

    watched.log.record(
        Decision("mutate", "team-a", "p", code="gpu-policy-family", kind="Deployment", findings=findings), 0.001
    )

    assert watched.line == {
        "event": "decision",
        "level": "info",
        "verb": "mutate",
        "kind": "Deployment",
        "namespace": "team-a",
        "name": "p",
        "code": "gpu-policy-family",
        "duration_ms": 1.0,
        "findings": ["gpu-policy-family=enforce", "gpu-unspecific=warn"],
    }
    for code, mode in findings:
        assert watched.value("gpusched_admission_refusals_total", namespace="team-a", code=code, mode=mode) == 1


def test_an_answer_that_fails_is_no_decision() -> None:
    def broken(_body: bytes, _observe: Observer) -> bytes:
        raise ZeroDivisionError

    watched = Watched()
    with pytest.raises(ZeroDivisionError):
        watched.log.watched(broken)(b"")

    assert watched.stream.getvalue() == ""
