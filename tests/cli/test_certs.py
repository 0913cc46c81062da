"""`gpusched certs` against a fake cluster."""

import base64
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from certs.bundle import read_facts, split_bundle, verifies
from certs.keyring import Keyring, new_keyring
from certs.profile import EXTENDER_SERVICE
from certs.rotation import Step, taken
from gpusched.cli import certs_rotate
from gpusched.serve.certificates.rotation import REQUEST_ANNOTATION
from tests.cli.commands import Ran, run
from tests.cli.live_cluster import LiveCluster, live_cluster
from tests.fakes.apiserver import MUTATING, SECRETS, VALIDATING
from tests.serve.certificates.scene import EXTENDER, WEBHOOK, published, store, stored

NOW = datetime.now(UTC)
OLD = NOW - timedelta(days=2)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LiveCluster]:
    with live_cluster(tmp_path) as found:
        yield found


def certs(cluster: LiveCluster, *words: object) -> Ran:
    return run("certs", *words, "--kubeconfig", cluster.kubeconfig)


def publish(cluster: LiveCluster, bundle: bytes) -> None:
    for collection in (MUTATING, VALIDATING):
        tree = cluster.server.objects[collection]["gpusched"]
        for hook in tree["webhooks"]:
            hook["clientConfig"]["caBundle"] = base64.b64encode(bundle).decode()
        cluster.server.put(collection, tree)


def complete(cluster: LiveCluster, webhook: Keyring, extender: Keyring) -> None:
    store(cluster.server, webhook)
    store(cluster.server, extender, EXTENDER)
    publish(cluster, b"".join(webhook.trusted))


def short(certificate: bytes) -> str:
    return read_facts(certificate).fingerprint


def test_status_of_what_is_in_order(cluster: LiveCluster) -> None:
    webhook, extender = new_keyring(WEBHOOK, OLD), new_keyring(EXTENDER, OLD)
    complete(cluster, webhook, extender)

    ran = certs(cluster, "status")

    assert (ran.code, ran.err) == (0, "")
    lines = [line.split() for line in ran.out.splitlines()]
    assert [line[:2] for line in lines[1:6]] == [
        ["webhook", "leaf"],
        ["webhook", "current"],
        ["extender", "leaf"],
        ["extender", "current"],
        ["extender", "next"],
    ]
    assert [line[-4:] for line in lines[1:3]] == [
        [short(webhook.leaf.certificate), f"{OLD + timedelta(days=90):%Y-%m-%d}", "(87", "d)"],
        [short(webhook.current.certificate), f"{OLD + WEBHOOK.authority_lifetime:%Y-%m-%d}", "(1822", "d)"],
    ]
    assert lines[8:] == [[name, short(webhook.current.certificate), "yes"] for name in ("a", "b", "c")]


def test_status_for_programs(cluster: LiveCluster) -> None:
    webhook, extender = new_keyring(WEBHOOK, OLD), new_keyring(EXTENDER, OLD)
    complete(cluster, webhook, extender)

    view = certs(cluster, "status", "-o", "json").json

    assert view["problems"] == []
    assert view["webhooks"][0] == {"name": "a", "authorities": [short(webhook.current.certificate)], "verifies": True}
    assert [(each["server"], each["secret"], each["phase"]) for each in view["servers"]] == [
        ("webhook", WEBHOOK.secret, "stable"),
        ("extender", EXTENDER.secret, "stable"),
    ]
    assert view["servers"][1]["certificates"][2] == {
        "role": "next",
        "subject": "CN=gpusched extender CA",
        "fingerprint": short(extender.trusted[1]),
        "not_after": f"{OLD + EXTENDER.authority_lifetime:%Y-%m-%dT%H:%M:%SZ}",
    }


def test_status_names_every_problem(cluster: LiveCluster) -> None:
    late = NOW - timedelta(days=100)
    extender = taken(Step.SWITCH, new_keyring(EXTENDER, NOW - timedelta(days=3400)), EXTENDER, NOW)
    complete(cluster, new_keyring(WEBHOOK, late), extender)
    publish(cluster, b"hello")

    ran = certs(cluster, "status")

    assert ran.code == 1
    ends = read_facts(extender.current.certificate).not_after
    leaf = stored(cluster.server).leaf.certificate
    assert ran.err.splitlines() == [
        f"problem: the webhook's certificate ended at {read_facts(leaf).not_after}: is a leader running?",
        "problem: the caBundle does not verify the webhook's certificate: a, b, c",
        f"problem: the extender's authority ends at {ends}: run gpusched certs rotate --extender",
        "problem: a rotation of the extender's authority is not finished: see gpusched certs rotate --extender --help",
    ]
    assert "extender: a rotation is under way (overlapping)" in ran.out
    assert [line.split()[1:] for line in ran.out.splitlines() if line.startswith("a ")] == [["unreadable", "no"]]


