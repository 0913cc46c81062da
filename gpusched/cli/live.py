"""Reads a live cluster as if `kubectl get … -o json` had written a dump of it, with the rights of the user."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from gpusched.cli.access import Access, Forbidden, Unavailable, Unconfigured, Wanted
from gpusched.core.names import OWN_NAMESPACE
from gpusched.kube.credentials import context_namespace as context_of
from gpusched.kube.credentials import has_kubeconfig
from gpusched.kube.errors import ConfigurationError, KubeError, StatusError, Unreachable
from gpusched.kube.lists import list_pages
from gpusched.kube.session import Session
from gpusched.kube.workloads import CONTROLLERS, FAILED_CREATE
from gpusched.simulate.manifest import CLUSTER_SCOPED, Manifest

#: What messages name as the source of an object.
SOURCE: Final = "cluster"
CONFIG_SOURCE: Final = f"configmap/{OWN_NAMESPACE}/gpusched"
CONFIG_MAP: Final = f"/api/v1/namespaces/{OWN_NAMESPACE}/configmaps/gpusched"

_SECONDS: Final = 60.0
#: How often a list is begun anew because its later pages have expired.
_ATTEMPTS: Final = 3
_DRA_VERSIONS: Final = ("v1", "v1beta2", "v1beta1")
_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403
_ABSENT: Final = 404
_EXPIRED: Final = 410
_NAMESPACE_FILE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")

Answer = TypeVar("Answer")


class Collection(msgspec.Struct, frozen=True):
    """One kind of object. `paths` are tried in turn while they answer 404; `needed` ones must be readable, without
    `optional` ones less is told.
    """

    kind: str
    paths: tuple[str, ...]
    needed: bool = False
    optional: bool = False
    query: Mapping[str, str] = {}


class Live(msgspec.Struct):
    """What was read: objects in the order of a dump, what could not be read and why, and where they come from.

    `config` is the text of gpusched's ConfigMap, None where there is none to read. `namespace` is the one that the
    user's context names, empty where it names none. `claim_kinds` are kinds of CLAIMS that were listed.
    """

    documents: list[Manifest] = []
    notes: list[str] = []
    config: str | None = None
    config_note: str = ""
    server: str = ""
    namespace: str = ""
    claim_kinds: frozenset[str] = frozenset()


def _dra(resource: str) -> tuple[str, ...]:
    return tuple(f"/apis/resource.k8s.io/{version}/{resource}" for version in _DRA_VERSIONS)


STANDING: Final = (
    Collection("Node", ("/api/v1/nodes",), needed=True),
    Collection("Namespace", ("/api/v1/namespaces",)),
    Collection("RuntimeClass", ("/apis/node.k8s.io/v1/runtimeclasses",)),
    Collection("ClusterPolicy", ("/apis/nvidia.com/v1/clusterpolicies",)),
    Collection("DeviceClass", _dra("deviceclasses")),
    Collection("ResourceSlice", _dra("resourceslices")),
    Collection("Pod", ("/api/v1/pods",), needed=True),
)
CLAIMS: Final = (
    Collection("PersistentVolumeClaim", ("/api/v1/persistentvolumeclaims",), optional=True),
    Collection("StorageClass", ("/apis/storage.k8s.io/v1/storageclasses",), optional=True),
    Collection("ResourceClaim", _dra("resourceclaims"), optional=True),
    Collection("ResourceClaimTemplate", _dra("resourceclaimtemplates"), optional=True),
)


def read_cluster(access: Access, wanted: Wanted, progress: Callable[[int, int | None], None]) -> Live:
    """Everything that a dump has, and what else is wanted. `progress` is told how many objects are read so far.

    Raises Forbidden where nodes or pods may not be listed, Unavailable where the API server cannot be asked.
    """

    async def read(session: Session) -> Live:
        return await _Reader(session, progress).read([*STANDING, *_more(wanted)])

    live = ask(access, read)
    live.namespace = context_namespace(access)
    return live


def _more(wanted: Wanted) -> Iterator[Collection]:
    """Kinds with a pod template, events of controllers whose pods were refused, and claims with their classes."""
    if wanted.claims:
        yield from CLAIMS
    if wanted.workloads:
        yield from (Collection(kind, (f"{base}/{plural}",)) for kind, base, plural in CONTROLLERS)
    if wanted.failures:
        yield Collection("Event", ("/api/v1/events",), query=FAILED_CREATE)


def ask(access: Access, question: Callable[[Session], Awaitable[Answer]]) -> Answer:
    """Open a session as the user, put a question and close it. Raises as `read_cluster` does."""

    async def asked() -> Answer:
        async with await Session.open(access.kubeconfig, access.context, in_cluster=in_pod(access)) as session:
            return await question(session)

    try:
        return asyncio.run(asked())
    except ConfigurationError as error:
        if access.kubeconfig or has_kubeconfig():
            raise Unavailable(error.reason) from error
        raise Unconfigured(f"{error.reason}, or a dump with --cluster") from error
    except Unreachable as error:
        raise Unavailable(f"the API server cannot be reached: {error.reason}") from error
    except StatusError as error:
        if error.code == _UNAUTHORIZED:
            raise Unavailable(
                "the API server does not accept the credentials of the kubeconfig (401 Unauthorized): log in again, or"
                " name another --context or --kubeconfig"
            ) from error
        raise Unavailable(f"the API server does not answer as it should: {error}") from error
    except KubeError as error:
        raise Unavailable(f"the API server does not answer as it should: {error}") from error


def context_namespace(access: Access) -> str:
    """The namespace of the kubeconfig's context, or of the pod that this runs in; empty where neither names one."""
    if not in_pod(access):
        return context_of(access.kubeconfig, access.context)
    try:
        return _NAMESPACE_FILE.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def in_pod(access: Access) -> bool:
    """Whether this is a pod without a kubeconfig: kubectl, too, falls back on its service account then."""
    if access.kubeconfig or access.context or "KUBERNETES_SERVICE_HOST" not in os.environ:
        return False
    return not has_kubeconfig()


