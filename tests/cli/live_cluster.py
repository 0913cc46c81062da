"""A fake cluster that lives in a thread of its own, so that commands can be run against it."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from certs.profile import Profile
from gpusched.kube.session import Session
from tests.fakes.apiserver import ApiServer
from tests.kube.answering import kubeconfig
from tests.serve.certificates.scene import Replica, registered_cluster


class LiveCluster:
    """`server` may be looked at and changed while no command runs."""

    def __init__(self, server: ApiServer, session: Session, folder: Path) -> None:
        self.server = server
        self.kubeconfig = kubeconfig(folder, server.url, token="t")  # noqa: S106 - guards nothing
        self._session = session
        self._loop = asyncio.get_running_loop()

    @contextmanager
    def rotating(self, profile: Profile) -> Iterator[Replica]:
        """A service that leads, for which time passes quickly."""
        replica = Replica(self._session, profile)

        async def serve() -> None:
            while True:
                await replica.rotation.work()
                replica.now += 10
                await asyncio.sleep(0.05)

        task = asyncio.run_coroutine_threadsafe(serve(), self._loop)
        try:
            yield replica
        finally:
            task.cancel()


@contextmanager
def live_cluster(folder: Path) -> Iterator[LiveCluster]:
    """A cluster with registered webhooks and no Secrets."""
    ready, found, ended = threading.Event(), list[LiveCluster](), list[asyncio.Event]()

    async def serve() -> None:
        async with registered_cluster() as (server, session):
            ended.append(asyncio.Event())
            found.append(LiveCluster(server, session, folder))
            ready.set()
            await ended[0].wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield found[0]
    finally:
        found[0]._loop.call_soon_threadsafe(ended[0].set)
        thread.join(10)
