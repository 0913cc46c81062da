"""What a process says of the certificates that it keeps, and of the clock by which it judges them."""

import io
from datetime import timedelta

import pytest

from gpusched.obs.logging import configure
from gpusched.obs.metrics import Metrics
from gpusched.serve.certificates.kept import KeptCertificates
from gpusched.serve.options import Options
from tests.fakes.apiserver import ApiServer
from tests.fakes.session import session_for

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("ahead", "lines"),
    [
        (timedelta(seconds=4), []),
        (timedelta(seconds=70), ["clock: 70 s ahead of the API server's"]),
        (timedelta(hours=-1), ["clock: 3600 s behind the API server's"]),
    ],
)
async def test_a_clock_that_is_wrong_is_told(ahead: timedelta, lines: list[str]) -> None:
    async with ApiServer() as server, session_for(server) as session:
        session.clock_ahead = ahead
        kept = KeptCertificates(Options(), session, {}, Metrics(), configure(stream=io.StringIO()))

        assert (kept.lines(), kept.closed()) == (lines, None)
