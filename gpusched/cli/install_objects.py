"""The objects that each overlay of the manifests brings, and those that gpusched makes by itself."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import yaml

from gpusched.core.fields import Field
from gpusched.core.names import OWN_NAMESPACE
from gpusched.doctor.preflight import Overlay, Placed
from gpusched.doctor.scene import Tree
from gpusched.local.installed import documents, manifests_folder
from gpusched.policy.config import parse_config

_KUSTOMIZATION: Final = "kustomization.yaml"
#: The component with which only Namespaces with a label are gpusched's business.
_OPT_IN: Final = "opt-in"
#: Kinds of what gpusched makes at work, by the resource in its Role.
_MADE: Final = {"leases": ("coordination.k8s.io/v1", "Lease"), "secrets": ("v1", "Secret")}


def overlays() -> dict[str, Overlay]:
    """Every overlay by its name."""
    base = manifests_folder() / "base"
    made = tuple(_made(documents(base / "rbac.yaml")))
    folders = sorted(path.parent for path in (base.parent / "overlays").glob(f"*/{_KUSTOMIZATION}"))
    return {folder.name: _overlay(folder, made) for folder in folders}


def shipped_webhooks() -> tuple[Tree, ...]:
    """Both webhook configurations as they are released."""
    return tuple(documents(manifests_folder() / "base" / "webhooks.yaml"))


def path_of(item: Placed) -> str:
    """Where the API server has the object."""
    root = f"/api/{item.api_version}" if "/" not in item.api_version else f"/apis/{item.api_version}"
    space = f"/namespaces/{item.namespace}" if item.namespace else ""
    word = item.kind.lower()
    plural = f"{word.removesuffix('y')}ies" if word.endswith("y") else f"{word}s"
    return f"{root}{space}/{plural}/{item.name}"


def _overlay(folder: Path, made: tuple[Placed, ...]) -> Overlay:
    components = [Path(item.text()).name for item in Field(_kustomization(folder)).get("components").items()]
    return Overlay(
        (*dict.fromkeys(_objects(folder)), *made), _OPT_IN in components, second_scheduler=_second_scheduler(folder)
    )


def _second_scheduler(folder: Path) -> str:
    """The one of the configuration with which the overlay replaces that of the base."""
    path = folder / "config.yaml"
    for tree in documents(path) if path.exists() else ():
        text = Field(tree).get("data").get("config.yaml").text()
        return parse_config(yaml.safe_load(text))[0].second_scheduler
    return ""


def _kustomization(folder: Path) -> Tree:
    tree: Tree = yaml.safe_load((folder / _KUSTOMIZATION).read_text(encoding="utf-8"))
    return tree


def _objects(folder: Path) -> Iterator[Placed]:
    """What a kustomization brings: resources to the bottom, generated ConfigMaps, without what its patches delete."""
    tree = _kustomization(folder)
    deleted = {(item.kind, item.name) for item in _deleted(tree)}
    parts = [item.text() for key in ("resources", "components") for item in Field(tree).get(key).items()]
    for part in parts:
        place = folder / part
        found = _objects(place) if place.is_dir() else map(_placed, documents(place))
        yield from (item for item in found if (item.kind, item.name) not in deleted)
    for item in Field(tree).get("configMapGenerator").items():
        # kustomize puts a hash behind the name.
        yield Placed("ConfigMap", f"{item.get('name').text()}-…", item.get("namespace").text())


def _deleted(tree: Tree) -> Iterator[Placed]:
    for item in Field(tree).get("patches").items():
        patch = yaml.safe_load(item.get("patch").text() or "{}")
        if isinstance(patch, Mapping) and patch.get("$patch") == "delete":
            yield _placed(patch)


def _placed(tree: Tree) -> Placed:
    root = Field(tree)
    metadata = root.get("metadata")
    return Placed(
        root.get("kind").text(),
        metadata.get("name").text(),
        metadata.get("namespace").text(),
        root.get("apiVersion").text("v1"),
    )


def _made(trees: list[dict[str, object]]) -> Iterator[Placed]:
    """What gpusched's Role lets it change by name in its own namespace, and nobody else makes."""
    rules = [rule for tree in trees if tree.get("kind") == "Role" for rule in Field(tree).get("rules").items()]
    for rule in rules:
        for resource in rule.get("resources").items():
            version, kind = _MADE.get(resource.text(), ("", ""))
            for name in rule.get("resourceNames").items() if kind else ():
                yield Placed(kind, name.text(), OWN_NAMESPACE, version, made_by="gpusched")
