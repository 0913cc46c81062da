"""Reads a Namespace from a JSON tree."""

from gpusched.core.fault import Fault
from gpusched.core.fields import Field
from gpusched.core.names import PREFIX
from gpusched.state.events import NamespaceObject


def read_namespace(tree: object, faults: list[Fault]) -> NamespaceObject:
    """A Namespace with gpusched's own annotations; faults are collected."""
    metadata = Field(tree, "", faults).get("metadata")
    annotations = metadata.get("annotations").strings()
    return NamespaceObject(
        name=metadata.get("name").text(),
        labels=metadata.get("labels").strings(),
        annotations={key: value for key, value in annotations.items() if key.startswith(PREFIX)},
    )
