"""Objects, the log of what happened to them, and writes with the refusals of kube-apiserver 1.35 and 1.37."""

import json
import re
from copy import deepcopy
from typing import Any

import jsonpatch

Tree = dict[str, Any]

NODES = "/api/v1/nodes"
PODS = "/api/v1/pods"
NAMESPACES = "/api/v1/namespaces"
EVENTS = "/api/v1/events"
LEASES = "/apis/coordination.k8s.io/v1/leases"
RUNTIME_CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
SECRETS = "/api/v1/secrets"
MUTATING = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
VALIDATING = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


class Answer(Exception):  # noqa: N818 - not an error but how a handler answers early
    """An HTTP answer with a Status object."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.tree = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure" if code >= 400 else "Success",
            "message": message,
            "reason": reason,
            "code": code,
        }


class Storage:
    """Collections are named by the path that lists them cluster-wide; objects by `name` or `namespace/name`."""

    def __init__(self, *collections: str) -> None:
        self.objects: dict[str, dict[str, Tree]] = {
            path: {}
            for path in collections
            or (NODES, PODS, NAMESPACES, EVENTS, LEASES, RUNTIME_CLASSES, SECRETS, MUTATING, VALIDATING)
        }
        self.version = 1
        self.log: list[tuple[int, str, str, Tree]] = []
        self._uids = 0

    def put(self, collection: str, tree: Tree) -> Tree:
        """Create or replace an object; a recreated one has another UID."""
        tree = deepcopy(tree)
        metadata = tree["metadata"]
        old = self.objects[collection].get(_identity(tree))
        self.version += 1
        if old is None:
            self._uids += 1
        metadata["uid"] = metadata.get("uid") or (old["metadata"]["uid"] if old else f"uid-{self._uids}")
        metadata["resourceVersion"] = str(self.version)
        self.objects[collection][_identity(tree)] = tree
        self._record(collection, "MODIFIED" if old else "ADDED", tree)
        return tree

    def remove(self, collection: str, identity: str) -> None:
        """Delete an object."""
        tree = deepcopy(self.objects[collection].pop(identity))
        self.version += 1
        tree["metadata"]["resourceVersion"] = str(self.version)
        self._record(collection, "DELETED", tree)

    def change(
        self, collection: str, identity: str, matched: re.Match[str], method: str, content_type: str, body: bytes
    ) -> Tree:
        sent = json.loads(body) if body else {}
        if method == "POST" and matched["name"] is None:
            return self._create(collection, matched, sent)
        old = self.objects[collection].get(identity)
        if old is None:
            raise Answer(404, "NotFound", f'{matched["resource"]} "{matched["name"]}" not found')
        if method == "POST" and matched["sub"] == "binding":
            return self._bind(old, sent)
        if method == "DELETE":
            self.remove(collection, identity)
        if method in {"GET", "DELETE"}:
            return old
        new = sent if method == "PUT" else _patched(old, content_type, sent)
        stated = new["metadata"].get("resourceVersion")
        if stated not in {None, old["metadata"]["resourceVersion"]}:
            raise Answer(
                409,
                "Conflict",
                f"{_conflict(matched)}: the object has been modified; please apply your "
                "changes to the latest version and try again",
            )
        uid = new["metadata"].get("uid", old["metadata"]["uid"])
        if uid != old["metadata"]["uid"]:
            kind = new.get("kind", "Object")
            raise Answer(
                422,
                "Invalid",
                f'{kind} "{matched["name"]}" is invalid: metadata.uid: Invalid value: "{uid}": field is immutable',
            )
        return self.put(collection, new)

    def _create(self, collection: str, matched: re.Match[str], tree: Tree) -> Tree:
        if matched["namespace"]:
            tree["metadata"].setdefault("namespace", matched["namespace"])
        if _identity(tree) in self.objects[collection]:
            raise Answer(409, "AlreadyExists", f'{matched["resource"]} "{tree["metadata"]["name"]}" already exists')
        return self.put(collection, tree)

    def _bind(self, pod: Tree, binding: Tree) -> Tree:
        name, metadata = pod["metadata"]["name"], binding["metadata"]
        if metadata.get("uid", pod["metadata"]["uid"]) != pod["metadata"]["uid"]:
            raise Answer(409, "Conflict", _wrong_uid({"resource": "pods", "name": name}, pod, metadata["uid"]))
        if pod["spec"].get("nodeName"):
            raise Answer(
                409,
                "Conflict",
                f'Operation cannot be fulfilled on pods/binding "{name}": pod {name} is already assigned to node '
                f'"{pod["spec"]["nodeName"]}"',
            )
        if pod["metadata"].get("deletionTimestamp"):
            raise Answer(
                409,
                "Conflict",
                f'Operation cannot be fulfilled on pods/binding "{name}": pod {name} is being deleted, cannot be '
                "assigned to a host",
            )
        if pod["spec"].get("schedulingGates"):
            raise Answer(
                409,
                "Conflict",
                f'Operation cannot be fulfilled on pods/binding "{name}": pod {name} has non-empty '
                ".spec.schedulingGates",
            )
        new = deepcopy(pod)
        for field in ("annotations", "labels"):
            new["metadata"][field] = new["metadata"].get(field, {}) | metadata.get(field, {})
        new["spec"]["nodeName"] = binding["target"]["name"]
        self.put(PODS, new)
        return Answer(201, "", "").tree

    def _record(self, collection: str, kind: str, tree: Tree) -> None:
        self.log.append((self.version, collection, kind, deepcopy(tree)))
        self._changed()

    def _changed(self) -> None:
        """Told after every change."""


def _identity(tree: Tree) -> str:
    metadata = tree["metadata"]
    return "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))


def _conflict(matched: Any) -> str:
    return f'Operation cannot be fulfilled on {matched["resource"]} "{matched["name"]}"'


def _wrong_uid(matched: Any, old: Tree, uid: str) -> str:
    return (
        f"{_conflict(matched)}: StorageError: invalid object, Code: 4, Key: /registry/{matched['resource']}/"
        f"{_identity(old)}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: "
        f"UID in precondition: {uid}, UID in object meta: {old['metadata']['uid']}"
    )


def _patched(old: Tree, content_type: str, patch: Any) -> Tree:
    if content_type == "application/merge-patch+json":
        return _merged(old, patch)
    if content_type == "application/apply-patch+yaml":
        return _applied(old, patch)
    try:
        result: Tree = jsonpatch.apply_patch(old, patch)
    except jsonpatch.JsonPatchException as error:
        raise Answer(422, "Invalid", "the server rejected our request due to an error in our request") from error
    return result


def _applied(old: Any, patch: Any) -> Any:
    """As far as one owner adds fields: mappings are merged, and lists item by item by their names."""
    if isinstance(old, list) and isinstance(patch, list):
        return [_applied(item, next((new for new in patch if new["name"] == item["name"]), {})) for item in old]
    if not isinstance(old, dict) or not isinstance(patch, dict):
        return patch
    return old | {key: _applied(old.get(key), value) for key, value in patch.items()}


def _merged(old: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    result = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key), value)
    return result
