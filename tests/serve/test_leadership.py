"""From when on, and until when, a replica answers the extender."""

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from gpusched.kube.leader import Lease, LeaseSpec
from gpusched.obs.logging import configure
from gpusched.obs.metrics import Metrics
from gpusched.serve.leadership import Leadership, RememberingElection
from tests.fakes.apiserver import LEASES, ApiServer
from tests.fakes.session import session_for
from tests.fakes.timing import SimulatedTime, eventually

pytestmark = pytest.mark.anyio


class Term:
    """A leadership whose preparations and duties leave a trace."""

    def __init__(self, wait: float = 0.0) -> None:
        self.holds = True
        self.trace: list[str] = []
        self.relisted = asyncio.Event()
        self.metrics = Metrics()
        self.leadership = Leadership(
            lambda: self.holds, self._relist, (self._duty,), self.metrics, configure(stream=io.StringIO()), wait
        )

    async def _relist(self) -> None:
        self.trace.append("relist")
        await self.relisted.wait()

    async def _duty(self) -> None:
        self.trace.append("duty")
        try:
            await asyncio.Event().wait()
        finally:
            self.trace.append("over")

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Leadership]:
        task = asyncio.create_task(self.leadership.run())
        yield self.leadership
        assert not task.done()
        task.cancel()


async def test_a_term_begins_with_a_new_list_and_ends_with_the_lease() -> None:
    term = Term()
    async with term.running() as leadership:
        term.holds = False
        assert leadership.closed() == "this replica does not lead"

        term.holds = True
        leadership.start()
        await eventually(lambda: term.trace == ["relist"])
        assert "has just become the leader" in (leadership.closed() or "")

        term.relisted.set()
        await eventually(lambda: leadership.ready)
        assert (leadership.closed(), term.trace) == (None, ["relist", "duty"])
        assert term.metrics.registry.get_sample_value("gpusched_leader") == 1

        term.holds = False
        assert not leadership.ready
        leadership.stop()
        await eventually(lambda: term.trace == ["relist", "duty", "over"])
        assert term.metrics.registry.get_sample_value("gpusched_leader") == 0

        term.holds = True
        leadership.start()
        await eventually(lambda: leadership.ready)


async def test_bindings_of_a_vanished_leader_are_waited_for() -> None:
    term = Term(wait=0.2)
    term.relisted.set()
    async with term.running() as leadership:
        leadership.start("gone_1234")
        await asyncio.sleep(0.05)
        assert (leadership.ready, term.trace) == (False, [])
        await eventually(lambda: leadership.ready)


async def test_a_term_that_ends_during_its_preparations() -> None:
    term = Term()
    async with term.running() as leadership:
        leadership.start()
        await eventually(lambda: term.trace == ["relist"])
        leadership.stop()
        await asyncio.sleep(0.01)
        assert term.trace == ["relist"]
        leadership.start()
        await eventually(lambda: term.trace == ["relist", "relist"])


async def test_the_label_follows_leadership_and_is_written_again_after_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gpusched.serve.leadership._RETRY", 0.0)
    term, written, problems = Term(), [], ["timed out"]

    async def label(leading: bool) -> str | None:
        if problems:
            return problems.pop()
        written.append(leading)
        return None

    task = asyncio.create_task(term.leadership.keep_label(label))
    await eventually(lambda: written == [False])
    term.leadership.start()
    await eventually(lambda: written == [False, True])
    term.leadership.stop()
    await eventually(lambda: written == [False, True, False])
    task.cancel()


@pytest.mark.parametrize(("settled", "holder"), [(True, ""), (False, "me_1")])
async def test_the_lease_is_given_back_only_if_all_is_settled(*, settled: bool, holder: str) -> None:
    async with ApiServer() as server, session_for(server) as session:
        election = RememberingElection(session, "gpusched-system", "gpusched", "me_1")
        election.settled = lambda: settled
        task = asyncio.create_task(election.run())
        await eventually(lambda: election.leading)
        task.cancel()
        await asyncio.wait({task})

        assert server.objects[LEASES]["gpusched-system/gpusched"]["spec"]["holderIdentity"] == holder


@pytest.mark.parametrize(
    ("holder", "predecessor"), [(None, ""), ("", ""), ("other_1", "other_1")], ids=["new", "released", "expired"]
)
async def test_an_election_knows_its_predecessor(holder: str | None, predecessor: str) -> None:
    time = SimulatedTime()
    async with ApiServer() as server, session_for(server) as session:
        if holder is not None:
            lease = Lease(
                metadata={"name": "gpusched", "namespace": "gpusched-system"},
                spec=LeaseSpec(holder_identity=holder, lease_duration_seconds=15),
            )
            server.put(LEASES, msgspec.to_builtins(lease))
        election = RememberingElection(session, "gpusched-system", "gpusched", "me_1", timing=time.timing())
        for _ in range(20):
            await election.step()
            time.now += 2.0

        assert (election.leading, election.predecessor) == (True, predecessor)
