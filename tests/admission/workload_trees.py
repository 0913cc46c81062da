"""Workloads as raw trees, and what is found in them."""

from typing import Any

from gpusched.admission.templates import templates_of
from gpusched.core.fault import Fault

POD = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "main"}]}}


def workload(version: str, kind: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "w"}, "spec": spec}


def found(tree: dict[str, Any]) -> list[tuple[str, int | None, str]]:
    faults: list[Fault] = []
    templates = templates_of(tree, faults)
    assert faults == []
    assert templates is not None
    return [(template.path, template.replicas, template.label) for template in templates]
