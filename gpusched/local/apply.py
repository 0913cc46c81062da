"""Creates whatever objects a file may hold: finds their paths by discovery and applies them on the server's side."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from gpusched.local.api import Api, Response
from gpusched.local.errors import ApiError
from gpusched.local.waiting import until

Tree = Mapping[str, object]

_MANAGER: Final = "gpusched-local"
_ESTABLISH_SECONDS: Final = 20.0


class Applier:
    """Applies objects as one user; remembers which resource a kind is."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._resources: dict[tuple[str, str], tuple[str, bool]] = {}

    def apply(self, documents: Iterable[Tree]) -> list[dict[str, object]]:
        """Create or change all objects, Lists item by item, in their order; the objects as the server stores them.

        Raises:
            ApiError: some were refused; the others are there, and the message names each.

        """
        stored, refusals = [], []
        for tree in flatten(documents):
            answer = self._apply(tree)
            if answer.ok:
                stored.append(answer.expect())
                self._await_definition(tree)
            else:
                refusals.append((answer.status, f"{title(tree)}: {answer.message}"))
        if refusals:
            raise ApiError(refusals[0][0], "\n".join(message for _, message in refusals))
        return stored

    def create(self, tree: Tree, *, dry_run: bool = False) -> Response:
        """Create one object, as `kubectl create` does; a refusal is an answer."""
        query = {"dryRun": "All"} if dry_run else {}
        return self._api.request("POST", self.collection(tree), tree, query=query | {"fieldManager": _MANAGER})

    def delete(self, tree: Tree) -> Response:
        """Delete one object; a refusal is an answer."""
        return self._api.request("DELETE", f"{self.collection(tree)}/{metadata(tree).get('name')}")

    def collection(self, tree: Tree) -> str:
        """The path of the objects of this kind, in the object's namespace if they have one.

        Raises:
            ApiError: the server does not know the kind.

        """
        version, kind = str(tree.get("apiVersion")), str(tree.get("kind"))
        plural, namespaced = self._resource(version, kind)
        place = f"/namespaces/{metadata(tree).get('namespace') or 'default'}" if namespaced else ""
        return f"{_root(version)}{place}/{plural}"

    def _apply(self, tree: Tree) -> Response:
        name = metadata(tree).get("name")
        if not name:
            return self.create(tree)
        return self._api.request(
            "PATCH",
            f"{self.collection(tree)}/{name}",
            tree,
            query={"fieldManager": _MANAGER, "force": "true"},
            content_type="application/apply-patch+yaml",
        )

    def _resource(self, version: str, kind: str) -> tuple[str, bool]:
        if (version, kind) not in self._resources:
            listing = self._api.request("GET", _root(version)).expect().get("resources")
            for each in listing if isinstance(listing, list) else []:
                # Sub-resources have the kind of what they take.
                if "/" not in each["name"]:
                    self._resources[version, each["kind"]] = (each["name"], each["namespaced"])
        if (version, kind) not in self._resources:
            raise ApiError(404, f"the server has no {kind} in {version}")
        return self._resources[version, kind]

    def _await_definition(self, tree: Tree) -> None:
        """A new kind is served a moment after its definition is stored."""
        if tree.get("kind") != "CustomResourceDefinition":
            return
        path = f"{self.collection(tree)}/{metadata(tree)['name']}"
        until(lambda: _established(self._api.request("GET", path)), _ESTABLISH_SECONDS, f"{title(tree)} established")


def flatten(documents: Iterable[Tree]) -> Iterator[Tree]:
    """The objects of the documents; a List is its items."""
    for tree in documents:
        items = tree.get("items")
        if str(tree.get("kind", "")).endswith("List") and isinstance(items, list):
            yield from flatten(items)
        else:
            yield tree


def metadata(tree: Tree) -> Mapping[str, object]:
    """The metadata of an object, empty where there is none."""
    found = tree.get("metadata")
    return found if isinstance(found, Mapping) else {}


def title(tree: Tree) -> str:
    """`Kind namespace/name`, for messages."""
    about = metadata(tree)
    name = about.get("name") or about.get("generateName") or "?"
    return f"{tree.get('kind')} {about['namespace']}/{name}" if about.get("namespace") else f"{tree.get('kind')} {name}"


def _root(version: str) -> str:
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


def _established(answer: Response) -> bool:
    status = answer.expect().get("status")
    conditions = status.get("conditions") if isinstance(status, Mapping) else None
    return any(
        each.get("type") == "Established" and each.get("status") == "True"
        for each in (conditions if isinstance(conditions, list) else [])
    )