def test_status_of_nothing(cluster: LiveCluster) -> None:
    for collection in (MUTATING, VALIDATING):
        cluster.server.remove(collection, "gpusched")
    store(cluster.server, new_keyring(WEBHOOK, NOW - timedelta(days=70)))

    ran = certs(cluster, "status")

    assert (ran.code, ran.err.splitlines()) == (
        1,
        [
            "problem: the webhook's certificate should have been renewed: is a leader running?",
            "problem: no webhook is registered: apply manifests/base/webhooks.yaml",
        ],
    )


def test_status_without_certificates_of_the_extender(cluster: LiveCluster) -> None:
    store(cluster.server, webhook := new_keyring(WEBHOOK, OLD))
    publish(cluster, b"".join(webhook.trusted))

    ran = certs(cluster, "status")

    assert (ran.code, ran.err) == (0, "")
    assert "extender: no certificate is kept in Secret gpusched-extender-tls" in ran.out.splitlines()
    server = certs(cluster, "status", "-o", "json").json["servers"][1]
    assert server == {"server": "extender", "secret": EXTENDER.secret, "phase": "", "certificates": []}


def test_status_where_no_certificate_is_kept_or_one_is_damaged(cluster: LiveCluster) -> None:
    absent = "it is not there; gpusched serve --certs=secret makes it anew"
    assert certs(cluster, "status").err.splitlines() == [
        f"problem: Secret {WEBHOOK.secret}: {absent}",
        (
            f"problem: Secret {EXTENDER.secret}: {absent}, "
            "unless it serves the extender without TLS (--extender-plain-http) or not at all (--role=webhook)"
        ),
    ]

    store(cluster.server, webhook := new_keyring(WEBHOOK, OLD))
    publish(cluster, b"".join(webhook.trusted))
    store(cluster.server, new_keyring(EXTENDER, OLD), EXTENDER)
    cluster.server.objects[SECRETS][f"gpusched-system/{EXTENDER.secret}"]["data"] = {}
    ran = certs(cluster, "status")
    assert ran.code == 1
    assert ran.err.startswith(f"problem: Secret {EXTENDER.secret}: ")


@pytest.mark.parametrize("words", [("status",), ("rotate",), ("issue", "there")])
def test_a_cluster_that_refuses_or_is_not_there(cluster: LiveCluster, words: tuple[str, ...], tmp_path: Path) -> None:
    cluster.server.forbidden.add(SECRETS)
    ran = certs(cluster, *words)
    assert (ran.code, len(ran.errors), "secrets is forbidden" in ran.err) == (2, 1, True)

    ran = run("certs", *words, "--kubeconfig", tmp_path / "none")
    assert (ran.code, len(ran.errors), "does not exist" in ran.err) == (3, 1, True)


def test_a_leaf_is_rotated_by_the_service(cluster: LiveCluster) -> None:
    complete(cluster, before := new_keyring(WEBHOOK, OLD), new_keyring(EXTENDER, OLD))
    with cluster.rotating(WEBHOOK):
        ran = certs(cluster, "rotate")

    after = stored(cluster.server)
    facts = read_facts(after.leaf.certificate)
    assert (ran.code, ran.err, after.current) == (0, "", before.current)
    assert ran.out.splitlines() == [
        f"asked for by {REQUEST_ANNOTATION} on Secret gpusched-system/{WEBHOOK.secret}",
        f"new certificate {facts.fingerprint}, until {facts.not_after:%Y-%m-%d}; open connections go on",
    ]


def test_an_authority_is_rotated_step_by_step(cluster: LiveCluster) -> None:
    complete(cluster, before := new_keyring(WEBHOOK, OLD), new_keyring(EXTENDER, OLD))
    with cluster.rotating(WEBHOOK):
        ran = certs(cluster, "rotate", "--ca")

    after = stored(cluster.server)
    old, new = short(before.current.certificate), short(after.current.certificate)
    assert (ran.code, ran.err, after.former) == (0, "", (before.current.certificate,))
    assert f"authority {new} has taken the place of {old}" in ran.out.splitlines()
    assert ran.out.splitlines()[-1] == "The former authority is dropped by itself after the overlap."
    assert [set(bundle) for bundle in published(cluster.server)] == [set(after.trusted)] * 3


