"""What all tests of this package use: one event loop backend, one server and one session with it."""

from collections.abc import AsyncIterator

import pytest

from gpusched.kube.session import Session
from tests.fakes.apiserver import ApiServer
from tests.fakes.session import session_for


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def server(anyio_backend: str) -> AsyncIterator[ApiServer]:
    async with ApiServer() as running:
        yield running


@pytest.fixture
async def session(server: ApiServer) -> AsyncIterator[Session]:
    async with session_for(server) as opened:
        yield opened
