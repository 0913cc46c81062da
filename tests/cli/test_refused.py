"""Workloads of a live cluster that lack pods since those were refused."""

import pytest

from tests.build import bound, h100_node, namespace, pod, t4_node
from tests.cli.api import Api
from tests.cli.commands import Ran, run
from tests.simulate.scene import owned, workload

QUOTA = (
    'pods "web-5d-" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=1, used:'
    " requests.nvidia.com/gpu=2, limited: requests.nvidia.com/gpu=2"
)
SAID = "2 of 4 pods run, 2 refused: ResourceQuota gpus is used up: 2 of 2 requests.nvidia.com/gpu, 1 requested"


@pytest.fixture
def api():
    with Api(t4_node("t"), h100_node("h"), namespace(), namespace("team-b"), pod("q", gpus=9)) as server:
        yield server


@pytest.fixture
def ask(api, tmp_path):
    def asked(*arguments: str) -> Ran:
        return run(*arguments, "--kubeconfig", api.kubeconfig(tmp_path))

    return asked


def test_the_refusal_that_a_deployment_got(api, ask):
    deployment = workload("Deployment", "web", template=pod(gpus=1))
    replicas = owned(workload("ReplicaSet", "web-5d", template=pod(gpus=1)), "Deployment", "web")
    message = (
        'pods "web-5d-" is forbidden: admission webhook "pods.mutate.gpusched.io" denied the request: gpu-claim: no'
    )
    replicas["status"] = {"conditions": [{"type": "ReplicaFailure", "status": "True", "message": message}]}
    api.put(deployment, replicas)
    ran = ask("why", "deploy/web", "-o", "json")

    assert ran.code == 1
    assert ran.json["notes"][1] == f"its controller could not create pods: {message}"


def test_the_refusal_that_a_job_got(api, ask):
    def event(message: str, time: str, name: str = "train"):
        about = {"kind": "Job", "namespace": "team-a", "name": name}
        return {
            "kind": "Event",
            "apiVersion": "v1",
            "metadata": {"name": time, "namespace": "team-a"},
            "involvedObject": about,
            "reason": "FailedCreate",
            "message": message,
            "lastTimestamp": time,
        }

    api.put(workload("Job", "train"), event("new", "2030-01-02T00:00:00Z"), event("old", "2030-01-01T00:00:00Z"))
    api.put(event("other", "2030-01-03T00:00:00Z", "eval"))

    assert ask("why", "job/train", "-o", "json").json["notes"] == [
        "0 of 1 pods run, 1 refused: new",
        "its controller could not create pods: new",
    ]


@pytest.fixture
def half_there(api):
    """A Deployment with two of four pods, of which a ResourceQuota stops the others."""
    replicas = owned(workload("ReplicaSet", "web-5d", replicas=4), "Deployment", "web")
    condition = {"type": "ReplicaFailure", "status": "True", "message": QUOTA}
    deployment = workload("Deployment", "web", replicas=4) | {"status": {"conditions": [condition]}}
    pods = [owned(bound(pod(f"web-5d-{name}", labels={"app": "web"}), "h"), "ReplicaSet", "web-5d") for name in "ab"]
    deployment["spec"]["template"]["metadata"]["labels"] = {"app": "web"}
    api.put(deployment, replicas, *pods)


@pytest.mark.parametrize("name", ["deployment/web", "web", "team-a/web"])
def test_a_workload_that_is_half_there(ask, half_there, name):
    ran = ask("why", "-n", "team-a", name)

    assert ran.code == 1
    assert ran.out.splitlines()[0] == "deployment team-a/web  REFUSED  1 nvidia.com/gpu"
    assert SAID in " ".join(ran.out.split())
    assert "Change   Free some of ResourceQuota gpus, or let an admin raise it" in ran.out


def test_refused_workloads_stand_in_overviews(api, ask, half_there):
    assert ask("why", "-n", "team-a", "-o", "name").out == "deployment/web\npod/q\n"
    assert ask("why", "-l", "app=web", "-A", "-o", "name").out == "deployment/web\npod/web-5d-a\npod/web-5d-b\n"
    assert ask("why", "-n", "team-b", "-o", "name").out == ""
    assert SAID in " ".join(ask("why", "-A").out.split())
    assert "pods-refused" in ask("doctor", "-n", "team-a").out


def test_who_may_not_list_workloads_or_events_is_told_so(api, ask, half_there):
    api.forbid("/api/v1/events", "/apis/apps/v1/deployments", "/apis/apps/v1/replicasets")
    ran = ask("why", "-n", "team-a", "-o", "name")

    assert (ran.code, ran.out, ran.errors) == (1, "pod/q\n", [])
    told = 'User "dev" cannot list resource "deployments"'
    assert ran.notes[0] == (
        f"deployments, events, replicasets are left out, since the verb list on them is missing: {told}"
    )