class _Reader:
    """Reads collections at the same time; what is missing or forbidden becomes a note unless it is needed."""

    def __init__(self, session: Session, progress: Callable[[int, int | None], None]) -> None:
        self._session = session
        self._progress = progress
        self._count = 0
        self._refused: dict[str, str] = {}
        self._listed: set[str] = set()

    async def read(self, collections: Sequence[Collection]) -> Live:
        """All of them, and gpusched's configuration."""
        lists = await asyncio.gather(*(self._collection(item) for item in collections), return_exceptions=True)
        documents: list[Manifest] = []
        for found in lists:
            # The first in the order of the collections, so that the same cluster always gives the same message.
            if isinstance(found, BaseException):
                raise found
            documents += found
        config, note = await self._config()
        kinds = frozenset(item.kind for item in CLAIMS if item.kind in self._listed)
        return Live(documents, self._notes(), config, note, self._session.server, claim_kinds=kinds)

    def _notes(self) -> list[str]:
        """One line on all that may not be listed, with the API server's word on the first."""
        if not self._refused:
            return []
        names = sorted(self._refused)
        first = self._refused[names[0]]
        return [f"{', '.join(names)} are left out, since the verb list on them is missing: {first}"]

    async def _collection(self, collection: Collection) -> list[Manifest]:
        error = StatusError(_ABSENT, "")
        for path in collection.paths:
            try:
                trees = await self._whole(path, collection.query)
                self._listed.add(collection.kind)
                return [_document(collection, path, tree) for tree in trees]
            except StatusError as found:
                error = found
            if error.code != _ABSENT:
                self._note(collection, path, error)
                break
        if collection.needed and error.code == _ABSENT:
            raise StatusError(_ABSENT, f"{collection.paths[0]}: {error.message}")
        return []

    async def _whole(self, path: str, query: Mapping[str, str]) -> list[object]:
        """All objects of a list, begun anew when later pages have expired."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return await self._pages(path, query)
            except StatusError as error:
                if error.code != _EXPIRED:
                    raise
        return await self._pages(path, query)

    async def _pages(self, path: str, query: Mapping[str, str]) -> list[object]:
        trees: list[object] = []
        async for items in list_pages(self._session, path, query):
            trees += [_trimmed(msgspec.json.decode(raw)) for raw in items]
            self._count += len(items)
            self._progress(self._count, None)
        return trees

    def _note(self, collection: Collection, path: str, error: StatusError) -> None:
        resource = path.rpartition("/")[2]
        if error.code != _FORBIDDEN:
            raise StatusError(error.code, f"{path}: {error.message}")
        if collection.needed:
            raise Forbidden(f"this needs the verb list on {resource} in all namespaces: {error.message}")
        if not collection.optional:
            self._refused[resource] = error.message

    async def _config(self) -> tuple[str | None, str]:
        """The text of the configuration, or a note why it is not there."""
        response = await self._session.request("GET", CONFIG_MAP, timeout=_SECONDS)
        if response.status == _ABSENT:
            return None, f"no ConfigMap {OWN_NAMESPACE}/gpusched: the default configuration holds"
        if not response.ok:
            return None, (
                f"ConfigMap {OWN_NAMESPACE}/gpusched cannot be read: judged by the default configuration, name another"
                " with --config"
            )
        try:
            return msgspec.json.decode(response.body, type=_ConfigMap).data.get("config.yaml"), ""
        except msgspec.DecodeError as error:
            raise StatusError(response.status, f"{CONFIG_MAP}: {error}") from error


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] = {}


def _trimmed(tree: object) -> object:
    """Without managedFields, half of what an object weighs, which kubectl does not show either, and without the images
    of nodes.
    """
    for part, key in (("metadata", "managedFields"), ("status", "images")):
        holder = tree.get(part) if isinstance(tree, dict) else None
        if isinstance(holder, dict):
            holder.pop(key, None)
    return tree


def _document(collection: Collection, path: str, tree: object) -> Manifest:
    parts = path.split("/")
    version = parts[2] if parts[1] == "api" else f"{parts[2]}/{parts[3]}"
    typed: dict[str, object] = {"apiVersion": version, "kind": collection.kind}
    typed.update(tree if isinstance(tree, dict) else {})
    metadata = typed.get("metadata")
    names: Mapping[str, object] = metadata if isinstance(metadata, Mapping) else {}
    namespace = "" if collection.kind in CLUSTER_SCOPED else str(names.get("namespace") or "")
    return Manifest(SOURCE, typed, collection.kind, version, str(names.get("name") or ""), namespace)
