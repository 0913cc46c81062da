"""Finds out how gpusched is installed on a live cluster, by questions that change nothing there."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec

from gpusched.cli.access import Access
from gpusched.cli.inputs import Inputs
from gpusched.cli.live import ask
from gpusched.cli.questions import ADMISSION, extender_offered, get, items, name_of, webhook_configurations
from gpusched.cli.webhook_certificates import Certificates
from gpusched.core.fields import Field
from gpusched.core.names import OWN_NAMESPACE
from gpusched.doctor.gpu_software import rewriting
from gpusched.doctor.installation import CLOCK_LINE
from gpusched.doctor.scene import Installation, Probe, Tree
from gpusched.kube.session import Session
from gpusched.local.installed import documents, manifests_folder

_LEASE: Final = f"/apis/coordination.k8s.io/v1/namespaces/{OWN_NAMESPACE}/leases/gpusched"
_PODS: Final = f"/api/v1/namespaces/{OWN_NAMESPACE}/pods"
_OWN: Final = {"labelSelector": "app.kubernetes.io/name=gpusched"}
_SCHEDULERS: Final = {"labelSelector": "component=kube-scheduler"}
_ADMIN_PORT: Final = 8080
_SECONDS: Final = 10.0
#: What the probe's claim is refused with in every mode but off.
_REFUSAL: Final = "gpu-claim"


def installation(access: Access, inputs: Inputs) -> Installation:
    """Everything that can be found out. Raises Unavailable where the API server cannot be asked."""

    async def found(session: Session) -> Installation:
        return await _Inquiry(session, inputs).all()

    return ask(access, found)


class _Inquiry:
    def __init__(self, session: Session, inputs: Inputs) -> None:
        self._session = session
        self._inputs = inputs
        self._now = datetime.now(UTC)

    async def all(self) -> Installation:
        """Ask everything at the same time."""
        (hooks, _), lease, own, missing, version, schedulers = await asyncio.gather(
            webhook_configurations(self._session),
            self._get(_LEASE),
            self._get(_PODS, _OWN),
            self._missing_policies(),
            self._version(),
            self._schedulers(),
        )
        extender = await extender_offered(self._session, OWN_NAMESPACE)
        webhooks = tuple(tree for tree in hooks if name_of(tree) == "gpusched")
        replicas, clocks = await self._replicas(items(own[1]))
        certificates = Certificates(self._session, self._now)
        bundles, expiry = await certificates.examine(webhooks)
        age, seconds, holder = self._lease(lease[1])
        present = bool(webhooks) or lease[0] == 200 or bool(replicas)
        return Installation(
            present=present,
            webhooks=webhooks,
            shipped=tuple(documents(manifests_folder() / "base" / "webhooks.yaml")),
            strangers=tuple(rewriting(hooks)),
            missing_policies=missing,
            bundles=bundles,
            expiry=expiry,
            dry_run=await self._dry_run() if present else None,
            holder=holder,
            lease_known=lease[0] in {200, 404},
            lease_age=age,
            lease_seconds=seconds,
            replicas=replicas,
            clocks=clocks,
            extender=extender,
            scheduler=schedulers if extender else (),
            version=version,
        )

    async def _get(self, path: str, query: Mapping[str, str] | None = None) -> tuple[int, Tree]:
        return await get(self._session, path, query)

    async def _missing_policies(self) -> tuple[str, ...]:
        shipped = documents(manifests_folder() / "base" / "policy.yaml")
        missing = []
        for tree in shipped:
            plural = {"ValidatingAdmissionPolicy": "validatingadmissionpolicies"}.get(
                str(tree["kind"]), "validatingadmissionpolicybindings"
            )
            status, _ = await self._get(f"{ADMISSION}/{plural}/{name_of(tree)}")
            if status == 404:
                missing.append(name_of(tree))
        return tuple(dict.fromkeys(missing))

    async def _version(self) -> tuple[int, int] | None:
        _, told = await self._get("/version")
        major, minor = (str(told.get(key, "")).rstrip("+") for key in ("major", "minor"))
        return (int(major), int(minor)) if major.isdigit() and minor.isdigit() else None

    def _lease(self, lease: Tree) -> tuple[float | None, float, str]:
        """Seconds since it was renewed, how long it counts, and who holds it."""
        spec = Field(lease).get("spec")
        holder, renewed, seconds = (
            spec.get(key).value for key in ("holderIdentity", "renewTime", "leaseDurationSeconds")
        )
        age = None
        if isinstance(renewed, str):
            age = (self._now - datetime.fromisoformat(renewed)).total_seconds()
        return age, float(seconds) if isinstance(seconds, int) else 15.0, holder if isinstance(holder, str) else ""

    async def _replicas(self, pods: list[Tree]) -> tuple[tuple[Probe, ...], tuple[Probe, ...]]:
        told = await asyncio.gather(*(self._replica(name_of(pod)) for pod in pods))
        return tuple(ready for ready, _ in told), tuple(clock for _, clock in told)

    async def _replica(self, name: str) -> tuple[Probe, Probe]:
        """What a replica says of itself, its cache and its role, and of its clock, through the API server's proxy."""
        subject = f"pod/{OWN_NAMESPACE}/{name}"
        path = f"{_PODS}/{name}:{_ADMIN_PORT}/proxy/readyz"
        response = await self._session.request("GET", path, timeout=_SECONDS)
        if response.status == 403:
            return Probe(subject, response.message, known=False), Probe(subject)
        told = response.body.decode("utf-8", "replace")
        skew = next((line for line in told.splitlines() if line.startswith(CLOCK_LINE)), "")
        ready = Probe(subject, "" if response.ok else " ".join(told.split()) or f"HTTP {response.status}")
        return ready, Probe(subject, skew)

    async def _schedulers(self) -> tuple[Probe, ...]:
        _, listed = await self._get("/api/v1/namespaces/kube-system/pods", _SCHEDULERS)
        return tuple(_scheduler(pod) for pod in items(listed))

    async def _dry_run(self) -> Probe:
        """Create, without creating it, a pod whose claim nobody can read: gpusched refuses it by name."""
        namespace = self._judged_namespace()
        if namespace is None:
            return Probe("webhook", "every namespace is exempt or its mode is off: not tried", known=False)
        body = msgspec.json.encode(_probe_pod(namespace))
        response = await self._session.request(
            "POST", f"/api/v1/namespaces/{namespace}/pods", query={"dryRun": "All"}, body=body, timeout=30.0
        )
        if _REFUSAL in response.message and "denied the request" in response.message:
            return Probe("webhook")
        if response.ok:
            return Probe("webhook", f"a pod with an unreadable claim was let through in namespace {namespace}")
        if response.status == 403 and "webhook" not in response.message:
            return Probe("webhook", f"not tried: {response.message}", known=False)
        return Probe("webhook", response.message)

    def _judged_namespace(self) -> str | None:
        """A namespace in which GPU pods are judged, `default` if it is one."""
        exempt = self._inputs.config.exempt_namespaces
        names = [
            item.name
            for item in self._inputs.standing
            if item.kind == "Namespace" and item.name not in exempt and _judged(item.tree)
        ]
        return "default" if "default" in names else min(names, default=None)


def _judged(tree: Tree) -> bool:
    metadata = Field(tree).get("metadata")
    mode = metadata.get("annotations").get("gpusched.io/mode").value
    exempt = metadata.get("labels").get("gpusched.io/exempt").value
    going = metadata.get("deletionTimestamp").present
    return exempt != "true" and not going and not (isinstance(mode, str) and mode.split(",")[0].strip() == "off")


def _probe_pod(namespace: str) -> Tree:
    container = {"name": "probe", "image": "registry.k8s.io/pause", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    metadata = {"name": "gpusched-doctor", "namespace": namespace, "annotations": {"gpusched.io/gpu-memory": "unread"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


def _scheduler(pod: Tree) -> Probe:
    """Whether kube-scheduler has a configuration file at all: without one it knows no extender."""
    words = [
        str(item.value)
        for container in Field(pod).get("spec").get("containers").items()
        for key in ("command", "args")
        for item in container.get(key).items()
    ]
    configured = any(word == "--config" or word.startswith("--config=") for word in words)
    problem = "" if configured or not words else "runs without --config, so it calls no extender"
    return Probe(f"pod/kube-system/{name_of(pod)}", problem)
