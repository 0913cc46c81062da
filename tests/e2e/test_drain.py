"""A rolling restart under load: no request of the API server fails, and every pod gets its node."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from gpusched.local.control_plane import ControlPlane
from gpusched.local.errors import LocalError
from gpusched.local.replicas import Replicas
from tests.build import pod, t4_node
from tests.e2e.scheduling import bound_in, say
from tests.e2e.seen import nodes_seen, policy
from tests.e2e.takeover import await_leader, await_two, unexplained

#: Short, as the stand-in for the Services looks ten times a second.
DRAIN = ("--drain-seconds", "2")
NODES = [f"dr-{index:02}" for index in range(8)]
WORKERS = 4
#: Pods that are created for good while replicas come and go; as many as there are slots.
PODS = 64
PACE_SECONDS = 0.15


@pytest.fixture(scope="module")
def plane(binaries) -> Iterator[ControlPlane]:
    with ControlPlane(binaries) as started:
        started.create_nodes(t4_node(name, gpus=8) for name in NODES)
        yield started


@pytest.fixture
def cluster(plane) -> ControlPlane:
    """Namespaces of this module are those of its own control plane."""
    return plane


class Load:
    """Threads that do one thing over and over; what went wrong is in `failures`."""

    def __init__(self) -> None:
        self.done = 0
        self.failures: list[str] = []
        self._over = threading.Event()
        self._lock = threading.Lock()

    @contextmanager
    def running(self, work: Callable[[int], str | None], workers: int, pace: float = 0.0) -> Iterator[None]:
        def repeat(number: int) -> None:
            while not self._over.wait(pace):
                try:
                    problem = work(number)
                except (OSError, LocalError) as error:
                    problem = repr(error)
                with self._lock:
                    self.done += 1
                    self.failures += [problem] if problem else []

        threads = [threading.Thread(target=repeat, args=(number,)) for number in range(workers)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            for thread in threads:
                thread.join()


def test_a_rolling_restart_under_load(plane, namespace):
    with Replicas(plane, arguments=DRAIN) as replicas:
        nodes_seen(plane, *NODES)
        policy(plane, namespace, families="turing")
        await_two(plane, replicas)
        asked, created = Load(), Load()

        def ask(number: int) -> str | None:
            answer = plane.create(pod(f"asked-{number}", namespace), dry_run=True)
            return None if answer.ok and "affinity" in answer.expect()["spec"] else answer.message

        def make(_: int) -> str | None:
            if created.done >= PODS:
                return None
            answer = plane.create(pod(f"made-{created.done:03}", namespace))
            return None if answer.ok else answer.message

        with asked.running(ask, WORKERS), created.running(make, 1, PACE_SECONDS):
            for _ in range(2):
                # The follower first, as a Deployment may, and the leader at the worst moment too.
                for replica in sorted(replicas.replicas, key=lambda replica: replica == replicas.leader()):
                    began = time.monotonic()
                    plane.stop(replica.name)
                    say(f"{replica.name} drained in {time.monotonic() - began:.1f} s")
                    replicas.start_replica(replica)
                    replicas.wait_ready(replica)
                    await_leader(plane, replicas)
            plane.wait_until(lambda: created.done >= PODS, 60, "pods created")
        say(f"{asked.done} admissions asked for, {len(asked.failures)} failed")
        assert (asked.failures, created.failures) == ([], [])
        assert asked.done > 100
        plane.wait_until(lambda: len(bound_in(plane, namespace)) == PODS, 60, "all pods bound")
        assert unexplained(plane, namespace) == []
