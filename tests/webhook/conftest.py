"""What all tests of this package use."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
