"""Taking gpusched into use: what a fresh installation changes, and what an administrator sees before he enforces."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from gpusched.local.control_plane import ControlPlane
from gpusched.local.installed import Installed
from tests.build import Tree, h100_node, namespace, pod, t4_node
from tests.corpus.workloads import FILES, WORKLOADS, parsed, pods_in
from tests.e2e.conftest import teller
from tests.e2e.odd_pods import odd_pods, operator_pods, templates
from tests.e2e.scheduling import say
from tests.e2e.seen import nodes_seen, policy

MODES = ("off", "audit", "warn", "enforce")
OPERATOR_NAMESPACES = ("gpu-operator", "nvidia-gpu-operator")
CODE = "gpu-policy-family"
NOTED = "gpusched_admission_refusals_total"


@pytest.fixture(scope="module")
def corpus(request) -> dict[str, Tree]:
    """Every pod and pod template of the public manifests, as a pod."""
    if not FILES:
        teller(request.config)(f"NOT TESTED with the public manifests: they are not beside the checkout: {WORKLOADS}")
    found: dict[str, Tree] = {}
    for file in FILES:
        for tree in parsed((WORKLOADS / file).read_text(encoding="utf-8")).objects:
            for each in pods_in(tree):
                metadata = each.get("metadata") or {}
                name = f"corpus-{len(found):04}"
                found[f"{file} {len(found)}"] = {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {"name": name, "namespace": "odd", "labels": metadata.get("labels") or {}},
                    "spec": each["spec"],
                }
    return found


@pytest.fixture(scope="module")
def questions(corpus) -> dict[str, Tree]:
    pods = odd_pods("odd")
    return pods | templates(pods) | corpus


@pytest.fixture(scope="module")
def plane(binaries) -> Iterator[ControlPlane]:
    with ControlPlane(binaries) as started:
        started.create_nodes([t4_node("ro-t4", gpus=4), h100_node("ro-h100")])
        started.apply([namespace("odd"), *(namespace(name) for name in OPERATOR_NAMESPACES)])
        started.apply(
            [{"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}, "handler": "n"}]
        )
        yield started


@pytest.fixture
def cluster(plane) -> ControlPlane:
    """Namespaces of this module are those of its own control plane."""
    return plane


@pytest.fixture(scope="module")
def before(plane, questions) -> dict[str, int]:
    """What the API server alone says."""
    return answers(plane, questions)


@pytest.fixture(scope="module")
def own(plane, before) -> Iterator[Installed]:
    """gpusched with the configuration it is shipped with, installed when `before` is known."""
    with Installed(plane) as running:
        nodes_seen(plane, "ro-t4", "ro-h100")
        policy(plane, "odd")
        yield running


def answers(plane: ControlPlane, questions: dict[str, Tree]) -> dict[str, int]:
    return {name: plane.create(tree, dry_run=True).status for name, tree in questions.items()}


def test_a_fresh_installation_refuses_nothing_that_the_api_server_takes(plane, questions, before, own):
    after = answers(plane, questions)

    taken = [name for name, status in before.items() if status < 300]
    assert [name for name in questions if (before[name] < 300) is not (after[name] < 300)] == []
    assert 0 < len(taken) < len(questions)
    say(f"{len(questions)} objects, of which the API server takes {len(taken)} with and without gpusched")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("place", OPERATOR_NAMESPACES)
def test_the_operators_own_pods_come_up_in_every_mode(plane, own, place, mode):
    """Also where the operator is not in one of the namespaces that gpusched leaves alone."""
    policy(plane, place, families="hopper", mode=mode)
    path = f"/api/v1/namespaces/{place}/pods"
    try:
        for tree in operator_pods(place, "ro-t4"):
            made = plane.create(tree)
            assert made.ok, made.message
        plane.wait_for(
            path,
            lambda tree: all(
                item["spec"].get("nodeName") == "ro-t4" and item["status"]["phase"] in {"Running", "Succeeded"}
                for item in tree["items"]
            ),
            60,
            "the operator's pods up",
        )
    finally:
        plane.request("DELETE", path, query={"gracePeriodSeconds": "0"}).expect()
        plane.wait_for(path, lambda tree: tree["items"] == [], what="pods gone")


@pytest.mark.parametrize("mode", ["audit", "warn"])
def test_what_would_be_refused_is_seen_before_it_is(plane, own, namespace, tmp_path, mode):
    """By namespace and code in the metrics when pods come, and in `report` for those that are there."""
    policy(plane, namespace, families="turing", mode=mode)
    hopper = {"gpusched.io/families": "hopper"}
    answer = plane.create(pod("wants-hopper", namespace, annotations=hopper))
    assert answer.ok
    assert [text.startswith(CODE) for text in answer.warnings] == ([True] if mode == "warn" else [])
    plane.create(pod("fits", namespace)).expect()

    assert own.metric(NOTED, namespace=namespace, code=CODE, mode=mode) == 1
    assert own.metric(NOTED, namespace=namespace, code=CODE, mode="enforce") == 0

    told = report(plane, tmp_path)
    assert [item for item in told["counts"] if item["namespace"] == namespace] == [
        {"namespace": namespace, "code": CODE, "objects": 1, "refused": 0, "already": 0}
    ]


def report(plane: ControlPlane, folder: Any) -> Any:
    dump = folder / "dump.yaml"
    trees: list[Any] = []
    for kind, plural in (("Node", "nodes"), ("Namespace", "namespaces"), ("Pod", "pods")):
        items: Any = plane.get(f"/api/v1/{plural}")["items"]
        trees += [{**item, "apiVersion": "v1", "kind": kind} for item in items]
    dump.write_text(yaml.safe_dump_all(trees), encoding="utf-8")
    command = [sys.executable, "-m", "gpusched", "report", "-o", "json", "--cluster", str(dump)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)


def of_configuration(tree):
    return [item for item in tree["items"] if item["reason"] == "GPUConfigInvalid"]


def test_a_bad_configuration_is_told_of_and_not_used(plane, own):
    """The service goes on with the former one and stays ready; a good one is in use without a restart."""
    policy(plane, "configured", families="turing")
    wanted = pod("p", "configured", annotations={"gpusched.io/families": "hopper"})
    own.configure({"claims": {"aboveSlot": "sometimes"}})
    plane.wait_until(lambda: own.metric("gpusched_config_valid") == 0, what="bad configuration told of")
    try:
        status, text = own.admin("/readyz")
        assert status == 200
        assert "configuration: the former one, for the file has errors" in text
        assert "sometimes" in text
        assert "configuration has errors, the former one stays in use" in own.log.read_text(encoding="utf-8")
        assert plane.create(wanted, dry_run=True).status == 403
        events = "/api/v1/namespaces/gpusched-system/events"
        (event,) = plane.wait_for(events, of_configuration, what="event of the bad configuration")
        assert event["message"].startswith("The configuration has errors, the former one stays in use: ")
        assert "sometimes" in event["message"]
    finally:
        own.configure({"claims": {}})
    plane.wait_until(lambda: own.metric("gpusched_config_valid") == 1, what="good configuration in use")
    assert "configuration: as in " in own.admin("/readyz")[1]
