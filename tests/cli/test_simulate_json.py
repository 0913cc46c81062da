from typing import Any

from tests.build import namespace, node, pod, t4_node
from tests.cli.commands import Folder
from tests.cli.test_simulate import CLUSTER, simulate
from tests.simulate.scene import cpu_pod


def test_the_shape_of_the_json(folder: Folder) -> None:
    ran = simulate(folder, [t4_node("t4")], pod("p"))

    assert (ran.code, ran.err) == (0, "")
    assert ran.json == {
        "pods": [
            {
                "namespace": "team-a",
                "name": "p",
                "owner": None,
                "source": f"{folder.path}/pods.yaml:1",
                "admission": {
                    "allowed": True,
                    "code": None,
                    "message": None,
                    "warnings": ran.json["pods"][0]["admission"]["warnings"],
                    "patch": [],
                },
                "placement": {"node": "t4", "resources": {"nvidia.com/gpu": 1}, "score": 10},
                "unschedulable": None,
                "gated": None,
                "notes": [],
            }
        ],
        "namespaces": [],
        "nodes": [
            {
                "name": "t4",
                "pools": [
                    {
                        "resource": "nvidia.com/gpu",
                        "vendor": "nvidia",
                        "family": "turing",
                        "product": "t4",
                        "sharing": "none",
                        "slots": 1,
                        "used": 1,
                        "replicas": 1,
                        "gpu_memory_mib": 15360,
                        "visible_memory_mib": 15360,
                        "slot_memory_mib": 15360,
                        "notes": [],
                    }
                ],
            }
        ],
        "errors": [],
        "summary": {"pods": 1, "placed": 1, "denied": 0, "unschedulable": 0, "gated": 0},
    }


def _order(value: Any, path: str = "") -> dict[str, list[str]]:
    """Keys in their order, by place; of a list the first element stands for all."""
    if isinstance(value, list):
        return _order(value[0], f"{path}[]") if value else {}
    if not isinstance(value, dict):
        return {}
    found = {path: list(value)}
    for key, inner in value.items():
        if key not in {"patch", "resources"}:
            found |= _order(inner, f"{path}.{key}")
    return found


def test_the_order_of_keys_is_that_of_the_contract(folder: Folder) -> None:
    refused = simulate(
        folder, CLUSTER, namespace("team-b"), pod("p", "team-b", gpus=9), pod("q", schedulingGates=[{"name": "x"}])
    )

    assert _order(refused.json) == {
        "": ["pods", "namespaces", "nodes", "errors", "summary"],
        ".pods[]": [
            "namespace",
            "name",
            "owner",
            "source",
            "admission",
            "placement",
            "unschedulable",
            "gated",
            "notes",
        ],
        ".pods[].admission": ["allowed", "code", "message", "warnings", "patch"],
        ".pods[].admission.warnings[]": ["code", "message"],
        ".pods[].unschedulable": ["reasons", "suggestion"],
        ".pods[].unschedulable.reasons[]": ["code", "message", "nodes"],
        ".namespaces[]": ["name", "admission"],
        ".namespaces[].admission": ["allowed", "code", "message", "warnings", "patch"],
        ".nodes[]": ["name", "pools"],
        ".nodes[].pools[]": [
            "resource",
            "vendor",
            "family",
            "product",
            "sharing",
            "slots",
            "used",
            "replicas",
            "gpu_memory_mib",
            "visible_memory_mib",
            "slot_memory_mib",
            "notes",
        ],
        ".summary": ["pods", "placed", "denied", "unschedulable", "gated"],
    }


def test_unknown_facts_are_null(folder: Folder) -> None:
    ran = simulate(folder, [node("n", gpus=2)], cpu_pod("c"))
    (pool,) = ran.json["nodes"][0]["pools"]

    unknown = {"family", "product", "sharing", "replicas", "gpu_memory_mib", "visible_memory_mib", "slot_memory_mib"}
    assert {key for key, value in pool.items() if value is None} == unknown
    assert (pool["slots"], pool["used"]) == (2, 0)
