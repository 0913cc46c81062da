"""caBundles: read of both configurations, and written into every webhook without anything else."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from certs.issue import issue_ca
from gpusched.kube.errors import StatusError, Unreachable
from gpusched.kube.session import Session
from gpusched.kube.webhook_bundles import bundles_of, publish, read_configurations
from tests.fakes.apiserver import MUTATING, VALIDATING, ApiServer, WriteFault

pytestmark = pytest.mark.anyio

BUNDLE = issue_ca("ca", datetime(2026, 1, 1, tzinfo=UTC), timedelta(days=1)).certificate


@pytest.fixture
async def server(anyio_backend: str) -> AsyncIterator[ApiServer]:
    async with ApiServer(MUTATING, VALIDATING) as running:
        yield running


def registered(*names: str, **client: str) -> dict[str, Any]:
    hooks = [{"name": name, "clientConfig": {"url": f"https://{name}", **client}, "rules": [1]} for name in names]
    return {"metadata": {"name": "gpusched"}, "webhooks": hooks}


async def test_bundles_of_both(server: ApiServer, session: Session) -> None:
    server.put(MUTATING, registered("a", "b", caBundle="aGVsbG8="))
    server.put(VALIDATING, registered("c"))

    found = await read_configurations(session)

    assert bundles_of(found) == {"a": b"hello", "b": b"hello", "c": b""}
    assert [each.version for each in found] == ["2", "3"]


async def test_a_configuration_that_is_not_there_is_left_out(server: ApiServer, session: Session) -> None:
    assert await read_configurations(session) == []
    server.put(VALIDATING, {"metadata": {"name": "gpusched"}})

    assert bundles_of(await read_configurations(session)) == {}


async def test_a_bundle_is_written_and_nothing_else(server: ApiServer, session: Session) -> None:
    before = server.put(MUTATING, registered("a", "b"))
    (read,) = await read_configurations(session)

    assert await publish(session, read, {"a": BUNDLE, "b": BUNDLE})

    (found,) = await read_configurations(session)
    assert found.bundles == {"a": BUNDLE, "b": BUNDLE}
    stored = server.objects[MUTATING]["gpusched"]
    for old, new in zip(before["webhooks"], stored["webhooks"], strict=True):
        bundle = new["clientConfig"].pop("caBundle")
        assert (old, bool(bundle)) == (new, True)
    assert server.requests[-3] == (
        "PATCH",
        "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/gpusched",
        {"fieldManager": "gpusched-certs", "force": "true"},
    )


async def test_a_configuration_that_changed_meanwhile_is_left(server: ApiServer, session: Session) -> None:
    server.put(MUTATING, registered("a"))
    (read,) = await read_configurations(session)
    server.put(MUTATING, registered("b"))

    assert not await publish(session, read, {"a": BUNDLE})
    assert server.objects[MUTATING]["gpusched"]["webhooks"] == registered("b")["webhooks"]


@pytest.mark.parametrize("bundle", [b"", b"hello"])
async def test_what_is_no_bundle_is_not_written(server: ApiServer, session: Session, bundle: bytes) -> None:
    server.put(MUTATING, registered("a"))
    (read,) = await read_configurations(session)
    requests = len(server.requests)

    with pytest.raises(ValueError, match=r"."):
        await publish(session, read, {"a": bundle})

    assert len(server.requests) == requests


async def test_a_refusal(server: ApiServer, session: Session) -> None:
    server.put(MUTATING, registered("a"))
    (read,) = await read_configurations(session)
    server.forbidden.add(MUTATING)

    with pytest.raises(StatusError, match="403"):
        await read_configurations(session)
    with pytest.raises(StatusError, match="403"):
        await publish(session, read, {"a": BUNDLE})


async def test_without_an_answer(server: ApiServer, session: Session) -> None:
    server.put(MUTATING, registered("a"))
    (read,) = await read_configurations(session)
    server.write_faults.append(WriteFault.LOST_AFTER)

    with pytest.raises(Unreachable):
        await publish(session, read, {"a": BUNDLE})


async def test_an_answer_that_is_no_configuration(server: ApiServer, session: Session) -> None:
    server.put(MUTATING, {"metadata": {"name": "gpusched"}, "webhooks": [{"clientConfig": {}}]})

    with pytest.raises(StatusError, match="cannot be read"):
        await read_configurations(session)
