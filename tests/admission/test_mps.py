from typing import Any

import pytest

from gpusched.admission.mps import VARIABLE, limit_text
from tests.admission.patching import mutated, mutated_pod
from tests.build import container, pod

CLAIM = {"gpusched.io/gpu-memory": "6Gi"}


def limits(tree: Any) -> list[Any]:
    spec = mutated_pod(tree)["spec"]
    return [item.get("env") for item in (*spec.get("initContainers", []), *spec["containers"])]


def variable(value: str) -> dict[str, str]:
    return {"name": VARIABLE, "value": value}


def test_every_container_with_slots_gets_the_claim_for_each_of_them() -> None:
    tree = pod(
        "p",
        "team-a",
        container("train", gpus=2, env=[{"name": "A", "value": "b"}]),
        container("log"),
        container("zero", gpus=0),
        initContainers=[container("warm", gpus=1)],
        annotations=CLAIM,
    )
    two = [{"name": "A", "value": "b"}, variable("0=6144M,1=6144M")]
    assert limits(tree) == [[variable("0=6144M")], two, None, None]


def test_no_claim_no_limit() -> None:
    assert limits(pod()) == [None]


@pytest.mark.parametrize("resource", ["amd.com/gpu", "gpu.intel.com/i915"])
def test_other_vendors_know_no_mps(resource: str) -> None:
    assert limits(pod(resource=resource, annotations=CLAIM)) == [None]


@pytest.mark.parametrize("value", ["0=2G", "0=6144M", "0=6G", "0=6GB", "GPU-1234=2G", "0=2g, 1=1024M", "0=1048576K"])
def test_a_users_lower_limit_stays(value: str) -> None:
    tree = pod("p", "team-a", container(gpus=1, env=[variable(value)]), annotations=CLAIM)
    mutation = mutated(tree)
    assert (mutation.patch, mutation.warnings) == ((), ())


@pytest.mark.parametrize("value", ["0=7G", "0=6145M", "0=1G,1=8G", "0=1T"])
def test_a_users_higher_limit_stays_with_a_warning(value: str) -> None:
    tree = pod("p", "team-a", container(gpus=1, env=[variable(value)]), annotations=CLAIM)
    mutation = mutated(tree)
    assert mutation.patch == ()
    assert [(finding.code, finding.message) for finding in mutation.warnings] == [
        ("gpu-claim", f'container main sets {VARIABLE} "{value}", above its claim of 6Gi. Lower it.')
    ]


@pytest.mark.parametrize("value", ["0=2", "2G", "", "0=lots"])
def test_a_limit_that_cuda_cannot_read_is_a_warning(value: str) -> None:
    tree = pod("p", "team-a", container(gpus=1, env=[variable(value)]), annotations=CLAIM)
    mutation = mutated(tree)
    assert mutation.patch == ()
    assert [finding.message for finding in mutation.warnings] == [
        f'container main sets {VARIABLE} "{value}", on which CUDA fails. Write 0=6144M.'
    ]


def test_the_last_of_two_equal_names_is_what_the_container_sees() -> None:
    env = [variable("0=7G"), variable("0=2G")]
    assert mutated(pod("p", "team-a", container(gpus=1, env=env), annotations=CLAIM)).warnings == ()


def test_a_limit_from_elsewhere_is_left_alone() -> None:
    env = [{"name": VARIABLE, "valueFrom": {"configMapKeyRef": {"name": "a", "key": "b"}}}]
    mutation = mutated(pod("p", "team-a", container(gpus=1, env=env), annotations=CLAIM))
    assert (mutation.patch, mutation.warnings) == ((), ())


def test_long_names_get_the_short_sentence() -> None:
    name = "a" * 60
    tree = pod("p", "team-a", container(name, gpus=1, env=[variable("0=7G")]), annotations=CLAIM)
    assert [finding.message for finding in mutated(tree).warnings] == [f"container {name}: MPS limit above claim 6Gi."]


def test_absurd_requests_make_no_endless_value() -> None:
    assert limit_text(1, 10**9).count(",") == 63


@pytest.mark.parametrize("mode", ["warn", "audit", "off"])
def test_a_claim_is_the_pods_own_and_holds_in_every_mode(mode: str) -> None:
    tree = mutated_pod(pod(annotations=CLAIM), policy={"mode": mode})
    assert tree["spec"]["containers"][0]["env"] == [variable("0=6144M")]
