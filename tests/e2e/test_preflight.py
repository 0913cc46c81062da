"""`gpusched install preflight` writes nothing, and what it foresees is what installing then does."""

import json
import os
import subprocess
from typing import Any

import msgspec
import pytest

from gpusched.cli.install_objects import path_of
from gpusched.doctor.preflight import Placed
from gpusched.local.control_plane import ControlPlane
from gpusched.local.credentials import Identity
from gpusched.local.installed import Installed
from gpusched.local.options import Options
from tests.build import h100_node, namespace, node, pod, t4_node
from tests.cli.commands import Ran, run
from tests.e2e.scheduling import bound_node, create
from tests.e2e.seen import nodes_seen
from tests.manifests.overlays import MANIFESTS

LOOKER = "looker"
INSTALLER = "installer"
GPUSCHED = "system:serviceaccount:gpusched-system:gpusched"
#: Reads too.
AUDIT = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "users": [LOOKER, INSTALLER, GPUSCHED]}, {"level": "None"}],
}
READING = {"get", "list", "watch"}
NVIDIA = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}, "handler": "nvidia"}
SCHEDULER = pod("kube-scheduler-a", "kube-system", gpus=None, labels={"component": "kube-scheduler"}, nodeName="pf-cpu")
TAINT = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
NODES = [t4_node("pf-t4", gpus=2, replicas=4, taints=TAINT), h100_node("pf-h100"), node("pf-cpu", gpus=None)]
#: As the API server has it, apart from where the request was sent.
Key = tuple[str, str, str]


class Story(msgspec.Struct):
    """What was foreseen, and what happened then: writes of the one who looked, objects that installing created."""

    foreseen: Ran
    policy: Ran
    requests: list[str]
    created: set[Key]
    made: set[Key]
    labels: dict[str, set[str]]
    pod: dict[str, Any]
    again: Ran


@pytest.fixture(scope="module")
def story(binaries, client_programs, tmp_path_factory) -> Story:
    """A cluster with GPU nodes and a running pod: looked at, installed on, and looked at again."""
    folder = tmp_path_factory.mktemp("preflight")
    audited = folder / "audit.json"
    audited.write_text(json.dumps(AUDIT), encoding="utf-8")
    options = Options(
        audit=True,
        identities={name: Identity(name, ("system:masters",)) for name in (LOOKER, INSTALLER)},
        arguments={
            "kube-apiserver": ("--service-cluster-ip-range=10.96.0.0/12", f"--audit-policy-file={audited}"),
        },
    )
    proposed = folder / "policy.json"
    proposed.write_text(json.dumps(namespace("team-a", families="ampere")), encoding="utf-8")
    with ControlPlane(binaries, options) as plane:
        plane.create_nodes(NODES)
        plane.apply([NVIDIA, namespace("team-a")])
        for tree in (SCHEDULER, pod("before", "team-a", annotations={"gpusched.io/families": "hopper"})):
            create(plane, tree)
        bound_node(plane, "team-a", "before")
        plane.wait_for("/api/v1/namespaces/kube-system/serviceaccounts", lambda tree: tree["items"] or None)

        foreseen = preflight(plane)
        policy = preflight(plane, "--policy", str(proposed))
        requests = [event["verb"] for event in entries(plane, LOOKER)]
        kubectl(client_programs, plane, "apply", "-k", str(MANIFESTS / "overlays" / "kubeadm"))
        created = changed(plane, INSTALLER)
        again = preflight(plane)
        kubectl(client_programs, plane, "delete", "-k", str(MANIFESTS / "overlays" / "kubeadm"))
        with Installed(plane):
            nodes_seen(plane, "pf-t4", "pf-h100")
            labels = {item["metadata"]["name"]: own(item) for item in plane.get("/api/v1/nodes")["items"]}
            new = create(plane, pod("after", "team-a"))
            made = changed(plane, GPUSCHED)
        return Story(foreseen, policy, requests, created, made, labels, new, again)


def preflight(plane: ControlPlane, *arguments: str) -> Ran:
    return run("install", "preflight", "--kubeconfig", plane.kubeconfig(LOOKER), "-o", "json", *arguments)


