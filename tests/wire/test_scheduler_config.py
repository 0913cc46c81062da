import re
from collections.abc import Sequence
from typing import Any

import pytest

from gpusched.core.resources import GpuResources
from gpusched.policy.model import Config
from gpusched.wire.scheduler_config import (
    API_VERSION,
    KIND,
    Endpoint,
    extender_stanza,
    managed_resources,
    merge,
    scheduler_config,
)

RENAMED = GpuResources({"nvidia.com/gpu-10gb": "nvidia"})
ENDPOINT = Endpoint("https://gpusched.example:8444", "/etc/gpusched/")
NAMES = ["amd.com/gpu", "nvidia.com/gpu"]
# apimachinery validation.IsQualifiedName and IsDNS1123Subdomain, in one.
QUALIFIED = re.compile(
    r"(?=.{1,253}/)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/"
    r"(?=.{1,63}$)[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
)


def stanza(*, break_glass: bool = False, names: Sequence[str] = NAMES, endpoint: Endpoint = ENDPOINT) -> dict[str, Any]:
    return extender_stanza(Config(), endpoint, names, break_glass=break_glass)


def existing(*extenders: object, **more: object) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": KIND, "extenders": list(extenders)} | more


def scheduler_accepts(config: Any) -> bool:
    """The rules of kube-scheduler, pkg/scheduler/apis/config/validation/validation.go, validateExtenders."""
    managed: list[str] = []
    binders = 0
    for extender in config["extenders"]:
        if extender.get("prioritizeVerb") and extender.get("weight", 0) <= 0:
            return False
        binders += bool(extender.get("bindVerb"))
        for resource in extender.get("managedResources", []):
            name = resource["name"]
            native = "kubernetes.io/" in name or "/" not in name
            if native or not QUALIFIED.fullmatch(f"requests.{name}") or name in managed:
                return False
            managed.append(name)
    return binders <= 1


def test_the_stanza() -> None:
    assert stanza() == {
        "urlPrefix": "https://gpusched.example:8444",
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "preemptVerb": "preempt",
        "bindVerb": "bind",
        "weight": 20,
        "httpTimeout": "1000ms",
        "nodeCacheCapable": True,
        "ignorable": False,
        "managedResources": [
            {"name": "amd.com/gpu", "ignoredByScheduler": False},
            {"name": "nvidia.com/gpu", "ignoredByScheduler": False},
        ],
        "enableHTTPS": True,
        "tlsConfig": {
            "certFile": "/etc/gpusched/tls.crt",
            "keyFile": "/etc/gpusched/tls.key",
            "caFile": "/etc/gpusched/ca.crt",
        },
    }


def test_break_glass_is_ignorable_and_never_binds() -> None:
    normal, emergency = stanza(), stanza(break_glass=True)
    del normal["bindVerb"]
    assert emergency == normal | {"ignorable": True}


def test_plain_http_has_no_tls() -> None:
    local = stanza(endpoint=Endpoint("http://127.0.0.1:8444"))
    assert not {"enableHTTPS", "tlsConfig"} & local.keys()


def test_configured_weight_and_timeout() -> None:
    config = Config(weight=7, http_timeout_ms=2500)
    found = extender_stanza(config, ENDPOINT, NAMES, break_glass=False)
    assert (found["weight"], found["httpTimeout"]) == (7, "2500ms")


def test_managed_resources_are_every_gpu_resource() -> None:
    present = ["cpu", "memory", "nvidia.com/mig-9g.9gb", "example.com/fpga", "nvidia.com/gpumem"]
    names = managed_resources(RENAMED, present)
    assert names == sorted(set(names))
    assert {
        *RENAMED.known,
        "nvidia.com/gpu-10gb",
        "nvidia.com/mig-1g.5gb",
        "nvidia.com/mig-1g.5gb.shared",
        "nvidia.com/mig-1g.5gb.me",
        "nvidia.com/mig-9g.9gb",
        "amd.com/cpx_nps4",
        "amd.com/tpx_nps1",
        "gpu.intel.com/xe",
    } <= set(names)
    assert [name for name in names if RENAMED.vendor(name) is None] == []


@pytest.mark.parametrize("break_glass", [False, True])
def test_kube_scheduler_accepts_it(break_glass: bool) -> None:
    names = managed_resources(RENAMED, ["nvidia.com/mig-1g.5gb"])
    config = scheduler_config(stanza(break_glass=break_glass, names=names))
    assert (config["apiVersion"], config["kind"]) == (API_VERSION, KIND)
    assert scheduler_accepts(config)


