"""Workloads read one by one, and events of controllers, in pages."""

import pytest

from gpusched.kube.errors import StatusError
from gpusched.kube.session import Session
from gpusched.kube.workloads import failed_creates, get_workload
from tests.fakes.apiserver import EVENTS, ApiServer, Fault

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("namespace", "name"), [("team-a", "../../team-b/deployments/web"), ("..", "web"), ("team-a", "web?x"), ("", "web")]
)
async def test_what_is_no_name_leads_nowhere(server: ApiServer, session: Session, namespace: str, name: str) -> None:
    assert await get_workload(session, "Deployment", namespace, name) == (404, None)
    assert server.requests == []


async def test_all_pages_of_events_of_one_reason(server: ApiServer, session: Session) -> None:
    for number in range(1001):
        server.put(EVENTS, {"metadata": {"namespace": "team-a", "name": f"e-{number:04}"}, "reason": "FailedCreate"})

    found = await failed_creates(session, "")
    assert len(found) == 1001
    assert found[0]["reason"] == "FailedCreate"
    queries = [query for _, _, query in server.requests]
    assert [query["fieldSelector"] for query in queries] == ["reason=FailedCreate"] * 3


async def test_events_that_are_not_served(server: ApiServer, session: Session) -> None:
    server.inject(Fault.STATUS_500)
    with pytest.raises(StatusError) as raised:
        await failed_creates(session, "")
    assert raised.value.code == 500
