from typing import Any

import pytest
import yaml

from tests.build import node
from tests.cli.commands import Folder, run

GOOD = "apiVersion: gpusched.io/v1alpha1\nkind: Config\n"
SCHEDULER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def test_a_valid_configuration(folder: Folder) -> None:
    path = folder.write("g.yaml", GOOD + "claims: {reserve: 7%}\n")
    ran = run("config", "check", path)

    assert (ran.code, ran.out, ran.err) == (0, f"{path}: the configuration is valid\n", "")


def test_all_errors_are_told_with_their_paths(folder: Folder) -> None:
    path = folder.write(
        "g.yaml",
        GOOD + "defaultPolcy: {}\nclaims: {reserve: 200%}\nextender: {weight: heavy}\ndefaultPolicy: {mode: strict}\n",
    )
    ran = run("config", "check", path)

    assert (ran.code, ran.out) == (2, "")
    paths = [error.removeprefix(f"{path}, document 1: ").partition(":")[0] for error in ran.errors]
    assert sorted(paths) == ["claims.reserve", "defaultPolcy", "defaultPolicy.mode", "extender.weight"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty: nothing to read"),
        (f"{GOOD}---\n{GOOD}", "a configuration is one document, not 2"),
        ("apiVersion: v1\nkind: ConfigMap\n", "apiVersion"),
        ("- a\n", "a Kubernetes object is a mapping, not a list"),
    ],
)
def test_files_that_are_no_configuration(folder: Folder, text: str, message: str) -> None:
    ran = run("config", "check", folder.write("g.yaml", text))

    assert ran.code == 2
    assert message in ran.errors[0]


def test_a_file_that_is_not_there() -> None:
    ran = run("config", "check", "/nowhere/g.yaml")

    assert (ran.code, ran.errors) == (2, ["/nowhere/g.yaml: no such file or directory"])


def _scheduler(*options: object) -> dict[str, Any]:
    ran = run("config", "scheduler", *options)
    assert (ran.code, ran.err) == (0, "")
    tree = yaml.safe_load(ran.out)
    assert isinstance(tree, dict)
    return tree


def test_the_stanza_names_every_resource(folder: Folder) -> None:
    config = folder.write(
        "g.yaml", GOOD + "resources: [{name: nvidia.com/gpu-10gb, vendor: nvidia}]\nextender: {weight: 7}\n"
    )
    cluster = folder.documents("c.yaml", node(gpus=None, allocatable={"amd.com/gpu": "1", "example.com/fpga": "1"}))
    tree = _scheduler("--config", config, "--cluster", cluster, "--url", "https://10.0.0.1:8444")

    assert (tree["apiVersion"], tree["kind"]) == ("kubescheduler.config.k8s.io/v1", "KubeSchedulerConfiguration")
    (stanza,) = tree["extenders"]
    assert (stanza["urlPrefix"], stanza["weight"]) == ("https://10.0.0.1:8444", 7)
    names = {item["name"] for item in stanza["managedResources"]}
    assert {"nvidia.com/gpu", "nvidia.com/gpu-10gb", "amd.com/gpu", "nvidia.com/mig-1g.5gb"} <= names
    assert "example.com/fpga" not in names


def test_an_address_is_checked_by_the_name_in_the_certificate() -> None:
    name = "gpusched.gpusched-system.svc"
    (named,) = _scheduler("--url", "https://10.96.0.44:8444", "--server-name", name)["extenders"]
    (plain,) = _scheduler()["extenders"]

    assert named["tlsConfig"] == plain["tlsConfig"] | {"serverName": name}


def test_files_for_kube_scheduler_are_where_they_are_said_to_be() -> None:
    (stanza,) = _scheduler("--tls-directory", "/etc/rancher/k3s/gpusched/")["extenders"]

    assert stanza["tlsConfig"] == {
        "certFile": "/etc/rancher/k3s/gpusched/tls.crt",
        "keyFile": "/etc/rancher/k3s/gpusched/tls.key",
        "caFile": "/etc/rancher/k3s/gpusched/ca.crt",
    }


def test_json_says_the_same() -> None:
    assert run("config", "scheduler", "-o", "json").json == _scheduler()


def test_merging_keeps_everything_else(folder: Folder) -> None:
    existing = folder.write(
        "k.yaml",
        SCHEDULER + "profiles: [{schedulerName: mine}]\nextenders:\n- {urlPrefix: http://other, filterVerb: f}\n"
        "- {urlPrefix: 'https://gpusched.gpusched-system.svc:8444/', filterVerb: old}\n",
    )
    tree = _scheduler("--merge", existing)

    assert tree["profiles"] == [{"schedulerName": "mine"}]
    urls = [item["urlPrefix"] for item in tree["extenders"]]
    assert urls == ["http://other", "https://gpusched.gpusched-system.svc:8444"]


def test_merging_twice_is_merging_once(folder: Folder) -> None:
    once = run("config", "scheduler").out

    assert run("config", "scheduler", "--merge", folder.write("k.yaml", once)).out == once


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n", "expected kubescheduler.config.k8s.io/v1"),
        (
            f"{SCHEDULER}extenders: [{{urlPrefix: http://x, bindVerb: b}}]\n",
            "extender http://x has a bindVerb too",
        ),
        ("", "empty: nothing to read"),
        ("{apiVersion: a, kind: b}\n---\n{apiVersion: a, kind: b}\n", "expected one document, not 2"),
    ],
)
def test_files_that_cannot_be_merged_into(folder: Folder, text: str, message: str) -> None:
    ran = run("config", "scheduler", "--merge", folder.write("k.yaml", text))

    assert (ran.code, ran.out) == (2, "")
    assert message in ran.errors[0]


def test_nothing_is_printed_under_a_broken_configuration(folder: Folder) -> None:
    ran = run("config", "scheduler", "--config", folder.write("g.yaml", GOOD + "extender: {weight: heavy}\n"))

    assert (ran.code, ran.out, ran.notes) == (2, "", [])


def test_the_emergency_form() -> None:
    (stanza,) = _scheduler("--break-glass")["extenders"]

    assert stanza["ignorable"] is True
    assert "bindVerb" not in stanza


def test_a_second_scheduler(folder: Folder) -> None:
    config = folder.write("g.yaml", GOOD + "secondScheduler: gpu\n")
    tree = _scheduler("--config", config)

    assert list(tree) == ["apiVersion", "kind", "leaderElection", "profiles", "extenders"]
    lease = {"resourceNamespace": "gpusched-system", "resourceName": "gpu"}
    assert (tree["leaderElection"], tree["profiles"]) == (lease, [{"schedulerName": "gpu"}])
    assert _scheduler("--config", config, "--merge", folder.write("k.yaml", SCHEDULER)) == tree

    ran = run(
        "config",
        "scheduler",
        "--config",
        config,
        "--merge",
        folder.write("d.yaml", SCHEDULER + "profiles: [{schedulerName: default-scheduler}]\n"),
    )
    assert (ran.code, ran.out) == (2, "")
    assert "never default-scheduler" in ran.errors[0]