def test_merge_keeps_everything_else() -> None:
    other = {"urlPrefix": "http://other", "filterVerb": "filter", "managedResources": [{"name": "example.com/fpga"}]}
    profiles = [{"schedulerName": "default-scheduler"}]
    merged = merge(existing(other, profiles=profiles), stanza())
    assert merged == existing(other, stanza(), profiles=profiles)
    assert scheduler_accepts(merged)


@pytest.mark.parametrize("extenders", [[], None])
def test_merge_into_a_configuration_without_extenders(extenders: object) -> None:
    assert merge(existing() | {"extenders": extenders}, stanza()) == existing(stanza())


def test_merge_replaces_an_earlier_one_in_its_place() -> None:
    first, last = {"urlPrefix": "http://a"}, {"urlPrefix": "http://b"}
    ours = stanza(break_glass=True) | {"urlPrefix": "https://gpusched.example:8444/"}
    assert merge(existing(first, ours, last, ours), stanza()) == existing(first, stanza(), last)


def test_merge_twice_is_merge_once() -> None:
    once = merge(existing({"urlPrefix": "http://a"}), stanza())
    assert isinstance(once, dict)
    assert merge(once, stanza()) == once


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        (
            {"apiVersion": "kubescheduler.config.k8s.io/v1beta3", "kind": KIND},
            f"expected {API_VERSION} {KIND}, not kubescheduler.config.k8s.io/v1beta3 {KIND}",
        ),
        (existing() | {"extenders": {}}, "extenders must be a list"),
        (existing("x"), "every extender must be a mapping"),
        (
            existing({"urlPrefix": "http://other", "bindVerb": "bind"}),
            "extender http://other has a bindVerb too: kube-scheduler allows one extender that binds",
        ),
        (
            existing({"urlPrefix": "http://other", "managedResources": [{"name": "nvidia.com/gpu"}, {"name": "a/b"}]}),
            "extender http://other manages nvidia.com/gpu too: each resource may be managed by one extender",
        ),
    ],
)
def test_merge_says_why_not(config: dict[str, Any], problem: str) -> None:
    assert merge(config, stanza()) == problem


def test_break_glass_merges_beside_another_binder() -> None:
    other = {"urlPrefix": "http://other", "bindVerb": "bind"}
    assert merge(existing(other), stanza(break_glass=True)) == existing(other, stanza(break_glass=True))


LEASE = {"resourceNamespace": "gpusched-system", "resourceName": "gpu"}
SECOND = {"leaderElection": LEASE, "profiles": [{"schedulerName": "gpu"}]}


def test_a_second_scheduler_has_a_name_and_a_lease_of_its_own() -> None:
    config = scheduler_config(stanza(), "gpu")
    assert config == existing(stanza()) | SECOND
    assert scheduler_accepts(config)
    assert "profiles" not in scheduler_config(stanza())


@pytest.mark.parametrize(
    ("given", "merged"),
    [
        ({}, SECOND),
        ({"profiles": None, "leaderElection": None}, SECOND),
        (SECOND, SECOND),
        (
            {"leaderElection": {"resourceName": "kube-scheduler", "leaseDuration": "1m"}},
            SECOND | {"leaderElection": LEASE | {"leaseDuration": "1m"}},
        ),
        (
            {"leaderElection": {"resourceName": "mine"}, "profiles": [{"schedulerName": "gpu", "plugins": {}}]},
            {"leaderElection": {"resourceName": "mine"}, "profiles": [{"schedulerName": "gpu", "plugins": {}}]},
        ),
    ],
)
def test_merge_into_the_configuration_of_a_second_scheduler(given: dict[str, Any], merged: dict[str, Any]) -> None:
    assert merge(existing(**given), stanza(), "gpu") == existing(stanza()) | merged


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (
            {"profiles": [{"schedulerName": "default-scheduler"}]},
            "profiles are default-scheduler; those of a second scheduler are gpu and never default-scheduler",
        ),
        (
            {"profiles": [{"schedulerName": "gpu"}, {}]},
            "profiles are gpu, default-scheduler; those of a second scheduler are gpu and never default-scheduler",
        ),
        (
            {"profiles": [{"schedulerName": "other"}]},
            "profiles are other; those of a second scheduler are gpu and never default-scheduler",
        ),
        ({"profiles": {}}, None),
        ({"profiles": {"a": 1}}, "profiles must be a list of mappings"),
        ({"profiles": ["gpu"]}, "profiles must be a list of mappings"),
        ({"leaderElection": [1]}, "leaderElection must be a mapping"),
        ({"extenders": {}}, "extenders must be a list"),
    ],
)
def test_merge_says_why_not_for_a_second_scheduler(given: dict[str, Any], problem: str | None) -> None:
    found = merge({"apiVersion": API_VERSION, "kind": KIND} | given, stanza(), "gpu")
    assert (found if isinstance(found, str) else None) == problem
