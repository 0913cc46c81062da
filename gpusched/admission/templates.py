"""Pod templates of workloads, whatever the kind, with how many pods come of each."""

from collections.abc import Iterator, Mapping

import msgspec

from gpusched.admission.template_scope import Scope
from gpusched.admission.template_table import TABLE, Entry
from gpusched.core.fault import Fault
from gpusched.core.fields import Field
from gpusched.core.resources import GpuResources


class Template(msgspec.Struct, frozen=True):
    """A pod template. `tree` has `metadata` and `spec`; for a Pod it is the object itself.

    `path` is where it stands in the object, empty for a Pod. `replicas` is the number of pods, None for one per node.
    `label` tells templates of one object apart, such as `worker`; `note` says what is not known of the pods.
    """

    path: str
    tree: Mapping[str, object]
    replicas: int | None = 1
    label: str = ""
    note: str | None = None


def templates_of(tree: Mapping[str, object], faults: list[Fault]) -> tuple[Template, ...] | None:
    """The templates of a workload in the table's order; None for a kind that the table does not know.

    What has the wrong type is a fault and read as absent.
    """
    entries = TABLE.get(kind_of(tree))
    if entries is None:
        return None
    root = Scope(Field(tree, "", faults))
    return tuple(template for entry in entries for template in _found(root, entry))


def kind_of(tree: Mapping[str, object]) -> tuple[str, str]:
    """API group (empty for core) and kind of an object, empty where they are no strings."""
    version, kind = tree.get("apiVersion"), tree.get("kind")
    group = version.rpartition("/")[0] if isinstance(version, str) else ""
    return group, kind if isinstance(kind, str) else ""


def unknown_templates(tree: Mapping[str, object], resources: GpuResources) -> tuple[str, ...]:
    """Paths of containers that ask for GPUs, wherever they stand in an object whose kind is not known."""
    found: list[str] = []
    waiting: list[tuple[str, object]] = [("", tree)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, Mapping):
            if _asks_for_gpus(value, resources):
                found.append(path)
            waiting.extend((f"{path}.{key}" if path else str(key), child) for key, child in value.items())
        elif isinstance(value, list):
            waiting.extend((f"{path}[{index}]", child) for index, child in enumerate(value))
    return tuple(sorted(found))


def _found(root: Scope, entry: Entry) -> Iterator[Template]:
    for scope in root.find(entry.path):
        tree = entry.shape(scope, entry.path)
        if tree is None:
            continue
        label = "-".join(scope.keys).lower() if entry.label is None else entry.label
        yield Template(scope.at(entry.path).path, tree, entry.count(scope), label, entry.note)


def _asks_for_gpus(value: Mapping[object, object], resources: GpuResources) -> bool:
    amounts = value.get("resources")
    if not isinstance(amounts, Mapping):
        return False
    parts = [part for kind in ("limits", "requests") if isinstance(part := amounts.get(kind), Mapping)]
    asked = [name for part in parts for name, amount in part.items() if amount not in (None, 0, "0")]
    return any(isinstance(name, str) and resources.vendor(name) is not None for name in asked)