def kubectl(programs, plane: ControlPlane, *words: str) -> None:
    environment = {**os.environ, "KUBECONFIG": str(plane.kubeconfig(INSTALLER))}
    command = [str(programs["kubectl"]), *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def entries(plane: ControlPlane, user: str) -> list[Any]:
    """Finished requests of a user for objects and for what the API server says of itself."""
    lines = (plane.logs / "audit.log").read_text(encoding="utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    return [item for item in events if item["stage"] == "ResponseComplete" and item["user"]["username"] == user]


def changed(plane: ControlPlane, user: str) -> set[Key]:
    """Objects that a user created."""
    found = set()
    for event in entries(plane, user):
        about = event.get("objectRef", {})
        if event["verb"] == "create" and event["responseStatus"]["code"] == 201 and not about.get("subresource"):
            found.add((about["resource"], about.get("namespace", ""), about.get("name", "")))
    return found


def keys(ran: Ran, made_by: str) -> set[Key]:
    """Objects that were foreseen."""
    items = [msgspec.convert(item, Placed) for item in ran.json["changes"]["objects"]]
    return {(path_of(item).split("/")[-2], item.namespace, item.name) for item in items if item.made_by == made_by}


def own(tree: Any) -> set[str]:
    return {key for key in tree["metadata"]["labels"] if key.startswith("gpusched.io/")}


def facts(ran: Ran) -> dict[str, str]:
    return {item["title"]: item["text"] for item in ran.json["there"]}


def test_nothing_stands_in_the_way_and_nothing_is_written(story: Story) -> None:
    assert (story.foreseen.code, story.foreseen.err) == (0, "")
    assert story.foreseen.json["problems"] == []
    assert len(story.requests) > 20
    assert set(story.requests) <= READING


def test_what_is_there(story: Story) -> None:
    there = facts(story.foreseen)

    assert there["Kubernetes"].endswith("; matchConditions of webhooks served; ValidatingAdmissionPolicy served")
    assert there["device plugins"] == "nvidia.com/gpu on 2 nodes"
    assert there["RuntimeClasses"] == "nvidia"
    assert there["nodes"] == "3 nodes, 2 with GPUs"
    assert there["other webhooks"] == "none changes pods at their creation"
    assert there["other schedulers"] == "none"
    assert there["gpusched"] == "not installed"
    assert story.foreseen.json["judged"] == 1
    assert story.foreseen.json["overlay"] == {
        "name": "kubeadm",
        "why": "kube-scheduler is a pod: kube-system/kube-scheduler-a",
    }


def test_a_proposed_policy_names_what_it_would_refuse(story: Story) -> None:
    assert story.policy.code == 1
    problems = {item["check"]: item["sights"] for item in story.policy.json["problems"]}
    assert set(problems) == {"workloads-refused", "family-absent"}
    assert [sight["subject"] for sight in problems["workloads-refused"]] == ["pod/team-a/before"]


def test_objects_named_are_those_that_are_created(story: Story) -> None:
    assert keys(story.foreseen, "overlay") == story.created


def test_objects_made_at_work_are_those_named(story: Story) -> None:
    made = {key for key in story.made if key[0] in {"secrets", "leases"}}
    others = {key[0] for key in story.made - made}

    assert made == keys(story.foreseen, "gpusched")
    # Those of kube-scheduler's binding, of events and of questions about rights, none of which stays as an object of
    # gpusched's.
    assert others <= {"events", "pods", "subjectaccessreviews", "tokenreviews", "selfsubjectaccessreviews"}


def test_labels_are_those_that_were_foreseen(story: Story) -> None:
    foreseen = {name: set(item["keys"]) for item in story.foreseen.json["changes"]["labels"] for name in item["nodes"]}

    assert {name: labels for name, labels in story.labels.items() if labels} == foreseen
    assert set(foreseen) == {"pf-t4", "pf-h100"}


def test_a_new_pod_gets_what_was_foreseen(story: Story) -> None:
    (expected,) = story.foreseen.json["changes"]["pods"]
    added = [
        f"{item['key']}:{item['effect']}"
        for item in story.pod["spec"]["tolerations"]
        if not item["key"].startswith("node.kubernetes.io/")
    ]

    assert expected["resource"] == "nvidia.com/gpu"
    assert story.pod["spec"]["runtimeClassName"] == expected["runtime_class"] == "nvidia"
    assert added == expected["tolerations"] == ["nvidia.com/gpu:NoSchedule"]


def test_afterwards_it_says_what_stands(story: Story) -> None:
    standing = {item["name"] for item in story.again.json["changes"]["objects"] if item["standing"]}

    assert story.again.code == 0
    assert {"gpusched", "gpusched-system", "gpusched-webhook", "gpusched-pod-claims"} <= standing
    assert facts(story.again)["gpusched"].endswith(" there already")
