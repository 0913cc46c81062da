"""Checks of gpusched itself on a live cluster: its webhooks, certificates, leader, and the scheduler that asks it."""

from collections.abc import Iterable, Iterator
from typing import Final

from gpusched.admission.messages import listed
from gpusched.doctor.check import Sight
from gpusched.doctor.scene import Installation, Probe, Scene
from gpusched.doctor.webhook_drift import drift

#: Since this version matchConditions of webhooks are always on (kubernetes/enhancements 3716), without which every pod
#: would wait for gpusched, and so are scheduling gates (3521) and ValidatingAdmissionPolicies (3488).
OLDEST: Final = (1, 30)
#: Versions that the tests run.
TESTED: Final = ("1.34", "1.35", "1.37")
#: How a replica begins the line of its readiness that tells of a clock that is wrong.
CLOCK_LINE: Final = "clock: "
_APPLY = "kubectl apply -k manifests/base"
_LOGS = "kubectl logs -n gpusched-system -l app.kubernetes.io/name=gpusched --tail=50"


def absent(scene: Scene) -> Iterator[Sight]:
    """Nothing of gpusched is installed."""
    found = scene.installation
    if found is not None and not found.present:
        yield Sight("gpusched", "no webhook configuration, no Lease and no pod of it", _APPLY)


def registration(scene: Scene) -> Iterator[Sight]:
    """Webhook configurations that are not as they are released."""
    found = _present(scene)
    if found is not None:
        for subject, seen in drift(found.webhooks, found.shipped):
            yield Sight(subject, seen, f"{_APPLY}  # the CA bundles must be written anew then")


def policies(scene: Scene) -> Iterator[Sight]:
    """Admission policies that guard annotations."""
    found = _present(scene)
    for name in found.missing_policies if found is not None else ():
        yield Sight(f"validatingadmissionpolicy/{name}", "is not there, or is not bound", _APPLY)


def bundles(scene: Scene) -> Iterator[Sight]:
    """CA bundles that cannot be parsed, or do not match what is served."""
    found = _present(scene)
    yield from _of(found.bundles if found is not None else (), "gpusched certs status")


def expiry(scene: Scene) -> Iterator[Sight]:
    """Certificates that end soon."""
    found = _present(scene)
    yield from _of(found.expiry if found is not None else (), "gpusched certs rotate  # or renew the files")


def reachable(scene: Scene) -> Iterator[Sight]:
    """Whether a GPU pod that must be refused is refused."""
    found = _present(scene)
    yield from _of((found.dry_run,) if found is not None and found.dry_run is not None else (), _LOGS)


def leader(scene: Scene) -> Iterator[Sight]:
    """Nobody leads: the extender answers nothing, gates stay, labels age."""
    found = _present(scene)
    if found is None or not found.lease_known:
        return
    if found.lease_age is None or not found.holder:
        yield Sight("lease/gpusched", "nobody holds it", _LOGS)
    elif found.lease_age > 2 * found.lease_seconds:
        yield Sight("lease/gpusched", f"{found.holder} renewed it {round(found.lease_age)} s ago", _LOGS)


def replicas(scene: Scene) -> Iterator[Sight]:
    """Replicas that say themselves that they are not ready."""
    found = _present(scene)
    yield from _of(found.replicas if found is not None else (), _LOGS)


def clocks(scene: Scene) -> Iterator[Sight]:
    """Replicas whose clocks are not the API server's."""
    found = _present(scene)
    yield from _of(found.clocks if found is not None else (), "timedatectl status  # on the node of that pod")


def scheduler(scene: Scene) -> Iterator[Sight]:
    """kube-scheduler without the extender, as far as its configuration can be read."""
    found = _present(scene)
    yield from _of(
        found.scheduler if found is not None else (),
        "gpusched config scheduler --merge FILE  # start kube-scheduler with the result",
    )


def version(scene: Scene) -> Iterator[Sight]:
    """An API server that is too old."""
    found = scene.installation
    if found is not None and found.version is not None and found.version < OLDEST:
        major, minor = found.version
        seen = f"version {major}.{minor}; gpusched needs {needed()}"
        yield Sight("kube-apiserver", seen, "upgrade the control plane")


def needed() -> str:
    """Which versions of Kubernetes gpusched runs on, in words."""
    return f"{OLDEST[0]}.{OLDEST[1]} or newer, and is tested on {listed(TESTED)}"


def strangers(scene: Scene) -> Iterator[Sight]:
    """Other webhooks that change GPU pods, or might."""
    found = scene.installation
    for name in found.strangers if found is not None else ():
        yield Sight(
            f"mutatingwebhookconfiguration/{name}",
            "changes pods of GPU software too",
            f"kubectl get mutatingwebhookconfiguration {name} -o yaml  # let one of both judge GPU pods",
        )


def unasked(scene: Scene) -> Iterator[Sight]:
    """What could not be looked into."""
    found = _present(scene)
    if found is None:
        return
    probes = (
        *found.bundles,
        *found.expiry,
        *found.replicas,
        *found.scheduler,
        *([found.dry_run] if found.dry_run else ()),
    )
    for probe in probes:
        if not probe.known:
            yield Sight(probe.name, probe.problem, "kubectl auth can-i --list  # what your rights are")


def _of(probes: Iterable[Probe], fix: str) -> Iterator[Sight]:
    for probe in probes:
        if probe.known and probe.problem:
            yield Sight(probe.name, probe.problem, fix)


def _present(scene: Scene) -> Installation | None:
    found = scene.installation
    return found if found is not None and found.present else None
