"""An object as it came from a file, and what is wrong with inputs: shapes shared by every offline command."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from gpusched.core.fault import Fault

#: Kinds that have no namespace, among those that offline commands read.
CLUSTER_SCOPED: Final = frozenset(
    {
        "Node",
        "Namespace",
        "RuntimeClass",
        "ClusterPolicy",
        "DeviceClass",
        "ResourceSlice",
        "ClusterTrainingRuntime",
        "PriorityClass",
        "StorageClass",
        "Config",
    }
)


class Manifest(msgspec.Struct, frozen=True):
    """One object of an input file. `source` is `file:document`, documents counted from 1."""

    source: str
    tree: Mapping[str, object]
    kind: str
    api_version: str = "v1"
    name: str = ""
    namespace: str = ""
    #: Where the object stands in its document, such as `items[3]` of a List; empty for the document itself.
    path: str = ""

    @property
    def group(self) -> str:
        """The API group, empty for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def where(self) -> str:
        """Kind and name as messages write them, such as `Deployment team-a/web`."""
        name = self.name or "(no name)"
        return f"{self.kind} {name}" if self.kind in CLUSTER_SCOPED else f"{self.kind} {self.namespace}/{name}"


def place_of(source: str) -> str:
    """A source as people read it, such as `web.yaml, document 4`: `web.yaml:4` would look like a line."""
    file, colon, number = source.rpartition(":")
    if not (colon and number.isdigit()):
        return source
    return f"{'standard input' if file == '-' else file}, document {number}"


class InputFault(msgspec.Struct, frozen=True):
    """One thing wrong with an input, with the place it stands at."""

    source: str
    path: str
    message: str

    def __str__(self) -> str:
        place = place_of(self.source)
        return f"{place}: {self.path}: {self.message}" if self.path else f"{place}: {self.message}"


def located(manifest: Manifest, faults: Iterable[Fault], within: str = "") -> list[InputFault]:
    """Faults of one object, naming the object as well as the file. `within` is where the faults' paths start."""
    prefix = ".".join(part for part in (manifest.path, within) if part)
    return [
        InputFault(
            manifest.source,
            ".".join(part for part in (prefix, fault.path) if part),
            f"{manifest.where}: {fault.message}",
        )
        for fault in faults
    ]
