"""What a reflector does with lists, missing kinds, rights and unreadable lines."""

from collections.abc import Callable

import pytest

from gpusched.core.read_cluster import read_cluster_policy, read_node
from gpusched.core.resources import GpuResources
from gpusched.kube.objects import gpu_pod_reader
from gpusched.kube.session import Session
from gpusched.kube.source import Source
from gpusched.state.events import Gone, Kind, Upsert
from tests.build import pod
from tests.fakes.apiserver import NODES, PODS, ApiServer, Fault
from tests.fakes.follower import Follower, named
from tests.fakes.timing import SimulatedTime, eventually

pytestmark = pytest.mark.anyio

POLICIES = "/apis/nvidia.com/v1/clusterpolicies"
POD_SOURCE = Source(Kind.POD, (PODS,), gpu_pod_reader(GpuResources))
POLICY_SOURCE = Source(Kind.CLUSTER_POLICY, (POLICIES,), read_cluster_policy, optional=True)


async def test_all_pages_are_read(session: Session, server: ApiServer) -> None:
    server._page = 2
    for index in range(7):
        server.put(NODES, named(f"n{index}"))
    follower = Follower(server, session)
    async with follower.running():
        await follower.check()

    assert server.count(watch=False) == 4
    assert follower.reflector.lists == 1


async def test_pages_that_expire_restart_the_list(server: ApiServer, session: Session) -> None:
    server._page = 2
    for index in range(5):
        server.put(NODES, named(f"n{index}"))
    follower = Follower(server, session)
    expire_after_first_page(server)
    async with follower.running():
        await follower.check()

    assert [query.get("continue") is None for _, _, query in server.requests if "watch" not in query] == [
        True,
        False,
        True,
        False,
    ]
    assert "n0" not in follower.cache
    assert Gone(Kind.NODE, "n0") in follower.events


def expire_after_first_page(server: ApiServer) -> None:
    """After the first page an object that was on it is deleted, and the token no longer works."""
    whole = server._list

    def first(*arguments: object) -> object:
        page = whole(*arguments)
        server._list = whole
        server.remove(NODES, "n0")
        server.expire_pages()
        return page

    server._list = first


async def test_forbidden_is_a_problem_until_it_is_granted(server: ApiServer, session: Session) -> None:
    server.forbidden.add(NODES)
    follower = Follower(server, session)
    async with follower.running():
        await eventually(lambda: follower.reflector.failures >= 2)
        problem = follower.reflector.problem
        synced = follower.reflector.synced.is_set()
        server.forbidden.clear()
        await follower.check()

    assert problem == 'Node: 403 nodes is forbidden: User "x" cannot list resource'
    assert not synced
    assert follower.reflector.problem == ""


async def test_required_kind_that_is_not_served_is_a_problem(server: ApiServer, session: Session) -> None:
    follower = Follower(server, session, Source(Kind.NODE, ("/apis/x/v1/nodes",), read_node))
    async with follower.running():
        await eventually(lambda: follower.reflector.failures >= 2)

    assert follower.reflector.problem == "Node: 404 the server could not find the requested resource"
    assert not follower.reflector.synced.is_set()


async def test_optional_kind_that_is_not_served_is_synced_and_looked_for_again(
    server: ApiServer, session: Session
) -> None:
    follower = Follower(server, session, POLICY_SOURCE, time=SimulatedTime(until=200.0))
    async with follower.running():
        await follower.reflector.synced.wait()
        await eventually(lambda: bool(follower.time.slept))

    assert follower.reflector.absent
    assert follower.reflector.age(1e6) == 0.0
    assert follower.reflector.problem == ""
    assert len(server.requests) == 1
    assert 240.0 <= follower.time.slept[0] <= 360.0


async def test_optional_kind_that_comes_and_goes(server: ApiServer, session: Session) -> None:
    follower = Follower(server, session, POLICY_SOURCE)
    async with follower.running():
        await follower.reflector.synced.wait()
        server.objects[POLICIES] = {}
        server.put(POLICIES, {"metadata": {"name": "cluster-policy"}})
        await eventually(lambda: "" in follower.cache)
        await follower.watching()
        assert not follower.reflector.absent
        del server.objects[POLICIES]
        server.inject(Fault.CLOSE)
        await eventually(lambda: follower.reflector.absent)

    assert follower.cache == {}


async def test_older_version_is_used_where_the_newer_is_not_served(server: ApiServer, session: Session) -> None:
    source = Source(Kind.NODE, ("/apis/x/v2/nodes", "/apis/x/v1/nodes", NODES), read_node, optional=True)
    server.put(NODES, named("a"))
    follower = Follower(server, session, source)
    async with follower.running():
        await follower.check()


async def test_recreated_pod_is_another_one(server: ApiServer, session: Session) -> None:
    first = server.put(PODS, pod("p"))["metadata"]["uid"]
    follower = Follower(server, session, POD_SOURCE)
    async with follower.running():
        await follower.settled()
        await follower.watching()
        server.inject(Fault.EVENT_410)
        server.remove(PODS, "team-a/p")
        second = server.put(PODS, pod("p"))["metadata"]["uid"]
        await follower.settled()

    assert list(follower.cache) == [second]
    assert follower.events[1] == Gone(Kind.POD, first)


async def test_object_that_the_reader_no_longer_keeps_is_gone(server: ApiServer, session: Session) -> None:
    uid = server.put(PODS, pod("p"))["metadata"]["uid"]
    server.put(PODS, pod("other", gpus=None))
    follower = Follower(server, session, POD_SOURCE)
    async with follower.running():
        await follower.settled()
        await follower.watching()
        server.put(PODS, pod("p", gpus=None))
        await eventually(lambda: follower.cache == {})

    assert [type(event) for event in follower.events] == [Upsert, Gone]
    assert follower.events[1] == Gone(Kind.POD, uid)


async def test_second_run_lists_anew(server: ApiServer, session: Session) -> None:
    server.put(NODES, named("a"))
    follower = Follower(server, session)
    async with follower.running():
        await follower.settled()
    server.remove(NODES, "a")
    server.put(NODES, named("b"))
    async with follower.running():
        await follower.check()

    assert follower.reflector.lists == 2


async def test_line_that_is_no_json_is_not_fatal(server: ApiServer, session: Session) -> None:
    server.put(NODES, named("a"))
    follower = Follower(server, session)
    whole, spoilt = session.stream, []

    async def stream(*arguments: object) -> object:
        async for line in whole(*arguments):
            if line and not spoilt:
                spoilt.append(line)
                yield line[:-2]
            yield line

    session.stream = stream
    async with follower.running():
        await follower.watching()
        server.put(NODES, named("b"))
        await follower.check()

    assert follower.reflector.failures == 1


async def test_watch_asks_for_bookmarks_and_a_limited_time(server: ApiServer, session: Session) -> None:
    follower = Follower(server, session)
    async with follower.running():
        await follower.watching()

    query = next(query for _, _, query in server.requests if "watch" in query)
    assert query.pop("timeoutSeconds") in {str(seconds) for seconds in range(300, 601)}
    assert query == {"watch": "true", "allowWatchBookmarks": "true", "resourceVersion": "1"}


@pytest.mark.parametrize("change", [lambda server: server.remove(NODES, "a"), lambda server: server.compact()])
async def test_watch_of_a_version_beyond_history_lists_anew(
    server: ApiServer, session: Session, change: Callable[[ApiServer], None]
) -> None:
    server.put(NODES, named("a"))
    follower = Follower(server, session)
    async with follower.running():
        await follower.settled()
        await follower.watching()
        change(server)
        server.inject(Fault.CLOSE)
        await follower.check()
