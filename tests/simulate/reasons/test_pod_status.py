import pytest

from gpusched.simulate.reasons.pod_status import status_notes
from tests.build import Tree, bound, pod


def _condition(**fields: str) -> Tree:
    return {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", **fields}]}


def _with(tree: Tree, **status: object) -> Tree:
    tree["status"] = {**tree.get("status", {}), **status}
    return tree


@pytest.mark.parametrize(
    ("tree", "notes"),
    [
        (pod(), ()),
        (
            _with(
                pod(), **_condition(message="0/3 nodes are available: 3 x. preemption: 0/3 nodes are available: 3 y.")
            ),
            ("kube-scheduler says: 0/3 nodes are available: 3 x.",),
        ),
        (_with(pod(), **_condition(reason="SchedulingGated", message="gated")), ()),
        (_with(pod(), **_condition(reason="SchedulerError")), ("kube-scheduler says: SchedulerError",)),
        (
            _with(pod(), nominatedNodeName="n"),
            ("pods on n were asked to end for it: it is tried there again once they are gone",),
        ),
        (_with(pod(schedulerName="volcano"), phase="Pending"), ()),
        (bound(pod(), "n"), ()),
        (
            _with(
                bound(pod(), "n", phase="Pending"),
                containerStatuses=[
                    {"name": "a", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}},
                    {"name": "b", "state": {"waiting": {"reason": "ContainerCreating"}}},
                ],
            ),
            ("container a waits: ImagePullBackOff: no such image",),
        ),
        (
            _with(bound(pod(), "n", phase="Failed"), reason="Evicted", message="low on memory"),
            ("Evicted: low on memory",),
        ),
    ],
)
def test_notes(tree, notes):
    assert status_notes(tree) == notes


def test_a_pod_that_the_kubelet_refused():
    tree = _with(bound(pod(), "n", phase="Failed"), reason="UnexpectedAdmissionError", message="no healthy devices")

    assert status_notes(tree) == (
        "UnexpectedAdmissionError: no healthy devices",
        "the kubelet refused it: no device was left, or the device plugin was away; create it anew",
    )


def test_a_pod_that_is_being_deleted():
    tree = bound(pod(), "n")
    tree["metadata"]["deletionTimestamp"] = "2030-01-01T00:00:00Z"

    assert status_notes(tree) == ("it is being deleted: it holds its GPUs until it is gone",)
