"""Waits for what gpusched takes in by watches, so that a test begins with it known."""

import contextlib
import secrets

from tests.build import namespace, pod

_SENTINEL = "e2e-sentinel"
_MOST = 1_000_000
_MARK = {"key": "e2e-configured", "operator": "Exists"}


def policy(plane, name, labels=None, **annotations):
    """Give a Namespace this policy and no other; returns when gpusched judges by it."""
    plane.apply([namespace(name, labels, **annotations)])
    namespaces_seen(plane)


def namespaces_seen(plane):
    """Return when gpusched knows all Namespaces as they are: events of one kind come in order."""
    most = secrets.randbelow(_MOST) + 1
    plane.apply([namespace(_SENTINEL, max_gpus_per_pod=str(most))])
    probe = pod("probe", _SENTINEL, gpus=_MOST + 1)
    plane.wait_until(
        lambda: f"allows {most} per pod" in plane.create(probe, dry_run=True).message, what="policy seen by gpusched"
    )


def nodes_seen(plane, *names):
    """Return when these GPU nodes carry their labels, which gpusched wrote after it had seen all earlier changes."""
    for name in names:
        plane.wait_for(f"/api/v1/nodes/{name}", lambda tree: "gpusched.io/vendor" in tree["metadata"]["labels"])


@contextlib.contextmanager
def configured(installed, plane, changes, was):
    """Run gpusched with a changed configuration, and with that of before afterwards; a toleration shows which it is."""

    def marked():
        return _MARK in plane.create(pod("probe", "default"), dry_run=True).expect()["spec"]["tolerations"]

    installed.configure({**changes, "tolerations": [*changes.get("tolerations", ()), _MARK]})
    try:
        plane.wait_until(marked, what="configuration taken by gpusched")
        yield
    finally:
        installed.configure({"tolerations": [], **was})
        plane.wait_until(lambda: not marked(), what="configuration taken back by gpusched")


def denied(message, webhook="pods.mutate"):
    """What the API server makes of a refusal."""
    return f'admission webhook "{webhook}.gpusched.io" denied the request: {message}'
