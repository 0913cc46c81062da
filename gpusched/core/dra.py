"""Dynamic Resource Allocation, as far as it serves extended resources on nodes without allocatable.

Source: KEP-5004 (DRA extended resource mapping): a DeviceClass may name an extended resource, and a node whose
allocatable lacks that name is then served through ResourceSlices.
"""

from collections.abc import Iterable

import msgspec

from gpusched.core.fault import Fault
from gpusched.core.fields import Field

#: Every DeviceClass can be asked for under this name, without any mapping (KEP-5004).
IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"


class DeviceClass(msgspec.Struct, frozen=True):
    """resource.k8s.io DeviceClass, trimmed. `expressions` are the CEL texts of its selectors."""

    name: str
    extended_resource: str = ""
    expressions: tuple[str, ...] = ()


class ResourceSlice(msgspec.Struct, frozen=True):
    """resource.k8s.io ResourceSlice, trimmed. `node_name` is empty for slices that are not of one node."""

    name: str
    driver: str
    node_name: str = ""
    devices: int = 0


def read_device_class(tree: object, faults: list[Fault]) -> DeviceClass:
    """Read a DeviceClass; faults are collected."""
    root = Field(tree, "", faults)
    spec = root.get("spec")
    return DeviceClass(
        name=root.get("metadata").get("name").text(),
        extended_resource=spec.get("extendedResourceName").text(),
        expressions=tuple(item.get("cel").get("expression").text() for item in spec.get("selectors").items()),
    )


def read_resource_slice(tree: object, faults: list[Fault]) -> ResourceSlice:
    """Read a ResourceSlice; faults are collected."""
    root = Field(tree, "", faults)
    spec = root.get("spec")
    return ResourceSlice(
        name=root.get("metadata").get("name").text(),
        driver=spec.get("driver").text(),
        node_name=spec.get("nodeName").text(),
        devices=len(spec.get("devices").items()),
    )


def served_resources(node_name: str, classes: Iterable[DeviceClass], slices: Iterable[ResourceSlice]) -> frozenset[str]:
    """Extended resource names that a node may serve through DRA.

    A class fits a slice when its selectors mention the slice's driver, or mention no driver at all; CEL itself is not
    evaluated, so this errs towards "served": such a node is left to kube-scheduler to judge.
    """
    drivers = {item.driver for item in slices if item.node_name == node_name and item.devices}
    served: set[str] = set()
    for device_class in classes:
        text = " ".join(device_class.expressions)
        if any(driver in text for driver in drivers) or (drivers and "device.driver" not in text):
            served.add(IMPLICIT_PREFIX + device_class.name)
            if device_class.extended_resource:
                served.add(device_class.extended_resource)
    return frozenset(served)
