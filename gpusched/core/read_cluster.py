"""Read nodes, RuntimeClasses and the GPU Operator's ClusterPolicy from JSON trees."""

import re
from typing import Final

from gpusched.core import quantity
from gpusched.core.cluster_facts import OperatorFacts, RuntimeClass
from gpusched.core.fault import Fault
from gpusched.core.fields import Field
from gpusched.core.names import PREFIX
from gpusched.core.node import NodeObject, Taint
from gpusched.core.read_pod import read_toleration

_CHART: Final = re.compile(r"gpu-operator-v?(.+)")
_VERSION: Final = re.compile(r"v?(\d{1,9})\.(\d{1,9})(?:[^\d].*)?", re.ASCII)


def read_node(tree: object, faults: list[Fault]) -> NodeObject:
    """A core/v1 Node. One without status offers nothing; a negative amount is a fault and read as 0.

    Of the annotations only gpusched's own are kept.
    """
    root = Field(tree, "", faults)
    metadata, spec, status = root.get("metadata"), root.get("spec"), root.get("status")
    annotations = metadata.get("annotations").strings()
    return NodeObject(
        name=metadata.get("name").text(),
        uid=metadata.get("uid").text(),
        labels=metadata.get("labels").strings(),
        annotations={key: value for key, value in annotations.items() if key.startswith(PREFIX)},
        taints=tuple(_taint(item) for item in spec.get("taints").items()),
        unschedulable=spec.get("unschedulable").boolean(),
        allocatable=_amounts(status.get("allocatable")),
        capacity=_amounts(status.get("capacity")),
    )


def read_runtime_class(tree: object, faults: list[Fault]) -> RuntimeClass:
    """A node.k8s.io/v1 RuntimeClass."""
    root = Field(tree, "", faults)
    scheduling = root.get("scheduling")
    return RuntimeClass(
        name=root.get("metadata").get("name").text(),
        handler=root.get("handler").text(),
        overhead=root.get("overhead").get("podFixed").quantities(),
        node_selector=scheduling.get("nodeSelector").strings(),
        tolerations=tuple(read_toleration(item) for item in scheduling.get("tolerations").items()),
    )


def read_cluster_policy(tree: object, faults: list[Fault]) -> OperatorFacts:
    """The GPU Operator's nvidia.com/v1 ClusterPolicy; its version comes from the labels that Helm writes."""
    root = Field(tree, "", faults)
    spec = root.get("spec")
    cdi = spec.get("cdi")
    labels = root.get("metadata").get("labels").strings()
    return OperatorFacts(
        runtime_class=spec.get("operator").get("runtimeClass").text() or "nvidia",
        cdi_enabled=cdi.get("enabled").boolean() if cdi.get("enabled").present else None,
        nri_enabled=cdi.get("nriPluginEnabled").boolean(),
        version=_version(labels.get("app.kubernetes.io/version", ""))
        or _chart_version(labels.get("helm.sh/chart", "")),
    )


def _taint(field: Field) -> Taint:
    return Taint(
        key=field.get("key").text(),
        value=field.get("value").text(),
        effect=field.get("effect").text() or "NoSchedule",
    )


def _amounts(field: Field) -> dict[str, int]:
    stated = field.quantities()
    found: dict[str, int] = {}
    for name, text in stated.items():
        amount = quantity.milli(text) if name == "cpu" else quantity.whole(text)
        if amount is None:
            field.get(name).fault(f'"{text}" is not a quantity: write a number such as 1')
            continue
        if amount < 0:
            field.get(name).fault(f"{text} is negative: read as 0")
        found[name] = max(amount, 0)
    return found


def _chart_version(chart: str) -> tuple[int, int] | None:
    matched = _CHART.fullmatch(chart)
    return _version(matched[1]) if matched else None


def _version(text: str) -> tuple[int, int] | None:
    matched = _VERSION.fullmatch(text)
    return (int(matched[1]), int(matched[2])) if matched else None
