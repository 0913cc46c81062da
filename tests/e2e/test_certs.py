"""Certificates on a real API server: made by whoever is first, repaired, and rotated while calls go on."""

import base64
import http.client
import shutil
import ssl
import time
from datetime import UTC, datetime, timedelta

import pytest

from certs.issue import issue_ca, issue_leaf
from certs.profile import SCHEDULER
from gpusched.local.control_plane import ControlPlane
from gpusched.local.installed import documents, manifests_folder
from tests.build import h100_node, pod
from tests.docs.page import run_by
from tests.e2e.certificates import (
    EXTENDER,
    MERGE,
    QUICK,
    WEBHOOK,
    AtOnce,
    authorities,
    binding,
    certs,
    connecting,
    creating,
    served,
    status,
    strict,
)
from tests.e2e.extender_client import SecondScheduler
from tests.e2e.scheduling import say
from tests.e2e.seen import nodes_seen

#: Lines of the page: the webhook's leaf and authority, and the extender's rotation in three steps.
ROTATE, ROTATE_AUTHORITY, ADVANCE, ISSUE, FINISH = (
    line
    for block in run_by(__file__, "docs/certificates.md")
    for line in block.text.splitlines()
    if not line.startswith(" ")
)
#: How many webhooks there are, each with a caBundle.
HOOKS = sum(
    len(tree["webhooks"]) for tree in documents(manifests_folder() / "base" / "webhooks.yaml") if "webhooks" in tree
)


