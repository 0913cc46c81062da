"""Said once for each change, and again before the API server forgets it."""

import pytest

from gpusched.kube.events import Reference
from gpusched.serve.telling.told import EventReason, Saying, Told

POD = Reference("Pod", "p", "team-a", "uid-p")


class Heard:
    """A recorder that writes nothing down but what it was handed."""

    def __init__(self) -> None:
        self.now = 0.0
        self.events: list[tuple[str, str, str, str]] = []
        self.full = False
        self.told = Told(self.record, lambda: self.full, lambda: self.now)

    def record(self, about: Reference, reason: str, message: str, severity: str) -> None:
        self.events.append((about.name, reason, message, severity))

    def say(self, message: str, reason: EventReason = EventReason.UNSCHEDULABLE, about: Reference = POD) -> int:
        before = len(self.events)
        self.told.tell(Saying(about, reason, message))
        return len(self.events) - before


@pytest.fixture
def heard() -> Heard:
    return Heard()


def test_the_same_is_said_once(heard: Heard) -> None:
    assert [heard.say("no room") for _ in range(3)] == [1, 0, 0]
    assert heard.events == [("p", "GPUUnschedulable", "no room", "Warning")]


def test_waiting_in_a_line_is_no_warning(heard: Heard) -> None:
    heard.say("place 1", EventReason.QUOTA_WAIT)
    assert heard.events == [("p", "GPUQuotaWait", "place 1", "Normal")]


def test_reasons_and_objects_are_told_apart(heard: Heard) -> None:
    other = Reference("Pod", "p", "team-a", "uid-of-its-successor")
    assert [heard.say("x"), heard.say("x", EventReason.POLICY_STALE), heard.say("x", about=other)] == [1, 1, 1]


def test_a_text_that_changes_is_told_at_intervals(heard: Heard) -> None:
    heard.say("place 3")
    heard.now = 10.0
    assert heard.say("place 2") == 0
    heard.now = 30.0
    assert heard.say("place 1") == 1
    assert [message for _, _, message, _ in heard.events] == ["place 3", "place 1"]


def test_what_lasts_is_said_again_within_the_hour(heard: Heard) -> None:
    for minute in range(91):
        heard.now = 60.0 * minute
        heard.say("no room")
        heard.told.forget_past()
    assert len(heard.events) == 3


def test_what_went_away_and_comes_back_is_news(heard: Heard) -> None:
    heard.say("no room")
    heard.now = 601.0
    heard.told.forget_past()
    assert heard.say("no room") == 1


def test_a_short_absence_is_none(heard: Heard) -> None:
    heard.say("no room")
    heard.now = 300.0
    heard.told.forget_past()
    assert heard.say("no room") == 0


def test_what_there_is_no_room_for_is_said_the_next_time(heard: Heard) -> None:
    heard.full = True
    assert heard.say("no room") == 0
    heard.full = False
    assert heard.say("no room") == 1


def test_a_new_leader_says_everything(heard: Heard) -> None:
    heard.say("no room")
    heard.told.forget()
    assert heard.say("no room") == 1
