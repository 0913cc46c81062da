"""The envelopes of lists and watches: objects inside stay raw, so that they can be decoded a few at a time."""

from collections.abc import Mapping

import msgspec


class ListMeta(msgspec.Struct):
    """Metadata of a list: its version, and the token of the next page if there is one."""

    resource_version: str = msgspec.field(name="resourceVersion", default="")
    token: str = msgspec.field(name="continue", default="")


class ListPage(msgspec.Struct):
    """One page. Go writes an empty list as null."""

    metadata: ListMeta
    items: list[msgspec.Raw] | None = None


class WatchEvent(msgspec.Struct):
    """One line of a watch: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR, the last with a Status as its object."""

    type: str
    object: msgspec.Raw


def identity_of(tree: object) -> str:
    """Namespace and name, `team-a/trainer`, or the name alone for what has no namespace."""
    metadata = _metadata(tree)
    namespace, name = metadata.get("namespace"), metadata.get("name")
    return f"{namespace}/{name}" if namespace else str(name)


def version_of(tree: object) -> str:
    """The resourceVersion, empty when there is none. It is opaque: compared with nothing, handed back as it came."""
    version = _metadata(tree).get("resourceVersion")
    return version if isinstance(version, str) else ""


def _metadata(tree: object) -> Mapping[object, object]:
    metadata = tree.get("metadata") if isinstance(tree, Mapping) else None
    return metadata if isinstance(metadata, Mapping) else {}
