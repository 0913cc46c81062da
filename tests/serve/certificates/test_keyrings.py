"""Kept keyrings: made once, taken over when callers know them, and made anew when they are lost."""

import asyncio
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from certs.keyring import Keyring, new_keyring
from certs.rotation import Step, taken
from gpusched.kube.secret_store import Refused
from gpusched.serve.certificates.keyrings import accepts
from tests.fakes.apiserver import SECRETS, WriteFault
from tests.serve.certificates.scene import EXTENDER, WEBHOOK, cluster, published, store, stored

pytestmark = pytest.mark.anyio

NOW = datetime.now(UTC)
NAME = f"gpusched-system/{WEBHOOK.secret}"


def switched(ring: Keyring) -> Keyring:
    return taken(Step.SWITCH, taken(Step.ADD_NEXT, ring, WEBHOOK, NOW), WEBHOOK, NOW)


async def test_the_first_replica_makes_the_secret_and_all_serve_by_it() -> None:
    async with cluster(*[WEBHOOK] * 5) as (server, *replicas):
        await asyncio.gather(*(replica.served.look() for replica in replicas))

        assert {replica.leaf for replica in replicas} == {stored(server).leaf.certificate}
        made = [event for replica in replicas for event in replica.events if event["event"] == "certificates created"]
        assert [(event["secret"], event["again"]) for event in made] == [(WEBHOOK.secret, False)]


async def test_another_ones_secret_is_taken_as_it_is() -> None:
    ring = new_keyring(WEBHOOK, NOW)
    async with cluster(WEBHOOK) as (server, replica):
        store(server, ring)
        assert replica.served.closed() == "no certificate of the webhook yet (not read yet)"

        await replica.served.look()

        assert (replica.leaf, stored(server), replica.served.closed()) == (ring.leaf.certificate, ring, None)
        assert replica.live.material.client_ca is None


async def test_the_extender_trusts_clients_of_every_authority() -> None:
    ring = taken(Step.SWITCH, new_keyring(EXTENDER, NOW), EXTENDER, NOW)
    async with cluster(EXTENDER) as (server, replica):
        store(server, ring, EXTENDER)
        await replica.served.look()
        assert replica.live.material.client_ca == b"".join(ring.trusted)

        store(server, msgspec.structs.replace(ring, former=()), EXTENDER)
        await replica.served.look()
        assert replica.live.material.client_ca == b"".join(ring.lasting)


async def test_a_lost_secret_comes_back_from_memory() -> None:
    async with cluster(WEBHOOK, WEBHOOK) as (server, one, other):
        await one.served.look()
        await other.served.look()
        before = stored(server)
        server.remove(SECRETS, NAME)

        await asyncio.gather(one.served.look(), other.served.look())

        assert stored(server) == before
        assert {one.leaf, other.leaf} == {before.leaf.certificate}


@pytest.mark.parametrize("name", ["tls.crt", "tls.key", "ca.crt", "authority.crt", "authority.key"])
async def test_a_damaged_secret_is_repaired(name: str) -> None:
    async with cluster(WEBHOOK) as (server, replica):
        await replica.served.look()
        before = stored(server)
        tree = server.objects[SECRETS][NAME]
        tree["metadata"]["annotations"] = {"kept": "yes"}
        tree["data"][name] = "aGVsbG8="
        server.put(SECRETS, tree)

        await replica.served.look()

        assert stored(server) == before
        assert server.objects[SECRETS][NAME]["metadata"]["annotations"] == {"kept": "yes"}
        assert "Secret is damaged, it is written anew" in [event["event"] for event in replica.events]


@pytest.mark.parametrize("data", [{}, {"tls.crt": "aGVsbG8="}, None])
async def test_a_secret_without_use_gets_new_keys_from_who_remembers_none(data: object) -> None:
    async with cluster(WEBHOOK) as (server, replica):
        metadata = {"name": WEBHOOK.secret, "namespace": "gpusched-system"}
        server.put(SECRETS, {"metadata": metadata} | ({} if data is None else {"data": data}))

        await replica.served.look()

        assert replica.leaf == stored(server).leaf.certificate


