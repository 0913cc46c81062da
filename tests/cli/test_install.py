"""`gpusched install preflight` on dumps, and on an API server of fixed answers."""

from pathlib import Path
from typing import Any

import pytest

from tests.build import bound, h100_node, namespace, node, pod, t4_node
from tests.cli.api import CONFIG_MAP, Api, config_map
from tests.cli.commands import Folder, Ran, run
from tests.doctor.site import webhook

NVIDIA = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}, "handler": "nvidia"}
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
HOOKS = f"{ADMISSION}/mutatingwebhookconfigurations"
ASKS = {"gpusched.io/families": "turing"}
SECTIONS = [
    "WHAT IS THERE",
    "WHICH OVERLAY FITS",
    "WHAT INSTALLING IT CHANGES",
    "PRESENT WORKLOADS",
    "WHAT STANDS IN THE WAY",
]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def preflight(folder: Folder, *trees: object, options: tuple[object, ...] = ()) -> Ran:
    return run("install", "preflight", "--cluster", folder.documents("dump.yaml", *trees), *options)


def facts(ran: Ran) -> dict[str, str]:
    return {item["title"]: item["text"] for item in ran.json["there"]}


def test_a_dump_in_order(folder: Folder) -> None:
    ran = preflight(folder, t4_node("a"), NVIDIA, bound(pod("p"), "a", ours=False))

    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert [line for line in lines if line.isupper() and not line.startswith(" ")] == SECTIONS
    assert lines[-1] == "  nothing"
    assert max(map(len, lines)) <= 100


def test_every_problem_has_its_fix(folder: Folder) -> None:
    ran = preflight(folder, node("x", gpus=2), namespace(), bound(pod("p"), "x", ours=False))

    assert ran.code == 1
    text = ran.out.partition("WHAT STANDS IN THE WAY\n")[2]
    assert text.startswith("WARNING  what the GPUs are is not known  (facts-unknown)\n")
    assert text.count("  Fix      ") == text.count("  Seen     ") == 1


def test_proposed_policy_and_configuration_judge_what_runs(folder: Folder) -> None:
    runs = bound(pod("p", annotations=ASKS), "a", ours=False)
    cluster = (t4_node("a"), h100_node("h"), namespace(), namespace("elsewhere"), runs)
    policy = folder.documents("policy.yaml", namespace(families="hopper"))
    head = "apiVersion: gpusched.io/v1alpha1\nkind: Config\n"
    config = folder.write("config.yaml", f"{head}defaultPolicy: {{mode: enforce, families: [hopper]}}\n")

    assert preflight(folder, *cluster).code == 0
    for options in (("--policy", policy), ("--config", config)):
        ran = preflight(folder, *cluster, options=(*options, "-o", "json"))
        assert ran.code == 1
        assert [problem["check"] for problem in ran.json["problems"]] == ["workloads-refused"]
    assert preflight(folder, *cluster, options=("--policy", policy, "-n", "elsewhere")).code == 0


def test_a_managed_control_plane(folder: Folder) -> None:
    tree = t4_node("a", providerID="scaleway://instance/fr-par-2/x")
    ran = preflight(folder, tree, NVIDIA)
    text = " ".join(ran.out.split())

    assert ran.code == 0
    assert "overlays/managed nodes are of Scaleway, and no kube-scheduler is in kube-system" in text
    assert "; in namespaces labelled gpusched.io/enabled=true but kube-system, " in text
    assert "all: schedulerName gpusched-scheduler, where they name none" in text
    assert "Deployment gpusched, gpusched-scheduler" in text


def test_bad_input_is_exit_code_2(folder: Folder) -> None:
    bad = folder.documents("policy.yaml", namespace(families="hoper"))
    ran = preflight(folder, t4_node("a"), NVIDIA, options=("--policy", bad))

    assert ran.code == 2
    assert ran.errors == [
        (
            f'{bad}, document 1: metadata.annotations: Namespace team-a: gpusched.io/families "hoper", which is no GPU'
            " family; write hopper"
        )
    ]
    assert preflight(folder, options=("--config", folder.write("c.yaml", "kind: Config\nnodes: 1\n"))).code == 2
    assert run("install", "preflight", "--cluster", "/nonexistent").code == 2


def test_a_cluster_that_cannot_be_reached_is_exit_code_3(folder: Folder) -> None:
    assert run("install", "preflight", "--kubeconfig", "/nonexistent").code == 3