def test_the_extenders_rotation_leads_through_its_parts(cluster: LiveCluster, tmp_path: Path) -> None:
    store(cluster.server, before := new_keyring(EXTENDER, OLD), EXTENDER)
    with cluster.rotating(EXTENDER):
        ran = certs(cluster, "rotate", "--extender")
        assert (ran.code, ran.err) == (0, "")
        assert "1. gpusched certs issue DIR" in ran.out
        after = stored(cluster.server, EXTENDER)
        assert (after.current, after.former) == (before.next, (before.current.certificate,))

        again = certs(cluster, "rotate", "--extender")
        assert (again.code, "is not finished" in again.err) == (1, True)
        assert stored(cluster.server, EXTENDER) == after

        assert certs(cluster, "issue", tmp_path / "d").code == 0
        assert split_bundle((tmp_path / "d" / "ca.crt").read_bytes()) == after.lasting
        ran = certs(cluster, "rotate", "--extender", "--finish")
        assert (ran.code, f"former authority {short(after.former[0])} is dropped" in ran.out) == (0, True)
        again = certs(cluster, "rotate", "--extender", "--finish")
        assert (again.code, again.errors) == (1, ["no rotation is to be finished"])


def test_nobody_takes_it_up(cluster: LiveCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    complete(cluster, new_keyring(WEBHOOK, OLD), new_keyring(EXTENDER, OLD))
    monkeypatch.setattr(certs_rotate, "_TAKEN_UP_SECONDS", 0.6)

    ran = certs(cluster, "rotate", "--ca")
    assert (ran.code, "nobody took it up in 1 s" in ran.err) == (1, True)
    again = certs(cluster, "rotate", "--ca")
    assert (again.code, again.errors) == (1, ["a request (ca) is waiting already; see gpusched certs status"])


def test_it_takes_longer_than_one_waits(cluster: LiveCluster) -> None:
    complete(cluster, new_keyring(WEBHOOK, OLD), new_keyring(EXTENDER, OLD))

    ran = certs(cluster, "rotate", "--timeout", "0.6")

    assert (ran.code, ran.errors) == (1, ["not done in 1 s; it goes on, see gpusched certs status"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--ca", "--extender"), "--ca is the webhook's"),
        (("--finish",), "--finish belongs to --extender"),
        (("--ca", "--finish"), "--finish belongs to --extender"),
    ],
)
def test_options_that_do_not_go_together(words: tuple[str, ...], told: str) -> None:
    ran = run("certs", "rotate", *words)

    assert (ran.code, told in ran.err) == (2, True)


@pytest.mark.parametrize("words", [("rotate",), ("rotate", "--extender"), ("issue", "there")])
def test_without_a_secret(cluster: LiveCluster, words: tuple[str, ...]) -> None:
    ran = certs(cluster, *words)

    assert (ran.code, "it is not there; gpusched serve --certs=secret makes it" in ran.err) == (1, True)
    assert ("unless it serves the extender without TLS" in ran.err) == (words != ("rotate",))


def test_files_for_the_scheduler(cluster: LiveCluster, tmp_path: Path) -> None:
    store(cluster.server, ring := new_keyring(EXTENDER, OLD), EXTENDER)
    folder = tmp_path / "scheduler"
    for _ in range(2):
        ran = certs(cluster, "issue", folder)
        assert (ran.code, ran.out) == (0, f"tls.crt, tls.key, ca.crt written into {folder}\n")

    assert sorted(path.name for path in folder.iterdir()) == ["ca.crt", "tls.crt", "tls.key"]
    assert stat.S_IMODE((folder / "tls.key").stat().st_mode) == 0o600
    assert split_bundle((folder / "ca.crt").read_bytes()) == ring.trusted
    client = (folder / "tls.crt").read_bytes()
    assert verifies(client, ring.trusted[:1], NOW + timedelta(days=3600))
    assert read_facts(client).subject == "CN=system:kube-scheduler"


def test_files_without_a_cluster(tmp_path: Path) -> None:
    ran = run("certs", "issue", tmp_path, "--offline")

    assert ran.code == 0
    served = read_facts((tmp_path / "extender" / "tls.crt").read_bytes())
    assert f"{EXTENDER_SERVICE}.gpusched-system.svc" in served.names
    trusted = (tmp_path / "scheduler" / "ca.crt").read_bytes()
    assert trusted == (tmp_path / "extender" / "ca.crt").read_bytes()
    assert verifies(
        (tmp_path / "tls.crt").read_bytes(), split_bundle((tmp_path / "ca.crt").read_bytes()), datetime.now(UTC)
    )


def test_what_has_not_changed_is_told_once() -> None:
    """The authority that takes over was trusted already, only in another place of the list."""
    first = new_keyring(EXTENDER, NOW)
    coming = new_keyring(EXTENDER, NOW).current
    trusting = Keyring(first.leaf, first.current, coming, ())
    serving = Keyring(first.leaf, coming, None, (first.current.certificate,))
    stages = [certs_rotate.Stage(item, "", 11, 11) for item in (first, trusting, serving)]

    told = [line for pair in pairwise(stages) for line in certs_rotate.news(*pair)]
    assert [line for line in told if "caBundles" in line] == ["11 of 11 caBundles hold every authority"]
