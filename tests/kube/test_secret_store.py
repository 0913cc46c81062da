"""Secrets: made once, replaced only as they were read, and everything that people wrote on them kept."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from gpusched.kube.errors import Unreachable
from gpusched.kube.secret_store import Metadata, Refused, Secret, SecretStore
from gpusched.kube.session import Session
from tests.fakes.apiserver import SECRETS, ApiServer, WriteFault
from tests.fakes.session import session_for

pytestmark = pytest.mark.anyio

NAME = "gpusched-webhook-tls"
KEY = f"gpusched-system/{NAME}"


@pytest.fixture
async def server(anyio_backend: str) -> AsyncIterator[ApiServer]:
    async with ApiServer(SECRETS) as running:
        yield running


@pytest.fixture
async def store(session: Session) -> SecretStore:
    return SecretStore(session, "gpusched-system")


async def test_a_secret_is_read_as_it_was_made(server: ApiServer, store: SecretStore) -> None:
    assert await store.get(NAME) is None

    made = await store.create(NAME, {"tls.crt": b"\x00\xff"})

    assert await store.get(NAME) == made
    assert made.data == {"tls.crt": b"\x00\xff"}
    stored = server.objects[SECRETS][KEY]
    assert (stored["kind"], stored["type"], stored["data"]) == ("Secret", "kubernetes.io/tls", {"tls.crt": "AP8="})


async def test_of_two_who_make_it_one_is_told_that_it_is_there(server: ApiServer, store: SecretStore) -> None:
    results = await asyncio.gather(
        *(store.create(NAME, {"tls.crt": name}) for name in (b"a", b"b")), return_exceptions=True
    )

    (refused,) = [each for each in results if isinstance(each, Refused)]
    (made,) = [each for each in results if isinstance(each, Secret)]
    assert refused.conflict
    assert await store.get(NAME) == made


async def test_what_changed_meanwhile_is_not_replaced(server: ApiServer, store: SecretStore) -> None:
    read = await store.create(NAME, {"tls.crt": b"a"})
    await store.replace(Secret(read.metadata, {"tls.crt": b"b"}))

    with pytest.raises(Refused, match="the object has been modified") as caught:
        await store.replace(Secret(read.metadata, {"tls.crt": b"c"}))

    assert (caught.value.conflict, caught.value.status) == (True, 409)
    assert server.objects[SECRETS][KEY]["data"] == {"tls.crt": "Yg=="}


async def test_what_people_wrote_on_it_stays(server: ApiServer, store: SecretStore) -> None:
    server.put(
        SECRETS,
        {
            "metadata": {
                "name": NAME,
                "namespace": "gpusched-system",
                "annotations": {"a": "1"},
                "labels": {"b": "2"},
                "finalizers": ["f"],
                "ownerReferences": [{"kind": "X", "name": "x"}],
            },
            "type": "Opaque",
        },
    )
    read = await store.get(NAME)
    assert read is not None

    await store.replace(Secret(read.metadata, {"k": b"v"}, read.type))

    stored = server.objects[SECRETS][KEY]
    metadata = {key: stored["metadata"][key] for key in ("annotations", "labels", "finalizers", "ownerReferences")}
    assert metadata == {
        "annotations": {"a": "1"},
        "labels": {"b": "2"},
        "finalizers": ["f"],
        "ownerReferences": [{"kind": "X", "name": "x"}],
    }
    assert (stored["type"], stored["data"]) == ("Opaque", {"k": "dg=="})


async def test_annotations_are_set_and_removed(store: SecretStore) -> None:
    made = await store.create(NAME, {})
    assert made.annotation("a") == ""

    assert (await store.annotate(NAME, {"a": "1", "b": "2"})).annotation("a") == "1"
    assert (await store.annotate(NAME, {"a": None})).metadata.annotations == {"b": "2"}


async def test_a_refusal_is_no_answer_of_none(server: ApiServer, store: SecretStore) -> None:
    server.forbidden.add(SECRETS)

    with pytest.raises(Refused, match=f"^Secret {KEY}: secrets is forbidden") as caught:
        await store.get(NAME)

    assert (caught.value.conflict, caught.value.status) == (False, 403)


async def test_an_answer_that_is_no_secret(server: ApiServer, store: SecretStore) -> None:
    server.put(SECRETS, {"metadata": {"name": NAME, "namespace": "gpusched-system"}, "data": ["x"]})

    with pytest.raises(Refused, match="Expected `object`"):
        await store.get(NAME)


async def test_without_an_answer(server: ApiServer, store: SecretStore) -> None:
    server.write_faults.append(WriteFault.LOST_AFTER)

    with pytest.raises(Unreachable):
        await store.create(NAME, {})


async def test_the_api_server_tells_the_time(server: ApiServer) -> None:
    async with session_for(server) as session:
        session.clock_ahead = timedelta(days=365)
        store = SecretStore(session, "gpusched-system")
        assert abs(datetime.now(UTC) - timedelta(days=365) - store.now()) < timedelta(minutes=1)
        await store.get(NAME)
        assert abs(datetime.now(UTC) - store.now()) < timedelta(minutes=1)


def test_metadata_is_written_without_what_is_not_there() -> None:
    assert Metadata("a").annotations is None