def test_json_has_all_parts(folder: Folder) -> None:
    ran = preflight(folder, t4_node("a"), NVIDIA, options=("-o", "json"))

    assert list(ran.json) == [
        "there",
        "overlay",
        "changes",
        "violations",
        "counts",
        "judged",
        "problems",
        "errors",
    ]
    assert list(ran.json["changes"]) == ["objects", "opt_in", "second_scheduler", "webhooks", "labels", "pods"]


def test_a_dump_may_hold_webhooks_and_definitions(folder: Folder) -> None:
    kueue = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "workloads.kueue.x-k8s.io"},
        "spec": {"group": "kueue.x-k8s.io"},
    }
    hami = webhook("hami-webhook") | {"apiVersion": "admissionregistration.k8s.io/v1"}
    ran = preflight(folder, kueue, hami, options=("-o", "json"))

    assert facts(ran)["other schedulers"] == "Kueue; hami-webhook"
    assert [problem["check"] for problem in ran.json["problems"]] == ["other-gpu-webhook"]


class Bare(Api):
    """A cluster without gpusched."""

    def __init__(self, *trees: Any) -> None:
        super().__init__(*trees)
        self.answers["/version"] = 200, {"major": "1", "minor": "37", "gitVersion": "v1.37.2"}
        self.answers["/apis"] = 200, {"groups": [{"name": "apps"}, {"name": "scheduling.volcano.sh"}]}
        self.answers[ADMISSION] = 200, {"resources": [{"name": "validatingadmissionpolicies"}]}
        self.answers[HOOKS] = 200, {"items": [{key: part for key, part in webhook("istio").items() if key != "kind"}]}
        self.answers[HOOKS.replace("mutating", "validating")] = 200, {"items": []}


def live(api: Api, folder: Folder, *options: str) -> Ran:
    return run("install", "preflight", "--kubeconfig", api.kubeconfig(folder.path), "-o", "json", *options)


def test_a_live_cluster_tells_more(folder: Folder) -> None:
    scheduler = pod("kube-scheduler-a", "kube-system", gpus=None, labels={"component": "kube-scheduler"})
    with Bare(t4_node("a"), NVIDIA, scheduler) as api:
        ran = live(api, folder)

    assert (ran.code, ran.err) == (0, "")
    there = facts(ran)
    assert there["Kubernetes"] == ("v1.37.2; matchConditions of webhooks served; ValidatingAdmissionPolicy served")
    assert there["other webhooks"] == "istio change pods at their creation"
    assert there["other schedulers"] == "Volcano"
    assert there["gpusched"] == "not installed"
    assert ran.json["overlay"]["name"] == "kubeadm"
    assert {item["standing"] for item in ran.json["changes"]["objects"]} == {False, None}


def test_what_stands_already_is_marked(folder: Folder) -> None:
    with Bare(t4_node("a"), NVIDIA) as api:
        api.answers["/api/v1/namespaces/gpusched-system"] = 200, {}
        api.answers[CONFIG_MAP] = 200, config_map("apiVersion: gpusched.io/v1alpha1\nkind: Config\n")
        ran = live(api, folder)

    assert facts(ran)["gpusched"] == "ConfigMap gpusched, Namespace gpusched-system there already"
    standing = {item["name"] for item in ran.json["changes"]["objects"] if item["standing"]}
    assert standing == {"gpusched", "gpusched-system"}


def test_what_may_not_be_read_is_told_and_stops_nothing(folder: Folder) -> None:
    with Bare(t4_node("a"), NVIDIA) as api:
        api.forbid(HOOKS, "/apis/coordination.k8s.io/v1/namespaces/gpusched-system/leases/gpusched")
        ran = live(api, folder)

    assert ran.code == 0
    (problem,) = ran.json["problems"]
    assert (problem["check"], problem["severity"]) == ("not-examined", "info")
    assert [sight["subject"] for sight in problem["sights"]] == ["webhook configurations", "Lease gpusched"]
    assert facts(ran)["other webhooks"] == "not known"


def test_no_secret_is_read(folder: Folder) -> None:
    with Bare(t4_node("a"), NVIDIA) as api:
        live(api, folder)
        asked = [path for path, _ in api.requests]

    assert asked
    assert [path for path in asked if "/secrets" in path] == []
