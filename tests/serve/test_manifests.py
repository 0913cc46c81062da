"""The shipped manifests say what the service relies on."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpusched.admission.template_table import TABLE
from gpusched.core.names import EXEMPT_LABEL, GPU_LESS_LABEL
from gpusched.core.resources import GpuResources
from gpusched.kube.objects import sources
from gpusched.policy.model import Config
from gpusched.serve.api import LEADER_LABEL
from gpusched.serve.options import LEASE, Options
from gpusched.wire.scheduler_config import Endpoint, managed_resources

BASE = Path(__file__).parents[2] / "manifests" / "base"
PODS, GPU_LESS = "pods.mutate.gpusched.io", "gpu-less-pods.mutate.gpusched.io"
Tree = dict[str, Any]


def documents(name: str = "*") -> Iterator[Tree]:
    for path in sorted(BASE.glob(f"{name}.yaml")):
        yield from (tree for tree in yaml.safe_load_all(path.read_text()) if tree["kind"] != "Kustomization")


def webhooks() -> list[Tree]:
    return [webhook for tree in documents("webhooks") for webhook in tree["webhooks"]]


def patterns() -> set[str]:
    text = (BASE / "webhooks.yaml").read_text()
    return set(re.findall(r"r\.matches\('([^']+)'\)", text))


def allowed(kind: str, namespace: str | None = None) -> set[tuple[str, str, str]]:
    return {
        (group, resource, verb)
        for tree in documents("rbac")
        if tree["kind"] == kind and tree["metadata"]["name"] == "gpusched"
        for rule in tree["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_the_kustomization_lists_every_file() -> None:
    listed = yaml.safe_load((BASE / "kustomization.yaml").read_text())["resources"]

    assert sorted(listed) == sorted(path.name for path in BASE.glob("*.yaml") if path.name != "kustomization.yaml")


def test_what_is_followed_may_be_read() -> None:
    cluster = allowed("ClusterRole")
    for source in sources(GpuResources):
        for path in source.paths:
            group = path.split("/")[2] if path.startswith("/apis/") else ""
            needed = {(group, path.rpartition("/")[2], verb) for verb in ("list", "watch")}
            assert needed <= cluster


def test_what_is_written_may_be_written() -> None:
    cluster = allowed("ClusterRole")

    assert {
        ("", "nodes", "patch"),
        ("", "pods", "patch"),
        ("", "pods", "get"),
        ("", "pods/binding", "create"),
        ("", "events", "create"),
        ("", "events", "patch"),
    } <= cluster
    assert not any(group == "events.k8s.io" for group, _, _ in cluster)
    assert {("coordination.k8s.io", "leases", verb) for verb in ("get", "create", "update")} <= allowed("Role")
    assert not any(verb in {"delete", "deletecollection", "*"} for _, _, verb in cluster | allowed("Role"))
    assert not any(resource == "secrets" for _, resource, _ in cluster)


def test_names_agree_with_the_code() -> None:
    services = {tree["metadata"]["name"]: tree["spec"] for tree in documents("service")}
    (lease,) = {
        name
        for tree in documents("rbac")
        if tree["kind"] == "Role"
        for rule in tree["rules"]
        if rule["resources"] == ["leases"]
        for name in rule.get("resourceNames", ())
    }

    assert lease == LEASE
    assert {tree["metadata"].get("namespace", "gpusched-system") for tree in documents()} == {Options().namespace}
    assert services["gpusched"]["selector"][LEADER_LABEL] == "true"
    port = services["gpusched"]["ports"][0]["port"]
    assert Endpoint().url == f"https://gpusched.{Options().namespace}.svc:{port}"
    assert {hook["clientConfig"]["service"]["name"] for hook in webhooks()} <= services.keys()


def test_a_dead_gpusched_stops_gpu_pods_and_nothing_else() -> None:
    assert [hook["name"] for hook in webhooks() if hook["failurePolicy"] == "Fail"] == [PODS]
    for hook in webhooks():
        assert hook["timeoutSeconds"] <= 3
        assert hook["sideEffects"] == "None"
        exempt = hook["namespaceSelector"]["matchExpressions"][0]
        assert (exempt["operator"], sorted(exempt["values"])) == ("NotIn", sorted(Config().exempt_namespaces))
        rules = [resource for rule in hook["rules"] for resource in rule["resources"]]
        assert not any("*" in resource or "/" in resource for resource in rules)
        assert hook["matchConditions"]
    assert len({hook["name"] for hook in webhooks()}) == len(webhooks())


def test_only_the_mutating_pod_webhooks_patch() -> None:
    paths = {hook["name"]: hook["clientConfig"]["service"]["path"] for hook in webhooks()}

    assert {name for name, path in paths.items() if path == "/mutate"} == {PODS, GPU_LESS}
    assert set(paths.values()) == {"/mutate", "/validate"}


def conditions(hook: Tree) -> dict[str, str]:
    """Expressions by name, their white space made one."""
    return {item["name"]: " ".join(item["expression"].split()) for item in hook["matchConditions"]}


def test_every_condition_is_the_same_but_for_where_the_pod_stands() -> None:
    pods = conditions(next(hook for hook in webhooks() if hook["name"] == PODS))["names-a-gpu"]
    places = {"pods": "object", "cronjobs": "object.spec.jobTemplate.spec.template", "podtemplates": "object.template"}
    places["workloads"] = "object.spec.template"
    seen = []
    for hook in webhooks():
        kinds = hook["name"].partition(".")[0]
        if kinds not in places:
            continue
        place = places[kinds]
        expected = re.sub(r"\bobject[.](spec|metadata)\b", rf"{place}.\1", pods)
        if kinds != "pods":
            # A pod always has metadata, a template may have none.
            bare = f"(has({place}.metadata.annotations)"
            assert bare in expected
            expected = expected.replace(bare, f"(has({place}.metadata) && has({place}.metadata.annotations)")
        assert conditions(hook)["names-a-gpu"] == expected
        seen.append(hook["name"])
    assert len(seen) == 2 * len(places)


def test_a_pod_goes_to_one_mutating_webhook_at_most() -> None:
    gpu, other = (next(hook for hook in webhooks() if hook["name"] == name) for name in (PODS, GPU_LESS))
    expected = conditions(gpu)
    expected = {"names-no-gpu": f"!({expected.pop('names-a-gpu')})"} | expected

    assert conditions(other) == expected
    assert other["rules"] == gpu["rules"]
    asked = {"key": GPU_LESS_LABEL, "operator": "In", "values": ["true"]}
    assert other["namespaceSelector"]["matchExpressions"] == [*gpu["namespaceSelector"]["matchExpressions"], asked]


def test_labels_of_namespaces_agree_with_the_code() -> None:
    for hook in webhooks():
        exempt = hook["namespaceSelector"]["matchExpressions"][1]
        assert exempt == {"key": EXEMPT_LABEL, "operator": "NotIn", "values": ["true"]}


def test_workloads_are_judged_again_when_their_pods_change() -> None:
    """Whole templates are compared, which differ wherever what `judge_workload` compares does."""
    changed = {
        hook["name"]: expression
        for hook in webhooks()
        if (expression := conditions(hook).get("template-changed")) is not None
    }
    places = {"workloads": "spec.template", "cronjobs": "spec.jobTemplate", "podtemplates": "template"}

    assert changed == {
        f"{kinds}.{phase}.gpusched.io": f"request.operation == 'CREATE' || object.{place} != oldObject.{place}"
        for kinds, place in places.items()
        for phase in ("mutate", "validate")
    }
    for (group, _), entries in TABLE.items():
        built_in = group in {"", "apps", "batch"}
        assert built_in or all(entry.path.partition(".")[0] == "spec" for entry in entries)


def test_every_kind_with_a_template_is_registered() -> None:
    registered = {
        (group, resource)
        for tree in documents("webhooks")
        if tree["kind"] == "ValidatingWebhookConfiguration"
        for hook in tree["webhooks"]
        for rule in hook["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }

    assert registered - {("", "namespaces")} == {(group, f"{kind.lower()}s") for group, kind in TABLE}


def test_every_gpu_resource_is_matched() -> None:
    (pattern,) = patterns()
    names = managed_resources(GpuResources(), ())

    assert [name for name in names if not re.search(pattern, name)] == []


@pytest.mark.parametrize("name", ["gpu", "gpus", "nvidia.com.gpu", "nvidia.com/gpus", "nvidia.com/GPU", "nvidia/gpu"])
def test_near_misses_are_matched(name: str) -> None:
    (pattern,) = patterns()

    assert re.search(pattern, name)


@pytest.mark.parametrize(
    "name",
    ["cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "aliyun.com/gpu-mem", "example.com/amd.com", "x/gpu"],
)
def test_other_resources_are_not(name: str) -> None:
    (pattern,) = patterns()

    assert not re.search(pattern, name)
