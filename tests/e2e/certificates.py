"""Calls that go on while certificates change: creates through the API server, and handshakes by what is published."""

import itertools
import json
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import msgspec

from gpusched.local.control_plane import ControlPlane
from gpusched.local.installed import Installed, serving_environment
from gpusched.local.replicas import Replicas
from tests.build import pod
from tests.e2e.scheduling import bound_node, create, delete

SECRETS = "/api/v1/namespaces/gpusched-system/secrets"
WEBHOOK, EXTENDER = f"{SECRETS}/gpusched-webhook-tls", f"{SECRETS}/gpusched-extender-tls"
MERGE = "application/merge-patch+json"
#: What is shortened for tests: a bundle is seen, and a former authority no longer needed, after so many seconds.
QUICK = ("--cert-wait", "3", "--cert-overlap", "10")
_THREADS = 6
_PAUSE = 0.05


class AtOnce(Replicas):
    """Replicas none of which waits for another one when they start."""

    def start(self) -> None:
        for replica in self.replicas:
            self.start_replica(replica)
        for replica in self.replicas:
            self.wait_ready(replica)
        self._cluster.wait_until(self.leader, 60, "a leader")

    def events(self, name: str) -> list[str]:
        """What happened in all replicas, and to which Secret."""
        logs = [(self._plane.logs / f"{replica.name}.log").read_text(encoding="utf-8") for replica in self.replicas]
        lines = [json.loads(line) for log in logs for line in log.splitlines()]
        return sorted(line["secret"] for line in lines if line["event"] == name)


class Calls(msgspec.Struct):
    """How many there were, and what was said where one failed."""

    made: int = 0
    failed: list[str] = []
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        return self.made / self.seconds


@contextmanager
def going_on(call: Callable[[], str], threads: int = 1, pause: float = 0.0) -> Iterator[Calls]:
    """Make calls all the time from several threads; a call gives the reason of a failure, empty for none."""
    calls, lock, ended = Calls(), threading.Lock(), threading.Event()

    def loop() -> None:
        while not ended.is_set():
            try:
                reason = call()
            except Exception as error:  # noqa: BLE001 - whatever it is, the test must know
                reason = repr(error)
            with lock:
                calls.made += 1
                calls.failed += [reason] if reason else []
            ended.wait(pause)

    workers = [threading.Thread(target=loop, daemon=True) for _ in range(threads)]
    began = time.monotonic()
    for worker in workers:
        worker.start()
    try:
        yield calls
    finally:
        ended.set()
        for worker in workers:
            worker.join(30)
        calls.seconds = time.monotonic() - began


@contextmanager
def creating(plane: ControlPlane, namespace: str) -> Iterator[Calls]:
    """GPU pods are created without being stored; the API server asks two webhooks of gpusched about each."""
    tree = pod("p", namespace)

    def create() -> str:
        answer = plane.create(tree, dry_run=True)
        return "" if answer.ok else f"{answer.status} {answer.message}"

    with going_on(create, _THREADS, _PAUSE) as calls:
        yield calls


@contextmanager
def connecting(installed: Installed) -> Iterator[Calls]:
    """A caller without open connections, that trusts what is published at that moment and nothing else."""

    def connect() -> str:
        for bundle in set(installed.bundles().values()):
            served(installed.webhook_url, ssl.create_default_context(cadata=bundle.decode()))
        return ""

    with going_on(connect, 1, 0.1) as calls:
        yield calls


def served(url: str, context: ssl.SSLContext) -> bytes:
    """The certificate that a server shows, DER."""
    address = urlsplit(url)
    with (
        socket.create_connection((address.hostname, address.port), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname=address.hostname) as secured,
    ):
        return secured.getpeercert(binary_form=True) or b""


def certs(plane: ControlPlane, *words: str) -> tuple[int, str, str]:
    """Run `gpusched certs` as admin: exit code, output, errors."""
    command = [sys.executable, "-m", "gpusched", "certs", *words, "--kubeconfig", str(plane.kubeconfig())]
    ran = subprocess.run(command, env=serving_environment(), capture_output=True, text=True, check=False, timeout=100)
    return ran.returncode, ran.stdout, ran.stderr


def status(plane: ControlPlane) -> Any:
    """What `gpusched certs status` says."""
    _, out, _ = certs(plane, "status", "-o", "json")
    return msgspec.json.decode(out)


def authorities(plane: ControlPlane, server: str) -> dict[str, str]:
    """Fingerprints by role; of several former authorities the last."""
    (found,) = [each for each in status(plane)["servers"] if each["server"] == server]
    return {each["role"]: each["fingerprint"] for each in found["certificates"]}


def strict(installed: Installed) -> list[dict[str, Any]]:
    """The webhooks as they are shipped, but all of them refuse what gpusched cannot be asked about."""
    trees: list[Any] = installed.webhooks()
    for tree in trees:
        for hook in tree["webhooks"]:
            hook["failurePolicy"] = "Fail"
    return trees


@contextmanager
def binding(plane: ControlPlane, namespace: str) -> Iterator[Calls]:
    """GPU pods are created, bound by kube-scheduler through the extender, and deleted again."""
    numbers = itertools.count()

    def bind() -> str:
        name = f"p-{next(numbers)}"
        create(plane, pod(name, namespace))
        bound_node(plane, namespace, name, 60)
        delete(plane, namespace, name)
        return ""

    with going_on(bind, 2) as calls:
        yield calls
