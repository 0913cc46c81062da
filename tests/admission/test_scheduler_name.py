"""Where gpusched is the extender of a second scheduler, GPU pods go to that one, and to no other."""

from typing import Any

import pytest

from gpusched.admission.admission import Op
from gpusched.core.names import LOWERED_ANNOTATION
from gpusched.policy.model import Config
from tests.admission.patching import applied, mutated, mutated_pod
from tests.build import container, pod

SECOND = Config(second_scheduler="gpu")
SET = Op("add", "/spec/schedulerName", "gpu")
DAEMON = {"kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}


def of_daemon_set() -> Any:
    tree = pod()
    tree["metadata"]["ownerReferences"] = [DAEMON]
    return tree


@pytest.mark.parametrize("mode", ["enforce", "warn", "audit", "off"])
@pytest.mark.parametrize(
    "tree",
    [
        pod(),
        pod(schedulerName="default-scheduler"),
        pod(schedulerName=""),
        pod("p", "team-a", container("app"), initContainers=[container("warm", gpus=1)]),
        of_daemon_set(),
    ],
)
def test_gpu_pods_of_the_default_scheduler_are_sent_to_it_in_every_mode(tree: Any, mode: str) -> None:
    mutation = mutated(tree, policy={"mode": mode}, config=SECOND)

    assert mutation.patch == (SET,)
    assert mutated(applied(tree, mutation.patch), policy={"mode": mode}, config=SECOND).patch == ()


@pytest.mark.parametrize(
    ("tree", "config"),
    [
        (pod(), Config()),
        (pod(schedulerName="volcano"), SECOND),
        (pod(schedulerName="gpu"), SECOND),
        (pod(nodeName="n1"), SECOND),
        (pod(gpus=None), SECOND),
        (pod(gpus=0), SECOND),
        (pod(gpus=None, annotations={"gpusched.io/families": "hopper"}), SECOND),
        (pod(namespace="kube-system"), SECOND),
    ],
)
def test_other_pods_stay_where_they_are(tree: Any, config: Config) -> None:
    assert mutated(tree, config=config).patch == ()


def test_templates_and_updates_are_not_sent_anywhere() -> None:
    assert mutated(pod(), config=SECOND, template=True).patch == ()
    assert mutated(pod(), config=SECOND, operation="UPDATE").patch == ()


@pytest.mark.parametrize("name", ["default-scheduler", "gpu"])
def test_its_pods_are_lowered_and_gated(name: str) -> None:
    tree = mutated_pod(pod(schedulerName=name), policy={"families": "hopper", "quota": "*=1"}, config=SECOND)

    assert tree["spec"]["schedulerName"] == "gpu"
    assert tree["spec"]["schedulingGates"] == [{"name": "gpusched.io/quota"}]
    assert tree["metadata"]["annotations"][LOWERED_ANNOTATION] == "families=hopper (namespace team-a)"
