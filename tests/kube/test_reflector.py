"""The reflector against a server that misbehaves: the cache equals the server, and requests stay few."""

import pytest

from gpusched.core.read_cluster import read_cluster_policy
from gpusched.core.resources import GpuResources
from gpusched.kube.errors import StatusError, Unreachable
from gpusched.kube.objects import gpu_pod_reader
from gpusched.kube.session import Session
from gpusched.kube.source import Source
from gpusched.state.events import Gone, Kind
from tests.build import pod
from tests.fakes.apiserver import NODES, PODS, ApiServer, Fault
from tests.fakes.follower import Follower, named
from tests.fakes.session import session_for
from tests.fakes.timing import SimulatedTime, eventually

pytestmark = pytest.mark.anyio

POLICIES = "/apis/nvidia.com/v1/clusterpolicies"
POD_SOURCE = Source(Kind.POD, (PODS,), gpu_pod_reader(GpuResources))
POLICY_SOURCE = Source(Kind.CLUSTER_POLICY, (POLICIES,), read_cluster_policy, optional=True)


async def fail(follower: Follower, fault: Fault) -> None:
    """Let an open watch fail while one object changes, one comes and one goes behind its back."""
    server = follower.server
    await follower.watching()
    server.inject(fault)
    server.put(NODES, named("a", changed="yes"))
    server.put(NODES, named("c"))
    server.remove(NODES, "b")


@pytest.mark.parametrize("fault", Fault, ids=lambda fault: fault.name.lower())
async def test_cache_equals_server_after_a_fault(server: ApiServer, session: Session, fault: Fault) -> None:
    server.put(NODES, named("a"))
    server.put(NODES, named("b"))
    follower = Follower(server, session, idle_timeout=0.2 if fault is Fault.HANG else 5.0)
    async with follower.running():
        await fail(follower, fault)
        await follower.check()

    assert len(server.requests) <= 8


@pytest.mark.parametrize("fault", [Fault.EVENT_410, Fault.STATUS_410, Fault.HANG, Fault.RESET])
async def test_deletion_in_a_gap_whose_history_is_lost_is_seen(
    server: ApiServer, session: Session, fault: Fault
) -> None:
    server.put(NODES, named("a"))
    server.put(NODES, named("b"))
    follower = Follower(server, session, idle_timeout=0.2)
    async with follower.running():
        await fail(follower, fault)
        server.compact()
        await follower.check()

    assert Gone(Kind.NODE, "b") in follower.events
    assert follower.reflector.lists == 2


@pytest.mark.parametrize("fault", [Fault.EVENT_410, Fault.STATUS_410])
async def test_version_too_old_leads_to_a_list_at_once(server: ApiServer, session: Session, fault: Fault) -> None:
    follower = Follower(server, session)
    async with follower.running():
        await fail_at_rest(follower, fault)
        await follower.check()

    # The close that leads to the HTTP status counts as a failure too; three would lead to a list anyway.
    assert follower.reflector.failures <= 2
    assert follower.reflector.lists == 2


async def test_version_too_old_after_an_outage_does_not_wait_as_long_as_the_outage(
    server: ApiServer, session: Session
) -> None:
    follower = Follower(server, session)
    async with follower.running():
        await follower.watching()
        server.put(NODES, named("a"))
        await follower.settled()
        session._configuration.host = "http://127.0.0.1:1"
        server.inject(Fault.CLOSE)
        await eventually(lambda: follower.reflector.failures >= 8)
        server.put(NODES, named("b"))
        server.compact()
        session._configuration.host = server.url
        await eventually(lambda: follower.reflector.lists == 2)

    assert follower.time.slept[-1] <= 1.0 < follower.time.slept[-2]


async def fail_at_rest(follower: Follower, fault: Fault) -> None:
    await follower.watching()
    follower.server.inject(fault)


async def test_clean_close_resumes_where_it_was(server: ApiServer, session: Session) -> None:
    server.put(NODES, named("a"))
    follower = Follower(server, session)
    async with follower.running():
        await follower.settled()
        await follower.watching()
        server.put(NODES, named("b"))
        await follower.settled()
        server.inject(Fault.CLOSE)
        await follower.check()

    watches = [query["resourceVersion"] for _, _, query in server.requests if "watch" in query]
    assert watches == ["2", "3"]
    assert follower.reflector.lists == 1


