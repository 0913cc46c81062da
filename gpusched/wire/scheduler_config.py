"""The KubeSchedulerConfiguration stanza that makes kube-scheduler call gpusched (kubescheduler.config.k8s.io/v1)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from gpusched.core.catalogue import mig_profiles
from gpusched.core.names import DEFAULT_SCHEDULER, OWN_NAMESPACE
from gpusched.core.resources import GpuResources
from gpusched.policy.model import Config

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
KIND: Final = "KubeSchedulerConfiguration"
#: The Lease of a scheduler whose configuration names none (kube-scheduler, apis/config/v1/defaults.go).
_LEASE: Final = "kube-scheduler"
_AMD_COMPUTE: Final = ("spx", "dpx", "tpx", "qpx", "cpx")
_AMD_MEMORY: Final = ("nps1", "nps2", "nps4", "nps8")


class Endpoint(msgspec.Struct, frozen=True):
    """Where kube-scheduler reaches the extender. `tls_directory` holds tls.crt, tls.key and ca.crt on its host.

    `server_name` is the name that the extender's certificate must have, where the URL has an address instead.
    """

    url: str = f"https://gpusched.{OWN_NAMESPACE}.svc:8444"
    tls_directory: str = "/etc/kubernetes/gpusched"
    server_name: str = ""


def managed_resources(resources: GpuResources, present: Iterable[str]) -> list[str]:
    """Every GPU resource name a pod may use. There are no wildcards, and a pod that asks for a name that is missing
    here goes round the extender without notice.
    """
    mig = {f"nvidia.com/mig-{profile}" for profile in mig_profiles()}
    partitions = {f"amd.com/{compute}_{memory}" for compute in _AMD_COMPUTE for memory in _AMD_MEMORY}
    names = {*resources.known, *mig, *(f"{name}.shared" for name in mig), *partitions}
    names.update(name for name in present if resources.vendor(name) is not None)
    return sorted(names)


def extender_stanza(
    config: Config, endpoint: Endpoint, names: Iterable[str], *, break_glass: bool
) -> dict[str, object]:
    """One element of `extenders`. The break-glass form lets pods be scheduled while gpusched is down: ignorable, and
    without the bind verb, which kube-scheduler would otherwise insist on.
    """
    stanza: dict[str, object] = {
        "urlPrefix": endpoint.url,
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "preemptVerb": "preempt",
        "bindVerb": "bind",
        "weight": config.weight,
        "httpTimeout": f"{config.http_timeout_ms}ms",
        "nodeCacheCapable": True,
        "ignorable": break_glass,
        "managedResources": [{"name": name, "ignoredByScheduler": False} for name in names],
    }
    if break_glass:
        del stanza["bindVerb"]
    if endpoint.url.startswith("https://"):
        # Always a CA: without one kube-scheduler trusts any server. Files, since keyData is printed in its log.
        stanza["enableHTTPS"] = True
        directory = endpoint.tls_directory.rstrip("/")
        stanza["tlsConfig"] = {
            "certFile": f"{directory}/tls.crt",
            "keyFile": f"{directory}/tls.key",
            "caFile": f"{directory}/ca.crt",
            **({"serverName": endpoint.server_name} if endpoint.server_name else {}),
        }
    return stanza


def scheduler_config(stanza: Mapping[str, object], second: str = "") -> dict[str, object]:
    """A whole configuration with this extender and everything else by default.

    `second` is the name of the second scheduler that it is for, which answers to that name alone and has a Lease of
    its own in gpusched's namespace: with the default one's it would wait for as long as that one lives. Empty for the
    default scheduler.
    """
    head: dict[str, object] = {"apiVersion": API_VERSION, "kind": KIND}
    if second:
        head["leaderElection"] = {"resourceNamespace": OWN_NAMESPACE, "resourceName": second}
        head["profiles"] = [{"schedulerName": second}]
    return head | {"extenders": [dict(stanza)]}


def merge(existing: Mapping[str, object], stanza: Mapping[str, object], second: str = "") -> dict[str, object] | str:
    """The existing configuration with the extender in it, in place of an earlier one at the same address; for a second
    scheduler with its name and its Lease too, where it has none.

    A text instead says why that cannot be: kube-scheduler allows one extender with a bind verb, and every managed
    resource in one extender alone. A second scheduler must not be the default one as well: the extender would serve
    both, and no pod would be spared a gpusched that is down.
    """
    if (existing.get("apiVersion"), existing.get("kind")) != (API_VERSION, KIND):
        return f"expected {API_VERSION} {KIND}, not {existing.get('apiVersion')} {existing.get('kind')}"
    extenders = existing.get("extenders")
    if extenders is not None and not isinstance(extenders, list):
        return "extenders must be a list"
    listed = extenders or []
    problem = next((text for item in listed if (text := _clash(item, stanza)) is not None), None)
    merged = _named(existing, second) if second and problem is None else existing
    return problem or (merged if isinstance(merged, str) else {**merged, "extenders": _placed(listed, dict(stanza))})


def _named(existing: Mapping[str, object], second: str) -> Mapping[str, object] | str:
    """The configuration with the second scheduler's profile and Lease."""
    profiles = existing.get("profiles") or [{"schedulerName": second}]
    election = existing.get("leaderElection") or {}
    if not isinstance(profiles, list) or not all(isinstance(profile, Mapping) for profile in profiles):
        return "profiles must be a list of mappings"
    if not isinstance(election, Mapping):
        return "leaderElection must be a mapping"
    # kube-scheduler gives one profile without a name that of the default scheduler (apis/config/v1/defaults.go).
    names = [profile.get("schedulerName") or DEFAULT_SCHEDULER for profile in profiles]
    if DEFAULT_SCHEDULER in names or second not in names:
        found = ", ".join(map(str, names))
        return f"profiles are {found}; those of a second scheduler are {second} and never {DEFAULT_SCHEDULER}"
    lease = election.get("resourceName")
    if lease in (None, "", _LEASE):
        election = {"resourceNamespace": OWN_NAMESPACE, **election, "resourceName": second}
    return {**existing, "leaderElection": election, "profiles": profiles}


def _placed(listed: Sequence[object], stanza: dict[str, object]) -> list[object]:
    """The list with the stanza where the first one at its address stood, at the end if there was none.

    kube-scheduler calls extenders in their order, so the place may be meant.
    """
    place = next((index for index, item in enumerate(listed) if _same_address(item, stanza)), len(listed))
    after = [item for item in listed[place:] if not _same_address(item, stanza)]
    return [*listed[:place], stanza, *after]


def _same_address(item: object, stanza: Mapping[str, object]) -> bool:
    return isinstance(item, Mapping) and _address(item) == _address(stanza)


def _address(extender: Mapping[str, object]) -> str:
    # kube-scheduler trims the slashes too before it appends the verb.
    return str(extender.get("urlPrefix", "")).rstrip("/")


def _clash(item: object, stanza: Mapping[str, object]) -> str | None:
    if not isinstance(item, Mapping):
        return "every extender must be a mapping"
    if _same_address(item, stanza):
        return None
    where = f"extender {item.get('urlPrefix')}"
    if item.get("bindVerb") and stanza.get("bindVerb"):
        return f"{where} has a bindVerb too: kube-scheduler allows one extender that binds"
    twice = sorted(_managed(item) & _managed(stanza))
    return f"{where} manages {', '.join(twice)} too: each resource may be managed by one extender" if twice else None


def _managed(item: Mapping[str, object]) -> set[str]:
    listed = item.get("managedResources")
    entries = listed if isinstance(listed, list) else []
    return {str(entry.get("name")) for entry in entries if isinstance(entry, Mapping)}
