"""The duty: what is due is done in order, once, and by whoever leads."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from certs.keyring import new_keyring
from certs.rotation import Step, taken
from gpusched.serve.certificates.rotation import REQUEST_ANNOTATION, rotate_forever
from tests.fakes.apiserver import MUTATING, SECRETS, VALIDATING, ApiServer
from tests.fakes.timing import eventually
from tests.serve.certificates.scene import EXTENDER, TERMS, WEBHOOK, Replica, cluster, published, store, stored

pytestmark = pytest.mark.anyio

NOW = datetime.now(UTC)
NAME = f"gpusched-system/{WEBHOOK.secret}"
#: Old enough that former authorities are dropped, and far from renewal.
SETTLED = NOW - timedelta(days=2)


def asked(server: ApiServer, profile: Any = WEBHOOK) -> str | None:
    annotations = server.objects[SECRETS][f"gpusched-system/{profile.secret}"]["metadata"].get("annotations") or {}
    return annotations.get(REQUEST_ANNOTATION)


def steps(replica: Replica) -> list[str]:
    """What was done, in order; the second of two configurations is not counted."""
    told = [event for event in replica.events if event["event"] in {"certificates changed", "caBundles written"}]
    names = [event.get("step", event.get("kind")) for event in told]
    return ["publish" if name == MUTATING.rpartition("/")[2] else name for name in names if name not in VALIDATING]


async def test_bundles_are_written_at_first() -> None:
    async with cluster(WEBHOOK) as (server, replica):
        await replica.rotation.work()

        assert published(server) == [stored(server).trusted] * 3
        before = len(server.requests)
        await replica.rotation.work()
        assert [method for method, _, _ in server.requests[before:]] == ["GET"] * 3
        assert not replica.rotation.busy


@pytest.mark.parametrize("spoilt", ["", "aGVsbG8=", "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg=="])
async def test_a_bundle_that_somebody_changed_is_written_again(spoilt: str) -> None:
    async with cluster(WEBHOOK) as (server, replica):
        await replica.rotation.work()
        tree = server.objects[MUTATING]["gpusched"]
        tree["webhooks"][1]["clientConfig"]["caBundle"] = spoilt
        server.put(MUTATING, tree)

        await replica.rotation.step()
        assert replica.metrics.registry.get_sample_value("gpusched_webhook_bundle_mismatches") == 1
        await replica.rotation.work()

        assert published(server) == [stored(server).trusted] * 3
        assert replica.metrics.registry.get_sample_value("gpusched_webhook_bundle_mismatches") == 0


async def test_a_whole_rotation() -> None:
    async with cluster(WEBHOOK) as (server, replica):
        old = new_keyring(WEBHOOK, SETTLED)
        store(server, old, **{REQUEST_ANNOTATION: "ca", "kept": "yes"})

        await replica.rotation.work()
        ring = stored(server)
        assert ring.current == old.current
        assert published(server) == [ring.trusted] * 3
        assert (replica.rotation.busy, asked(server)) == (True, "ca")

        replica.now += TERMS.seen.total_seconds() - 1
        await replica.rotation.work()
        assert stored(server) == ring

        replica.now += 1
        await replica.rotation.work()
        after = stored(server)
        assert (after.current, after.former, asked(server)) == (ring.next, (old.current.certificate,), None)
        assert server.objects[SECRETS][NAME]["metadata"]["annotations"] == {"kept": "yes"}
        assert [set(bundle) for bundle in published(server)] == [set(after.trusted)] * 3

        # An hour later: the leaf is older then.
        store(server, msgspec.structs.replace(after, leaf=taken(Step.ISSUE_LEAF, after, WEBHOOK, SETTLED).leaf))
        await replica.rotation.work()
        assert published(server) == [(ring.next.certificate,)] * 3
        assert steps(replica) == [
            "publish",
            "add authority",
            "publish",
            "switch authority",
            "drop former authority",
            "publish",
        ]


async def test_a_new_leader_waits_anew() -> None:
    async with cluster(WEBHOOK, WEBHOOK) as (server, one, other):
        store(server, new_keyring(WEBHOOK, SETTLED), **{REQUEST_ANNOTATION: "ca"})
        await one.rotation.work()
        before = stored(server)
        other.now = one.now = 1000.0
        await other.rotation.work()
        assert stored(server) == before
        one.rotation.forget()
        await one.rotation.work()
        assert stored(server) == before

        other.now += TERMS.seen.total_seconds()
        await other.rotation.work()
        assert stored(server).current == before.next


async def test_a_bundle_that_was_lost_meanwhile_starts_the_wait_anew() -> None:
    async with cluster(WEBHOOK) as (server, replica):
        store(server, new_keyring(WEBHOOK, SETTLED), **{REQUEST_ANNOTATION: "ca"})
        await replica.rotation.work()
        before = stored(server)
        tree = server.objects[VALIDATING]["gpusched"]
        del tree["webhooks"][0]["clientConfig"]["caBundle"]
        server.put(VALIDATING, tree)
        replica.now += 1000

        await replica.rotation.work()
        assert (stored(server), published(server)) == (before, [before.trusted] * 3)
        replica.now += TERMS.seen.total_seconds()
        await replica.rotation.work()
        assert stored(server).current == before.next


async def test_a_leaf_is_renewed_by_itself_and_on_request() -> None:
    async with cluster(WEBHOOK) as (server, replica):
        old = new_keyring(WEBHOOK, NOW - timedelta(days=70))
        store(server, old)
        await replica.rotation.work()
        renewed = stored(server)
        assert (renewed.current, renewed.leaf != old.leaf) == (old.current, True)

        store(server, renewed, **{REQUEST_ANNOTATION: "leaf"})
        await replica.rotation.work()
        assert stored(server).leaf != renewed.leaf
        assert asked(server) is None


@pytest.mark.parametrize("word", ["finish", "please"])
async def test_a_request_of_no_use_is_taken_back(word: str) -> None:
    async with cluster(WEBHOOK) as (server, replica):
        ring = new_keyring(WEBHOOK, SETTLED)
        store(server, ring, **{REQUEST_ANNOTATION: word})
        await replica.rotation.work()

        assert (stored(server), asked(server)) == (ring, None)


async def test_without_webhooks_there_is_nobody_to_wait_for() -> None:
    async with cluster(WEBHOOK) as (server, replica):
        for collection in (MUTATING, VALIDATING):
            server.remove(collection, "gpusched")
        store(server, new_keyring(WEBHOOK, SETTLED), **{REQUEST_ANNOTATION: "ca"})
        await replica.rotation.work()
        replica.now += TERMS.seen.total_seconds()
        await replica.rotation.work()

        assert asked(server) is None


async def test_the_extenders_rotation_waits_for_people() -> None:
    async with cluster(EXTENDER) as (server, replica):
        old = new_keyring(EXTENDER, NOW)
        store(server, old, EXTENDER, **{REQUEST_ANNOTATION: "ca"})
        await replica.rotation.work()
        ring = stored(server, EXTENDER)
        assert (ring.current, ring.former, asked(server, EXTENDER)) == (old.next, (old.current.certificate,), None)

        for word in ("ca", "please"):
            store(server, ring, EXTENDER, **{REQUEST_ANNOTATION: word})
            await replica.rotation.work()
            assert (stored(server, EXTENDER), asked(server, EXTENDER)) == (ring, None)

        store(server, ring, EXTENDER, **{REQUEST_ANNOTATION: "finish"})
        await replica.rotation.work()
        assert stored(server, EXTENDER) == msgspec.structs.replace(ring, former=())
        assert published(server) == [()] * 3


async def test_two_that_rotate_do_no_harm() -> None:
    async with cluster(WEBHOOK, WEBHOOK) as (server, one, other):
        store(server, new_keyring(WEBHOOK, SETTLED), **{REQUEST_ANNOTATION: "ca"})
        for now in (0.0, 30.0, 60.0):
            one.now = other.now = now
            await asyncio.gather(one.rotation.work(), other.rotation.work())
        await one.rotation.work()

        ring = stored(server)
        assert (len(ring.former), ring.next, asked(server)) == (1, None, None)
        assert [set(bundle) for bundle in published(server)] == [set(ring.trusted)] * 3


async def test_trouble_is_told_once() -> None:
    async with cluster(WEBHOOK) as (server, replica):
        server.forbidden.add(MUTATING)
        for _ in range(3):
            await replica.rotation.work()
        assert [event["event"] for event in replica.events] == ["certificates not looked after"]
        server.forbidden.clear()
        await replica.rotation.work()
        assert published(server) == [stored(server).trusted] * 3


async def test_only_who_leads_rotates() -> None:
    async with cluster(WEBHOOK) as (server, replica):
        leads = False
        task = asyncio.create_task(rotate_forever([replica.rotation], lambda: leads, idle=0.01, busy=0.01))
        await asyncio.sleep(0.05)
        assert server.requests == []
        leads = True
        await eventually(lambda: all(published(server)))
        task.cancel()
