"""Kinds of other projects, their schemas left open."""

import contextlib
from collections.abc import Iterator

from gpusched.local.cluster import Operations

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@contextlib.contextmanager
def defined(
    plane: Operations,
    group: str,
    kind: str,
    plural: str,
    *,
    version: str = "v1",
    status: bool = False,
    scope: str = "Namespaced",
) -> Iterator[None]:
    """The kind is there meanwhile; with `status` that is a part of its own, as most controllers have it."""
    served = {
        "name": version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        "subresources": {"status": {}} if status else {},
    }
    names = {"plural": plural, "singular": kind.lower(), "kind": kind}
    name = f"{plural}.{group}"
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {"group": group, "names": names, "scope": scope, "versions": [served]},
    }
    plane.apply([definition])
    try:
        yield
    finally:
        plane.request("DELETE", f"{_DEFINITIONS}/{name}")