async def test_bookmark_advances_the_version(server: ApiServer, session: Session) -> None:
    follower = Follower(server, session)
    async with follower.running():
        await follower.watching()
        server.put(PODS, pod())
        server.bookmark()
        await eventually(lambda: follower.reflector.version == str(server.version))
        server.compact()
        server.inject(Fault.CLOSE)
        await follower.check()

    assert follower.reflector.lists == 1


async def test_bookmark_is_a_sign_of_life(server: ApiServer, session: Session) -> None:
    follower = Follower(server, session)
    async with follower.running():
        await follower.watching()
        follower.time.now = 60.0
        before = follower.reflector.age(61.0)
        server.bookmark()
        await eventually(lambda: follower.reflector.age(61.0) == 1.0)

    assert before == 61.0


async def test_silence_of_a_kind_that_never_changes_is_no_problem(
    server: ApiServer, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    time = SimulatedTime(until=3600.0)
    ages = []

    async def stream(*_: object) -> object:
        yield b""
        await time.sleep(90.0)
        ages.append(follower.reflector.age(time.now))
        raise Unreachable("GET", NODES, "timed out", sent=True)

    monkeypatch.setattr(session, "stream", stream)
    follower = Follower(server, session, time=time)
    async with follower.running():
        await eventually(lambda: time.now >= 3600.0)

    assert set(ages) == {90.0}
    assert (follower.reflector.failures, follower.reflector.lists) == (0, 1)
    assert follower.reflector.problem == ""


async def test_permanent_500_makes_few_requests(server: ApiServer, session: Session) -> None:
    server.broken = True
    follower = Follower(server, session, time=SimulatedTime(until=600.0))
    async with follower.running():
        await eventually(lambda: follower.time.now >= 600.0)

    assert 20 <= len(server.requests) <= 60
    assert follower.reflector.problem.startswith("Node: 500 Internal error occurred")
    assert not follower.reflector.synced.is_set()


async def test_server_that_breaks_later_makes_few_requests_and_is_taken_up_again(
    server: ApiServer, session: Session
) -> None:
    server.put(NODES, named("a"))
    follower = Follower(server, session)
    async with follower.running():
        await follower.watching()
        server.broken = True
        server.inject(Fault.CLOSE)
        await eventually(lambda: follower.time.now >= 600.0)
        made = len(server.requests)
        age = follower.reflector.age(follower.time.now)
        server.broken = False
        server.put(NODES, named("b"))
        await follower.check()

    assert made <= 600
    assert age >= 590.0
    assert not follower.reflector.problem


@pytest.mark.parametrize("ending", ["nothing", "bookmark", "410"])
async def test_watch_that_always_ends_at_once_makes_few_requests(
    server: ApiServer, session: Session, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    time = SimulatedTime(until=600.0)

    async def stream(*_: object) -> object:
        server.requests.append(("GET", NODES, {"watch": "true"}))
        yield b""
        if ending == "bookmark":
            yield b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}'
        if ending == "410":
            raise StatusError(410, "too old")

    monkeypatch.setattr(session, "stream", stream)
    follower = Follower(server, session, time=time)
    async with follower.running():
        await eventually(lambda: time.now >= 600.0)

    assert len(server.requests) <= (610 if ending == "bookmark" else 120)


async def test_no_server_makes_few_attempts(server: ApiServer) -> None:
    time = SimulatedTime(until=600.0)
    async with session_for(server) as session:
        session._configuration.host = "http://127.0.0.1:1"
        follower = Follower(server, session, time=time)
        async with follower.running():
            await eventually(lambda: time.now >= 600.0)

    assert 20 <= follower.reflector.failures <= 60
    assert "Cannot connect" in follower.reflector.problem


async def test_retry_after_is_respected(server: ApiServer, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    async def stream(*_: object) -> object:
        raise StatusError(429, "too many requests", 45.0)
        yield

    monkeypatch.setattr(session, "stream", stream)
    time = SimulatedTime(until=40.0)
    async with Follower(server, session, time=time).running():
        await eventually(lambda: bool(time.slept))

    assert time.slept == [45.0]