@pytest.fixture(scope="module")
def replicas(control_plane):
    """Two replicas that were started at the same moment, with nothing there before."""
    control_plane.apply(
        [{"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}, "handler": "nvidia"}]
    )
    with AtOnce(control_plane, arguments=QUICK) as running:
        running.made = running.events("certificates created")
        control_plane.apply(strict(running))
        yield running


def works(plane: ControlPlane, namespace: str) -> bool:
    return plane.create(pod("p", namespace), dry_run=True).ok


def test_two_replicas_start_at_once(control_plane, replicas, namespace):
    """One makes the Secrets, the other one takes them as they are."""
    assert replicas.made == ["gpusched-extender-tls", "gpusched-webhook-tls"]
    leaf = base64.b64decode(control_plane.get(WEBHOOK)["data"]["tls.crt"])
    trusting = ssl.create_default_context(cadata=next(iter(replicas.bundles().values())).decode())
    for replica in replicas.replicas:
        assert served(f"https://127.0.0.1:{replica.webhook}", trusting) == ssl.PEM_cert_to_DER_cert(leaf.decode())
    assert works(control_plane, namespace)
    code, _, errors = certs(control_plane, "status")
    assert (code, errors) == (0, "")
    assert {hook["verifies"] for hook in status(control_plane)["webhooks"]} == {True}


def test_applying_the_manifests_again_takes_no_bundle_away(control_plane, replicas):
    before = replicas.bundles()
    control_plane.apply(strict(replicas))
    assert replicas.bundles() == before
    assert all(before.values())


def test_a_secret_that_is_lost_or_damaged_comes_back(control_plane, replicas, namespace):
    """From memory, so that no call fails."""
    before = control_plane.get(WEBHOOK)["data"]
    with creating(control_plane, namespace) as calls:
        control_plane.request("DELETE", WEBHOOK).expect()
        control_plane.wait_until(lambda: control_plane.request("GET", WEBHOOK).ok, 30, "the Secret is back")
        assert control_plane.get(WEBHOOK)["data"] == before
        for name in ("tls.key", "authority.crt", "ca.crt"):
            damage = {"data": {name: base64.b64encode(b"hello").decode()}}
            control_plane.request("PATCH", WEBHOOK, damage, content_type=MERGE).expect()
            control_plane.wait_for(WEBHOOK, lambda tree: tree["data"] == before, 30, f"{name} repaired")
        assert certs(control_plane, "status")[0] == 0
    assert calls.failed == []


def test_a_bundle_that_somebody_spoils_is_written_again(control_plane, replicas, namespace):
    path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/gpusched"
    spoil = [{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": "aGVsbG8="}]
    control_plane.request("PATCH", path, spoil, content_type="application/json-patch+json").expect()
    control_plane.wait_until(lambda: works(control_plane, namespace), 30, "calls work again")
    assert len(set(replicas.bundles().values())) == 1


def test_everything_lost_while_nobody_runs(control_plane, replicas, namespace):
    """New authorities; the API server learns of them as soon as somebody leads."""
    before = authorities(control_plane, "webhook")
    extender = control_plane.get(EXTENDER)["data"]
    replicas.stop()
    control_plane.request("DELETE", WEBHOOK).expect()
    replicas.start()
    control_plane.wait_until(lambda: works(control_plane, namespace), 60, "calls work again")
    after = authorities(control_plane, "webhook")
    assert after["current"] != before["current"]
    assert control_plane.get(EXTENDER)["data"] == extender
    await_dropped(control_plane, replicas)


def await_dropped(plane, replicas):
    """The one authority that is left is in every bundle alone."""

    def dropped():
        view = status(plane)
        current = [each["fingerprint"] for each in view["servers"][0]["certificates"] if each["role"] != "leaf"]
        return len(current) == 1 and all(hook["authorities"] == current for hook in view["webhooks"])

    plane.wait_until(dropped, 60, "the former authority is dropped")


def test_a_rotation_under_load(control_plane, replicas, namespace, terminal):
    """A new leaf, then new authorities, twice; calls over open connections, over new ones, and to both replicas."""
    began = authorities(control_plane, "webhook")
    with creating(control_plane, namespace) as creates, connecting(replicas) as handshakes:
        for _ in range(2):
            before = authorities(control_plane, "webhook")
            terminal.type(ROTATE)
            renewed = authorities(control_plane, "webhook")
            assert (renewed["current"], renewed["leaf"] != before["leaf"]) == (before["current"], True)
            assert f"{HOOKS} of {HOOKS} caBundles hold every authority" in terminal.type(ROTATE_AUTHORITY)
            after = authorities(control_plane, "webhook")
            assert after["former"] == before["current"] != after["current"]
            await_dropped(control_plane, replicas)
        time.sleep(2)
    say(f"{creates.made} creates, {creates.rate:.0f}/s, {handshakes.made} handshakes; {len(creates.failed)} failed")
    assert (creates.failed, handshakes.failed) == ([], [])
    assert creates.rate > 20
    assert authorities(control_plane, "webhook")["current"] != began["current"]


@pytest.fixture
def nodes(control_plane, replicas, fake_nodes):
    fake_nodes([h100_node("certs-h100")])
    nodes_seen(control_plane, "certs-h100")


def test_the_extenders_authority_is_rotated_while_pods_are_bound(control_plane, replicas, namespace, nodes, terminal):
    """kube-scheduler goes on with its files, also over new connections, and is restarted when it suits."""
    with binding(control_plane, namespace) as pods:
        for _ in range(2):
            guided(control_plane, replicas, pods, terminal)
    say(f"{pods.made} pods bound in {pods.seconds:.0f} s; {len(pods.failed)} failed")
    assert pods.failed == []


def guided(plane, replicas, pods, terminal):
    """One rotation of the extender's authority as a person goes through it."""
    before, former = authorities(plane, "extender"), SecondScheduler(replicas)
    scheduler = plane.children["kube-scheduler"]

    assert "gpusched certs issue DIR" in terminal.type(ADVANCE)
    after = authorities(plane, "extender")
    assert (after["current"], after["former"]) == (before["next"], before["current"])
    assert after["next"] not in before.values()
    # Whoever leads then is called over new connections.
    restart_leader(plane, replicas)
    more(plane, pods)
    assert plane.children["kube-scheduler"] is scheduler
    again = terminal.run(ADVANCE)
    assert (again.returncode, "is not finished" in again.stderr) == (1, True)

    terminal.type(ISSUE)
    shutil.copytree(terminal.folder / "files", replicas.certificates / "scheduler", dirs_exist_ok=True)
    plane.restart_scheduler(replicas.scheduler_configuration())
    more(plane, pods)
    terminal.type(FINISH)
    plane.wait_until(lambda: refused(former), 30, "the former certificate is refused")
    more(plane, pods)


def restart_leader(plane, replicas):
    leader = replicas.leader()
    plane.stop(leader.name)
    replicas.start_replica(leader)
    replicas.wait_ready(leader)
    plane.wait_until(replicas.leader, 60, "a leader")


def more(plane, calls):
    """Wait until some more were made."""
    least = calls.made + 5
    plane.wait_until(lambda: calls.made >= least, 60, "more pods bound")


def refused(caller):
    try:
        caller.filter(pod("p"), "certs-h100")
    except (ssl.SSLError, OSError, http.client.HTTPException):
        return True
    return False


@pytest.mark.parametrize("shown", ["nothing", "a certificate of somebody else"])
def test_a_caller_without_the_certificate_gets_nothing(control_plane, replicas, tmp_path, shown):
    known = SecondScheduler(replicas)
    assert known.filter(pod("p"), "nowhere")["Error"] == ""
    stranger = SecondScheduler(replicas)
    stranger._context = ssl.create_default_context(cafile=str(replicas.certificates / "scheduler" / "ca.crt"))
    if shown != "nothing":
        now = datetime.now(UTC)
        pair = issue_leaf(issue_ca("x", now, timedelta(1)), (SCHEDULER,), now, timedelta(1), client=True)
        (tmp_path / "client.pem").write_bytes(pair.certificate + pair.key)
        stranger._context.load_cert_chain(tmp_path / "client.pem")
    assert refused(stranger)
