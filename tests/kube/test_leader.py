"""The election: one leader at any time, however clocks, connections and rivals behave."""

import asyncio
from contextlib import suppress

import pytest

from gpusched.kube.leader import Election, Terms
from gpusched.kube.session import Session
from tests.fakes.apiserver import LEASES, ApiServer, WriteFault
from tests.fakes.timing import SimulatedTime, eventually

pytestmark = pytest.mark.anyio

KEY = "gpusched-system/gpusched"


class Candidate:
    """An election with its own clock and a record of what it was told."""

    def __init__(self, session: Session, identity: str, time: SimulatedTime) -> None:
        self.told: list[str] = []
        self.time = time
        self.election = Election(
            session,
            "gpusched-system",
            "gpusched",
            identity,
            on_start=lambda: self.told.append("start"),
            on_stop=lambda: self.told.append("stop"),
            timing=time.timing(),
        )


def held(server: ApiServer) -> object:
    return server.objects[LEASES][KEY]["spec"]["holderIdentity"]


def hold(server: ApiServer, identity: str, *, duration: int = 10, **metadata: object) -> None:
    server.put(
        LEASES,
        {
            "metadata": {"name": "gpusched", "namespace": "gpusched-system"} | metadata,
            "spec": {"holderIdentity": identity, "leaseDurationSeconds": duration, "leaseTransitions": 4},
        },
    )


async def test_first_candidate_creates_the_lease(server: ApiServer, session: Session) -> None:
    candidate = Candidate(session, "one", SimulatedTime())

    await candidate.election.step()

    assert candidate.election.leading
    assert candidate.told == ["start"]
    assert server.objects[LEASES][KEY]["spec"] == {
        "holderIdentity": "one",
        "leaseDurationSeconds": 10,
        "acquireTime": "2030-01-01T00:00:00.000000Z",
        "renewTime": "2030-01-01T00:00:00.000000Z",
        "leaseTransitions": 0,
    }


async def test_renewal_moves_renew_time_alone(server: ApiServer, session: Session) -> None:
    time = SimulatedTime()
    candidate = Candidate(session, "one", time)
    await candidate.election.step()
    time.now = 2.0
    await candidate.election.step()

    spec = server.objects[LEASES][KEY]["spec"]
    assert (spec["acquireTime"], spec["renewTime"]) == ("2030-01-01T00:00:00.000000Z", "2030-01-01T00:00:02.000000Z")
    assert candidate.told == ["start"]


async def test_lease_of_another_is_taken_only_when_it_was_unchanged_for_its_duration(
    server: ApiServer, session: Session
) -> None:
    hold(server, "other", duration=20, labels={"helm": "yes"})
    time = SimulatedTime()
    candidate = Candidate(session, "one", time)
    leading = []
    for now in (0.0, 19.9, 20.0):
        time.now = now
        await candidate.election.step()
        leading.append(candidate.election.leading)

    lease = server.objects[LEASES][KEY]
    assert leading == [False, False, True]
    assert (candidate.election.holder, candidate.election.predecessor) == ("one", "other")
    assert lease["spec"]["leaseTransitions"] == 5
    assert lease["metadata"]["labels"] == {"helm": "yes"}


async def test_lease_that_is_renewed_is_never_taken(server: ApiServer, session: Session) -> None:
    hold(server, "other")
    time = SimulatedTime()
    candidate = Candidate(session, "one", time)
    for now in range(0, 100, 9):
        time.now = float(now)
        hold(server, "other")
        await candidate.election.step()

    assert candidate.told == []
    assert candidate.election.holder == "other"
    assert candidate.election.problem == ""


async def test_lease_that_was_released_is_taken_at_once(server: ApiServer, session: Session) -> None:
    hold(server, "")
    candidate = Candidate(session, "one", SimulatedTime())

    await candidate.election.step()

    assert candidate.election.leading
    assert candidate.election.predecessor == ""


async def test_of_two_candidates_one_leads(server: ApiServer, session: Session) -> None:
    hold(server, "")
    candidates = [Candidate(session, name, SimulatedTime()) for name in ("one", "two", "three")]

    await asyncio.gather(*(candidate.election.step() for candidate in candidates))

    assert [candidate.election.leading for candidate in candidates].count(True) == 1


