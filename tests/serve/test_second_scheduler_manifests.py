"""The shipped manifests of a second scheduler say what gpusched itself prints, and agree on one name."""

from pathlib import Path
from typing import Any

import yaml

from gpusched.core.names import DEFAULT_SCHEDULER
from gpusched.core.resources import GpuResources
from gpusched.policy.config import parse_config
from gpusched.policy.model import Config
from gpusched.wire.scheduler_config import Endpoint, extender_stanza, managed_resources, scheduler_config

FOLDER = Path(__file__).parents[2] / "manifests" / "second-scheduler"
Tree = dict[str, Any]


def documents(name: str) -> list[Tree]:
    return list(yaml.safe_load_all((FOLDER / f"{name}.yaml").read_text(encoding="utf-8")))


def config() -> Config:
    """The configuration of gpusched that goes with it."""
    (tree,) = documents("config")
    parsed, faults = parse_config(yaml.safe_load(tree["data"]["config.yaml"]))
    assert faults == ()
    return parsed


def of_kind(kind: str, name: str) -> list[Tree]:
    return [tree for tree in documents(name) if tree["kind"] == kind]


def test_the_kustomization_lists_every_file() -> None:
    (tree,) = documents("kustomization")
    (patch,) = tree["patches"]

    named = [*tree["resources"], patch["path"], "kustomization.yaml"]
    assert sorted(named) == sorted(["../base", *(path.name for path in FOLDER.glob("*.yaml"))])


def test_gpu_pods_are_sent_to_it() -> None:
    assert config() == Config(second_scheduler="gpusched-scheduler")


def test_its_configuration_is_what_gpusched_prints() -> None:
    (tree,) = documents("scheduler")
    names = managed_resources(GpuResources(), ())
    stanza = extender_stanza(config(), Endpoint(), names, break_glass=False)

    assert yaml.safe_load(tree["data"]["scheduler.yaml"]) == scheduler_config(stanza, config().second_scheduler)


def test_it_may_hold_its_lease_and_no_other() -> None:
    (role,) = of_kind("Role", "rbac")
    created, held = role["rules"]

    assert role["metadata"]["namespace"] == "kube-system"
    assert (created["resources"], created["verbs"]) == (["leases"], ["create"])
    assert (held["resources"], held["resourceNames"]) == (["leases"], [config().second_scheduler])
    assert held["verbs"] == ["get", "update"]
    assert config().second_scheduler != DEFAULT_SCHEDULER


def test_its_account_is_the_one_that_is_bound() -> None:
    (deployment,) = documents("deployment")
    (account,) = of_kind("ServiceAccount", "rbac")
    spec = deployment["spec"]["template"]["spec"]
    bound = [subject for kind in ("ClusterRoleBinding", "RoleBinding") for tree in of_kind(kind, "rbac")
             for subject in tree["subjects"]]  # fmt: skip

    assert spec["serviceAccountName"] == account["metadata"]["name"]
    name, namespace = account["metadata"]["name"], account["metadata"]["namespace"]
    assert bound == [{"kind": "ServiceAccount", "name": name, "namespace": namespace}] * 4


def test_its_files_are_where_its_configuration_says() -> None:
    (deployment,) = documents("deployment")
    (scheduler,) = documents("scheduler")
    spec = deployment["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in spec["volumes"]}

    assert mounts["extender"] == Endpoint().tls_directory
    assert f"--config={mounts['config']}/{next(iter(scheduler['data']))}" in container["command"]
    assert volumes["config"]["configMap"]["name"] == scheduler["metadata"]["name"]
