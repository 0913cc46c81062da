import pytest

from gpusched.simulate.reasons.refused_pods import refusal_of
from tests.build import Tree
from tests.simulate.scene import manifest, owned, workload

MESSAGE = "admission webhook denied the request: gpu-claim: no"


def _told(tree: Tree, standing=(), events=()) -> str:
    refusal = refusal_of(manifest(tree), standing, events)
    return refusal.message if refusal is not None else ""


def _with(tree: Tree, kind: str, status: str, reason: str = "") -> Tree:
    tree["status"] = {"conditions": [{"type": kind, "status": status, "reason": reason, "message": MESSAGE}]}
    return tree


def _event(name: str, time: str, kind: str = "Job", reason: str = "FailedCreate") -> Tree:
    about = {"kind": kind, "namespace": "team-a", "name": name}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.{time}", "namespace": "team-a"},
        "involvedObject": about,
        "reason": reason,
        "message": time,
        "eventTime": time,
    }


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        (("ReplicaFailure", "True"), MESSAGE),
        (("ReplicaFailure", "False"), ""),
        (("Progressing", "False", "ReplicaSetCreateError"), MESSAGE),
        (("Progressing", "False", "ProgressDeadlineExceeded"), ""),
        (("Available", "False"), ""),
    ],
)
def test_conditions_of_the_workload(condition, found):
    assert _told(_with(workload("Deployment", "w"), *condition)) == found


@pytest.mark.parametrize(("owner", "found"), [("w", MESSAGE), ("v", "")])
def test_conditions_of_what_it_makes(owner, found):
    made = manifest(owned(_with(workload("ReplicaSet", "w-1"), "ReplicaFailure", "True"), "Deployment", owner))

    assert _told(workload("Deployment", "w"), [made]) == found


def test_the_newest_event():
    trees = [_event("w", "2032"), _event("w", "2031"), _event("v", "2033"), _event("w", "2034", reason="Other")]
    events = [manifest(tree) for tree in trees]

    assert _told(workload("Job", "w"), [], events) == "2032"


def test_events_of_jobs_of_a_cron_job():
    job = manifest(owned(workload("Job", "w-1"), "CronJob", "w"))

    assert _told(workload("CronJob", "w"), [job], [manifest(_event("w-1", "2030"))]) == "2030"
    assert _told(workload("CronJob", "w"), [], [manifest(_event("w-1", "2030"))]) == ""


def test_old_events_of_a_deployment_do_not_count():
    """Its conditions are taken back when all is well again."""
    events = [manifest(_event("w", "2030", kind="Deployment"))]

    assert _told(workload("Deployment", "w"), [], events) == ""