async def test_leading_ends_with_the_clock_before_anybody_is_told(server: ApiServer, session: Session) -> None:
    time = SimulatedTime()
    candidate = Candidate(session, "one", time)
    await candidate.election.step()
    time.now = 4.9
    before = candidate.election.leading
    time.now = 5.0

    assert before
    assert not candidate.election.leading
    assert candidate.told == ["start"]


async def test_stalled_leader_is_told_of_the_term_it_lost(server: ApiServer, session: Session) -> None:
    time = SimulatedTime()
    candidate = Candidate(session, "one", time)
    await candidate.election.step()
    time.now = 60.0
    hold(server, "")
    await candidate.election.step()

    assert candidate.told == ["start", "stop", "start"]


async def test_deadline_counts_from_before_the_request(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    time = SimulatedTime()
    candidate = Candidate(session, "one", time)
    whole = session.request

    async def slow(*arguments: object, **options: object) -> object:
        response = await whole(*arguments, **options)
        time.now += 1.5
        return response

    monkeypatch.setattr(session, "request", slow)
    await candidate.election.step()
    leading = candidate.election.leading
    time.now = 5.0

    assert leading
    assert not candidate.election.leading


@pytest.mark.parametrize("fault", WriteFault)
async def test_one_failed_renewal_is_survived(server: ApiServer, session: Session, fault: WriteFault) -> None:
    time = SimulatedTime()
    candidate = Candidate(session, "one", time)
    await candidate.election.step()
    server.write_faults.append(fault)
    for now in (1.0, 2.0, 6.0):
        time.now = now
        await candidate.election.step()

    assert candidate.election.leading
    assert candidate.told == ["start"]
    assert candidate.election.problem == ""


async def test_leader_that_cannot_renew_stops_before_another_starts(server: ApiServer, session: Session) -> None:
    time = SimulatedTime()
    one, two = Candidate(session, "one", time), Candidate(session, "two", time)
    await one.election.step()
    await two.election.step()
    reachable = session._configuration.host
    started = stopped = None
    for tenth in range(1, 200):
        time.now = tenth / 10
        session._configuration.host = "http://127.0.0.1:1"
        await one.election.step()
        session._configuration.host = reachable
        await two.election.step()
        assert not (one.election.leading and two.election.leading)
        stopped = stopped or (time.now if one.told == ["start", "stop"] else None)
        started = started or (time.now if two.told == ["start"] else None)

    assert (stopped, started) == (5.0, 10.0)
    assert "Cannot connect" in one.election.problem


async def test_leader_whose_lease_was_taken_stops_at_once(server: ApiServer, session: Session) -> None:
    time = SimulatedTime()
    candidate = Candidate(session, "one", time)
    await candidate.election.step()
    hold(server, "other")
    time.now = 2.0
    await candidate.election.step()

    assert candidate.told == ["start", "stop"]


async def test_cancelled_leader_gives_the_lease_back(server: ApiServer, session: Session) -> None:
    candidate = Candidate(session, "one", SimulatedTime(until=1.0))
    task = asyncio.create_task(candidate.election.run())
    await eventually(lambda: candidate.election.leading)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task

    assert held(server) == ""
    assert not candidate.election.leading
    assert candidate.told == ["start", "stop"]


async def test_cancelled_follower_writes_nothing(server: ApiServer, session: Session) -> None:
    hold(server, "other")
    candidate = Candidate(session, "one", SimulatedTime(until=1.0))
    task = asyncio.create_task(candidate.election.run())
    await eventually(lambda: bool(candidate.time.slept))
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task

    assert held(server) == "other"
    assert {method for method, _, _ in server.requests} == {"GET"}
    assert candidate.told == []


async def test_forbidden_lease_is_a_problem(server: ApiServer, session: Session) -> None:
    server.forbidden.add(LEASES)
    candidate = Candidate(session, "one", SimulatedTime())

    await candidate.election.step()

    assert not candidate.election.leading
    assert candidate.election.problem == 'leases is forbidden: User "x" cannot list resource'


@pytest.mark.parametrize("terms", [Terms(lease=10, renew=10.0), Terms(renew=2.4, retry=2.0), Terms.lasting(0)])
def test_terms_that_could_give_two_leaders_are_a_bug(terms: Terms) -> None:
    with pytest.raises(ValueError, match="must outlast"):
        Election(Session.__new__(Session), "ns", "name", "one", terms=terms)
