"""What one holder of the Lease leaves to the next: the Lease itself, its name, and a word."""

import asyncio

import pytest

from gpusched.kube.leader import Election
from gpusched.kube.session import Session
from tests.fakes.apiserver import LEASES, ApiServer
from tests.fakes.timing import SimulatedTime, eventually
from tests.kube.test_leader import KEY, held, hold

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(("settled", "holder"), [(True, ""), (False, "me_1")])
async def test_the_lease_is_given_back_only_if_all_is_settled(
    server: ApiServer, session: Session, *, settled: bool, holder: str
) -> None:
    election = Election(session, "gpusched-system", "gpusched", "me_1")
    election.settled = lambda: settled
    task = asyncio.create_task(election.run())
    await eventually(lambda: election.leading)
    task.cancel()
    await asyncio.wait({task})

    assert held(server) == holder


@pytest.mark.parametrize(
    ("holder", "predecessor", "seen_at"),
    [(None, "", None), ("", "", None), ("other_1", "other_1", 0.0)],
    ids=["new", "released", "expired"],
)
async def test_an_election_knows_its_predecessor(
    server: ApiServer, session: Session, holder: str | None, predecessor: str, seen_at: float | None
) -> None:
    time = SimulatedTime()
    if holder is not None:
        hold(server, holder)
    election = Election(session, "gpusched-system", "gpusched", "me_1", timing=time.timing())
    for _ in range(20):
        await election.step()
        time.now += 2.0

    former = election.former
    assert (election.leading, election.predecessor) == (True, predecessor)
    assert (None if former is None else former.seen_at) == seen_at
    assert election.renewed == 38.0


async def test_annotations_are_written_beside_those_there(server: ApiServer, session: Session) -> None:
    hold(server, "", annotations={"kept": "yes", "mine": "old"})
    election = Election(session, "gpusched-system", "gpusched", "me_1")
    election.annotations = {"mine": "11"}
    await election.step()

    assert server.objects[LEASES][KEY]["metadata"]["annotations"] == {"kept": "yes", "mine": "11"}


async def test_a_renewal_that_was_on_its_way_does_not_keep_the_lease(server: ApiServer, session: Session) -> None:
    election = Election(session, "gpusched-system", "gpusched", "me_1")
    task = asyncio.create_task(election.run())
    await eventually(lambda: election.leading)
    hold(server, "me_1", labels={"renewed": "meanwhile"})
    task.cancel()
    await asyncio.wait({task})

    assert held(server) == ""


async def test_a_lease_that_another_took_meanwhile_is_left_to_him(server: ApiServer, session: Session) -> None:
    election = Election(session, "gpusched-system", "gpusched", "me_1")
    task = asyncio.create_task(election.run())
    await eventually(lambda: election.leading)
    hold(server, "other_1")
    task.cancel()
    await asyncio.wait({task})

    assert held(server) == "other_1"
