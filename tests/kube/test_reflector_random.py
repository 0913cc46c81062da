"""Random changes of the server with random faults in between: at rest the cache is the server's state."""

import asyncio

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.fakes.apiserver import NODES, ApiServer, Fault
from tests.fakes.follower import Follower, named
from tests.fakes.session import session_for

names = st.sampled_from(["a", "b", "c", "d", "e"])


class ReflectorMachine(RuleBasedStateMachine):
    """Mutations and faults come in any order; `rest` compares."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.stack: list[object] = []

    def wait(self, coroutine: object) -> object:
        return self.loop.run_until_complete(coroutine)

    @initialize(page=st.integers(1, 4), first=st.sets(names))
    def start(self, page: int, first: set[str]) -> None:
        self.server = ApiServer(page=page)
        self.wait(self.enter(self.server))
        for name in sorted(first):
            self.server.put(NODES, named(name))
        session = session_for(self.server)
        self.wait(self.enter(session))
        self.follower = Follower(self.server, session, idle_timeout=0.1)
        self.wait(self.enter(self.follower.running()))

    async def enter(self, manager: object) -> None:
        await manager.__aenter__()
        self.stack.append(manager)

    @rule(name=names, label=st.sampled_from(["x", "y"]))
    def put(self, name: str, label: str) -> None:
        self.server.put(NODES, named(name, label=label))

    @precondition(lambda self: self.server.objects[NODES])
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        self.server.remove(NODES, data.draw(st.sampled_from(sorted(self.server.objects[NODES]))))

    @rule()
    def compact(self) -> None:
        self.server.compact()

    @rule()
    def expire_pages(self) -> None:
        self.server.expire_pages()

    @rule()
    def bookmark(self) -> None:
        self.server.bookmark()

    @rule(fault=st.sampled_from(Fault))
    def fail(self, fault: Fault) -> None:
        self.server.inject(fault)

    @rule(turns=st.integers(1, 20))
    def let_time_pass(self, turns: int) -> None:
        async def turn() -> None:
            for _ in range(turns):
                await asyncio.sleep(0)

        self.wait(turn())

    @rule()
    def rest(self) -> None:
        self.wait(self.follower.settled())

    @invariant()
    def requests_are_few(self) -> None:
        # Every failure waits at least a second of simulated time, so requests are bounded by time and pages.
        if self.stack:
            pages = self.follower.reflector.lists * 6 + self.follower.reflector.failures * 6
            assert len(self.server.requests) <= pages + len(self.follower.time.slept) + 12

    def teardown(self) -> None:
        if len(self.stack) == 3:
            self.wait(self.follower.check())
        for manager in reversed(self.stack):
            self.wait(manager.__aexit__(None, None, None))
        self.loop.close()


TestReflector = ReflectorMachine.TestCase
TestReflector.settings = settings(
    max_examples=40, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
