"""How long a new leader waits for bindings of one that vanished."""

import pytest

from gpusched.kube.leader import Election, Former, Lease, LeaseSpec, Terms
from gpusched.kube.session import Session
from gpusched.serve.predecessor import SETTLED_ANNOTATION, Predecessor, settled_after
from tests.fakes.timing import SimulatedTime

pytestmark = pytest.mark.anyio


def predecessor(
    time: SimulatedTime, annotations: dict[str, str] | None = None, renews_every: float = 1.0
) -> Predecessor:
    """Of an election whose Lease was last another's, seen at 100 s, and is renewed by this process at each round."""
    election = Election(Session.__new__(Session), "ns", "name", "me_1", timing=time.timing())
    lease = Lease(
        metadata={"annotations": annotations} if annotations else {},
        spec=LeaseSpec(holder_identity="gone_1", lease_duration_seconds=10),
    )
    election.former = Former(lease, 100.0)

    async def sleep(seconds: float) -> None:
        await time.sleep(seconds)
        election._renewed = time.now // renews_every * renews_every

    return Predecessor(election, lambda: time.now, sleep)


@pytest.mark.parametrize(
    ("annotations", "end"),
    [
        ({SETTLED_ANNOTATION: "11"}, 111.0),
        ({SETTLED_ANNOTATION: "7.5"}, 108.0),
        ({SETTLED_ANNOTATION: "soon"}, 170.0),
        ({SETTLED_ANNOTATION: "nan"}, 170.0),
        ({SETTLED_ANNOTATION: "inf"}, 170.0),
        ({SETTLED_ANNOTATION: "-1"}, 170.0),
        ({"other": "1"}, 170.0),
        (None, 170.0),
    ],
    ids=[
        "told",
        "told between renewals",
        "unreadable",
        "no number",
        "endless",
        "past",
        "without a word",
        "without annotations",
    ],
)
async def test_it_counts_from_when_the_last_renewal_was_seen(annotations: dict[str, str] | None, end: float) -> None:
    time = SimulatedTime()
    time.now = 110.0 if end > 110 else 101.0
    former = predecessor(time, annotations)
    assert not former.settled

    await former.wait()

    assert former.settled
    assert time.now == pytest.approx(end, abs=0.06)


async def test_the_lease_must_have_been_renewed_after_the_end() -> None:
    """What etcd was handed before a later write is there once that write is."""
    time = SimulatedTime()
    time.now = 101.0
    await predecessor(time, {SETTLED_ANNOTATION: "11"}, renews_every=5.0).wait()

    assert time.now == pytest.approx(115.0, abs=0.06)


async def test_a_lease_that_was_free_needs_no_wait() -> None:
    time = SimulatedTime()
    former = predecessor(time)
    former._election.former = None
    assert former.settled

    await former.wait()

    assert (former.settled, time.slept) == (True, [])


def test_the_sum() -> None:
    """A promise in the last moment of leading, sent in the last moment allowed, worked on to the last."""
    assert settled_after(Terms(), 2.5) == 5.0 + 2.5 + 2.5 + 1.0
