"""Example manifests in a few lines: what stands on each object that matters for policy."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

#: What every pod of the examples asks for unless its digest says otherwise.
_USUAL = {"nvidia.com/gpu": 1}


def digest(path: Path) -> str:
    """YAML with an entry for each object: its annotations, and of a pod what differs from one `nvidia.com/gpu`."""
    trees = [tree for tree in yaml.safe_load_all(path.read_text(encoding="utf-8")) if tree]
    return "".join(line + "\n" for tree in trees for line in _entry(tree))


def _entry(tree: Mapping[str, Any]) -> Iterator[str]:
    about = tree["metadata"]
    name = f"{about['namespace']}/{about['name']}" if "namespace" in about else about["name"]
    lines = [f"  {key}: {_scalar(value)}" for key, value in about.get("annotations", {}).items()]
    lines += [f"  label {key}: {_scalar(value)}" for key, value in about.get("labels", {}).items()]
    if tree["kind"] == "Pod":
        lines += _container(tree["spec"]["containers"][0])
    yield f"{tree['kind']} {name}:{'' if lines else ' {}'}"
    yield from lines


def _container(container: Mapping[str, Any]) -> Iterator[str]:
    limits = container["resources"]["limits"]
    if limits != _USUAL:
        yield f"  limits: {_flow(limits)}"
    for variable in container.get("env", ()):
        yield f"  env {variable['name']}: {variable['value']}"


def _flow(value: object) -> str:
    return yaml.safe_dump(value, default_flow_style=True).strip()


def _scalar(text: str) -> str:
    """The text as YAML, in quotes where it would be read as something else."""
    return yaml.safe_dump(text, width=10_000).removesuffix("\n...\n").strip()
