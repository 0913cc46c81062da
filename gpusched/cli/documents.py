"""Reads manifests and cluster dumps into documents; everything that is wrong with them is a value beside them."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import BinaryIO, Final

import msgspec

from gpusched.cli.json_reader import read_json
from gpusched.cli.reading import Reading, shorten, unreadable
from gpusched.cli.sources import Text, read_sources
from gpusched.cli.yaml_reader import chunks, read_chunk
from gpusched.core.fields import literal
from gpusched.simulate.manifest import CLUSTER_SCOPED, InputFault, Manifest

_HELM: Final = "looks like a Helm template: render it first (helm template … | gpusched … -f -)"
_LIST: Final = ": put its items into an object of apiVersion v1 and kind List, or write them one after the other"
#: Files that make manifests and are none, by name in lower case.
_GENERATORS: Final = dict.fromkeys(
    ("chart.yaml", "values.yaml"),
    "belongs to a Helm chart and is no manifest: render the chart (helm template DIRECTORY | gpusched … -f -)",
) | dict.fromkeys(
    ("kustomization.yaml", "kustomization.yml", "kustomization"),
    "is input of kustomize and no manifest: render it (kubectl kustomize DIRECTORY | gpusched … -f -)",
)
#: The namespace of objects that name none, unless the user works in another.
_DEFAULT: Final = "default"
_ITEM: Final = re.compile(r"items\[(\d+)\]\.?")

Progress = Callable[[int, int], None]


def _unwatched(_line: int, _total: int) -> None:
    """Nobody watches."""


def read_documents(
    paths: Sequence[str], *, stdin: BinaryIO | None, namespace: str = _DEFAULT, progress: Progress = _unwatched
) -> tuple[list[Manifest], list[InputFault]]:
    """Every readable object behind the paths in order, and every error in order.

    Documents are counted from 1, empty ones not; the items of a List share the source and tell themselves apart by
    their path. An object that asks for a generated name gets the prefix and a number: the API server's letters are
    random, these are the same in every run. `namespace` is that of objects that name none; `progress` is told the
    line, and how many the file has. An object with a key written twice is used (the last value counts) and reported;
    one that Kubernetes cannot read as a whole is only reported. Lists are replaced by their items.
    """
    return documents_of(read_sources(paths, stdin=stdin), namespace, progress)


def documents_of(
    sources: Iterable[Text | InputFault], namespace: str = _DEFAULT, progress: Progress = _unwatched
) -> tuple[list[Manifest], list[InputFault]]:
    """The same for texts that are there already."""
    documents: list[Manifest] = []
    errors: list[InputFault] = []
    generated: Counter[tuple[str, str, str]] = Counter()
    for source in sources:
        for found in [source] if isinstance(source, InputFault) else _objects(source, namespace, progress):
            if isinstance(found, InputFault):
                errors.append(found)
            else:
                documents.append(found if found.name else _named(found, generated))
    return documents, errors


def _objects(text: Text, namespace: str, progress: Progress) -> Iterator[Manifest | InputFault]:
    number = 0
    for number, reading in enumerate(_readings(text, progress), start=1):
        source = f"{text.name}:{number}"
        for fault in reading.faults:
            subject = _subject(source, reading.tree, fault.path, namespace)
            yield InputFault(source, fault.path, f"{subject}: {fault.message}" if subject else fault.message)
        generator = _GENERATORS.get(text.name.replace("\\", "/").rpartition("/")[2].lower())
        if generator and isinstance(reading.tree, dict) and not _typed(reading.tree):
            yield InputFault(source, "", generator)
        elif reading.usable:
            yield from _expand(source, "", reading.tree, namespace)
    if number == 0:
        yield InputFault(text.name, "", "no document in it: nothing but comments")


def _readings(text: Text, progress: Progress) -> Iterator[Reading]:
    templated = False
    for reading, content in _parsed(text, progress):
        if not reading.usable and "{{" in content:
            # One line for the file; the documents keep their numbers.
            yield Reading(None, usable=False) if templated else unreadable(_HELM)
            templated = True
        else:
            yield reading


def _parsed(text: Text, progress: Progress) -> Iterator[tuple[Reading, str]]:
    json_name = text.name.lower().endswith(".json")
    if json_name or text.text.lstrip().startswith("{"):
        readings = list(read_json(text.text))
        # Other text may start with a brace: YAML in flow style, or a template.
        if json_name or all(reading.usable for reading in readings):
            yield from ((reading, text.text) for reading in readings)
            return
    total = text.text.count("\n")
    for chunk in chunks(text.text):
        yield from ((reading, chunk.text) for reading in read_chunk(chunk, lambda line: progress(line, total)))


def _expand(source: str, path: str, tree: object, namespace: str) -> Iterator[Manifest | InputFault]:
    if not isinstance(tree, dict):
        hint = _LIST if isinstance(tree, list) else ""
        yield InputFault(source, path, f"a Kubernetes object is a mapping, not {_literal(tree)}{hint}")
        return
    items = _items(tree)
    if items is not None:
        for index, item in enumerate(items):
            yield from _expand(source, _below(path, f"items[{index}]"), _with_type(item, tree), namespace)
    elif _typed(tree):
        yield _document(source, path, tree, namespace)
    else:
        yield InputFault(source, *_untyped(path, tree))


def _items(tree: dict[str, object]) -> list[object] | None:
    """The items of a List of whatever kind; None for other objects."""
    kind = tree.get("kind")
    if not isinstance(kind, str) or not kind.endswith("List") or "items" not in tree:
        return None
    items = tree["items"]
    return items if isinstance(items, list) else [] if items is None else None


def _with_type(item: object, owner: dict[str, object]) -> object:
    """The item with its type: the API server leaves it out of the items of a NodeList or PodList."""
    kind = owner.get("kind")
    if not isinstance(item, dict) or kind == "List" or not isinstance(kind, str) or "kind" in item:
        return item
    return {"apiVersion": owner.get("apiVersion"), "kind": kind.removesuffix("List")} | item


def _typed(tree: dict[str, object]) -> bool:
    return all(isinstance(tree.get(key), str) and tree[key] for key in ("apiVersion", "kind"))


def _document(source: str, path: str, tree: dict[str, object], namespace: str) -> Manifest:
    kind, metadata = _text(tree, "kind"), tree.get("metadata")
    placed = "" if kind in CLUSTER_SCOPED else _text(metadata, "namespace") or namespace
    if placed and placed != _DEFAULT and isinstance(metadata, dict) and not metadata.get("namespace"):
        # Readers of the tree alone take it to be in `default`.
        tree = {**tree, "metadata": {**metadata, "namespace": placed}}
    return Manifest(source, tree, kind, _text(tree, "apiVersion"), _text(metadata, "name"), placed, path)


def _named(document: Manifest, generated: Counter[tuple[str, str, str]]) -> Manifest:
    prefix = _text(document.tree.get("metadata"), "generateName")
    if not prefix:
        return document
    key = (document.kind, document.namespace, prefix)
    generated[key] += 1
    return msgspec.structs.replace(document, name=f"{prefix}{generated[key] - 1}")


def _untyped(path: str, tree: dict[str, object]) -> tuple[str, str]:
    missing = [key for key in ("apiVersion", "kind") if tree.get(key) in (None, "")]
    if not missing:
        wrong = next(key for key in ("apiVersion", "kind") if not isinstance(tree[key], str))
        return _below(path, wrong), f"{wrong} must be text, not {_literal(tree[wrong])}"
    keys = ", ".join(f'"{shorten(key)}"' for key in list(tree)[:3]) or "nothing"
    needed = " and ".join(missing)
    return _below(path, missing[0]), f"a Kubernetes object needs {needed}; this one starts with {keys}"


def _subject(source: str, tree: object, path: str, namespace: str) -> str:
    """The object that a path leads into, in words: the item where the tree is a List."""
    while isinstance(tree, dict) and (items := _items(tree)) is not None and (step := _ITEM.match(path)) is not None:
        if int(step[1]) >= len(items):
            break
        tree, path = _with_type(items[int(step[1])], tree), path[step.end() :]
    if not isinstance(tree, dict) or not _text(tree, "kind"):
        return ""
    return _document(source, "", tree, namespace).where


def _text(mapping: object, key: str) -> str:
    value = mapping.get(key) if isinstance(mapping, dict) else None
    return value if isinstance(value, str) else ""


def _below(path: str, rest: str) -> str:
    return f"{path}.{rest}" if path and rest and not rest.startswith("[") else path + rest


def _literal(value: object) -> str:
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "a mapping"
    return f'"{shorten(value)}"' if isinstance(value, str) else literal(value)