async def test_a_secret_of_cert_manager_is_left_alone() -> None:
    async with cluster(WEBHOOK) as (server, replica):
        metadata = {"name": WEBHOOK.secret, "namespace": "gpusched-system"}
        metadata |= {"annotations": {"cert-manager.io/certificate-name": "gpusched-webhook"}}
        before = server.put(SECRETS, {"metadata": metadata, "data": {"tls.crt": "", "tls.key": ""}})

        await replica.served.look()
        await replica.rotation.work()

        assert server.objects[SECRETS][NAME] == before
        assert "it is cert-manager's: serve with --cert-dir" in str(replica.served.closed())
        assert published(server) == [()] * 3


async def test_a_leaf_is_served_once_callers_know_its_authority() -> None:
    """What somebody edited by hand, or a replica that had lost its memory made anew."""
    async with cluster(WEBHOOK) as (server, replica):
        await replica.served.look()
        await replica.rotation.work()
        old, new = stored(server), new_keyring(WEBHOOK, NOW)
        store(server, new)

        await replica.served.look()
        assert replica.leaf == old.leaf.certificate
        assert replica.served.problem == "callers do not know the authority of the new certificate yet"
        assert replica.served.closed() is None

        await replica.rotation.work()
        await replica.served.look()
        assert (replica.leaf, replica.served.problem) == (new.leaf.certificate, "")
        # Others may still serve the former leaf.
        assert published(server) == [(*new.trusted, *old.trusted)] * 3


async def test_a_leaf_is_served_if_callers_accept_none() -> None:
    async with cluster(WEBHOOK) as (server, replica):
        await replica.served.look()
        store(server, new := new_keyring(WEBHOOK, NOW))

        await replica.served.look()

        assert replica.leaf == new.leaf.certificate


async def test_what_cannot_be_read_is_told_once_and_tried_again() -> None:
    async with cluster(WEBHOOK) as (server, replica):
        server.forbidden.add(SECRETS)
        for _ in range(3):
            await replica.served.look()
        told = f"Secret {NAME}: secrets is forbidden"
        assert str(replica.served.closed()).startswith(f"no certificate of the webhook yet ({told}")
        assert [event["event"] for event in replica.events] == ["certificate not loaded"]

        server.forbidden.clear()
        await replica.served.look()
        assert replica.served.closed() is None

        server.forbidden.add(SECRETS)
        await replica.served.look()
        assert replica.served.closed() is None
        assert replica.served.problem.startswith(told)


async def test_a_lost_answer_to_the_making_is_no_second_making() -> None:
    async with cluster(WEBHOOK) as (server, replica):
        server.write_faults.append(WriteFault.LOST_AFTER)
        await replica.served.look()
        assert replica.served.closed() is not None
        made = stored(server)

        await replica.served.look()

        assert (replica.leaf, stored(server)) == (made.leaf.certificate, made)


async def test_conflicts_without_end_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async with cluster(WEBHOOK) as (_, replica):
        await replica.kept.store.create(WEBHOOK.secret, {})

        async def nothing(_name: str) -> None:
            return None

        monkeypatch.setattr(replica.kept.store, "get", nothing)
        with pytest.raises(Refused, match="already exists"):
            await replica.kept.read()


async def test_metrics_of_the_authority_and_its_rotation() -> None:
    async with cluster(WEBHOOK) as (server, replica):
        store(server, switched(new_keyring(WEBHOOK, NOW)))
        await replica.served.look()

        value = replica.metrics.registry.get_sample_value
        phases = {
            phase: value("gpusched_certificate_rotation_phase", {"server": "webhook", "phase": phase})
            for phase in ("stable", "announcing", "overlapping")
        }
        assert phases == {"stable": 0, "announcing": 0, "overlapping": 1}
        ends = value("gpusched_certificate_authority_not_after_seconds", {"server": "webhook"})
        assert ends == pytest.approx((NOW + WEBHOOK.authority_lifetime).timestamp(), abs=60)
        leaf = value("gpusched_certificate_not_after_seconds", {"server": "webhook"})
        assert leaf == pytest.approx((NOW + timedelta(days=90)).timestamp(), abs=60)


def test_whatever_a_bundle_holds_it_accepts_or_not() -> None:
    ring = new_keyring(WEBHOOK, NOW)
    bundles = (b"", b"hello", ring.current.certificate, ring.leaf.certificate)

    assert [accepts(bundle, ring.leaf.certificate, NOW) for bundle in bundles] == [False, False, True, False]
