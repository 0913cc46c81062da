"""A session with a server that needs no credentials."""

from kubernetes.aio.client.configuration import Configuration

from gpusched.kube.session import Session
from tests.fakes.apiserver import ApiServer


def session_for(server: ApiServer) -> Session:
    """Use as `async with session_for(server) as session`."""

    async def configuration() -> Configuration:
        return Configuration(host=server.url)

    return Session(Configuration(host=server.url), configuration)
