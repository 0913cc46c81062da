"""Tells logs and metrics of every decision, with the time it took."""

from collections.abc import Callable

from gpusched.obs.logging import Log
from gpusched.obs.metrics import Metrics
from gpusched.wire.decision import Decision, Observer

Timed = Callable[[bytes, Observer], bytes]
"""An answer that reports its decisions: body and observer to body."""


class DecisionLog:
    """Writes one event and counts one decision each. `clock` gives seconds and never goes back."""

    def __init__(self, log: Log, metrics: Metrics, clock: Callable[[], float]) -> None:
        self._log = log
        self._metrics = metrics
        self._clock = clock
        #: Told of every decision, beside log and metrics.
        self.told: list[Observer] = []

    def watched(self, answer: Timed) -> Callable[[bytes], bytes]:
        """The answer with its decisions recorded."""

        def call(body: bytes) -> bytes:
            started = self._clock()
            decisions: list[Decision] = []
            answered = answer(body, decisions.append)
            seconds = self._clock() - started
            for decision in decisions:
                self.record(decision, seconds)
            return answered

        return call

    def record(self, decision: Decision, seconds: float) -> None:
        """Record one decision that took so long."""
        self._metrics.record_decision(decision.verb, decision.code)
        for code, mode in _news(decision):
            self._metrics.record_finding(decision.namespace, code, mode)
        for tell in self.told:
            tell(decision)
        self._log.info("decision", **_fields(decision), duration_ms=round(seconds * 1000, 3))


def _news(decision: Decision) -> tuple[tuple[str, str], ...]:
    """Findings not counted before: a pod that comes to be validated was mutated first, and found what it is then."""
    again = decision.verb == "validate" and decision.kind == "Pod" and decision.code == "allowed"
    return () if again else decision.findings


def _fields(decision: Decision) -> dict[str, object]:
    """What is known of the decision, without what says nothing."""
    fields: dict[str, object] = {
        "verb": decision.verb,
        "kind": "" if decision.kind == "Pod" else decision.kind,
        "namespace": decision.namespace,
        "name": decision.name,
        "uid": decision.uid,
        "code": decision.code,
        "node": decision.node,
        "findings": [f"{code}={mode}" for code, mode in decision.findings],
    }
    told = {key: value for key, value in fields.items() if value}
    if decision.asked:
        told |= {"nodes": decision.asked, "kept": decision.kept}
    return told
