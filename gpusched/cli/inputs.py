"""From the paths on the command line to manifests, a cluster and a configuration, with everything that is wrong."""

from collections.abc import Sequence
from typing import BinaryIO

import msgspec

from gpusched.admission.templates import templates_of
from gpusched.cli.documents import read_documents
from gpusched.cli.objects import Objects, sort_objects
from gpusched.policy.config import parse_config
from gpusched.policy.model import Config
from gpusched.simulate.manifest import InputFault, Manifest
from gpusched.simulate.world import World, load


class Inputs(msgspec.Struct):
    """What a command works on. `errors` make the exit code 2; `notes` are lines for people."""

    manifests: list[Manifest] = []
    standing: list[Manifest] = []
    config: Config = Config()
    config_broken: bool = False
    errors: list[InputFault] = []
    notes: list[str] = []


def read_inputs(files: Sequence[str], cluster: Sequence[str], config: str | None, *, stdin: BinaryIO | None) -> Inputs:
    """Read manifests (`-f`), a dump (`--cluster`) and a configuration (`--config`)."""
    inputs = Inputs()
    if config is not None:
        inputs.config, broken = _read_config(config, stdin, inputs.errors)
        inputs.config_broken = broken
    if files:
        objects = _read_objects(files, stdin, inputs)
        for count, name in ((len(objects.nodes), "Node"), (len(objects.configs), "Config")):
            if count:
                objects.skipped[f"{name} (belongs to --{'cluster' if name == 'Node' else 'config'})"] += count
        inputs.manifests = [*objects.namespaces, *objects.manifests]
        _note_skipped("-f", objects, inputs)
    if cluster:
        objects = _read_objects(cluster, stdin, inputs)
        standing = (
            objects.nodes, objects.namespaces, objects.runtime_classes, objects.cluster_policies,
            objects.device_classes, objects.resource_slices, objects.manifests,
        )  # fmt: skip
        inputs.standing = [manifest for manifests in standing for manifest in manifests]
        _note_skipped("--cluster", objects, inputs)
    return inputs


def world_of(inputs: Inputs, *, known: bool = True) -> World:
    """The dump as working state; its faults join the errors."""
    world = load(inputs.standing, inputs.config, known=known)
    inputs.errors.extend(world.faults)
    return world


def _read_objects(paths: Sequence[str], stdin: BinaryIO | None, inputs: Inputs) -> Objects:
    documents, errors = read_documents(paths, stdin=stdin)
    objects, more = sort_objects(documents, has_template=lambda tree: templates_of(tree, []) is not None)
    inputs.errors.extend([*errors, *more])
    return objects


def _note_skipped(option: str, objects: Objects, inputs: Inputs) -> None:
    note = objects.skipped_note()
    if note is not None:
        inputs.notes.append(f"{option}: {note}")


def _read_config(path: str, stdin: BinaryIO | None, errors: list[InputFault]) -> tuple[Config, bool]:
    """The configuration; the default one and True when it has errors."""
    documents, found = read_documents([path], stdin=stdin)
    errors.extend(found)
    if len(documents) != 1:
        if not found:
            errors.append(InputFault(path, "", f"a configuration is one document, not {len(documents)}"))
        return Config(), True
    config, faults = parse_config(documents[0].tree)
    errors.extend(InputFault(documents[0].source, fault.path, fault.message) for fault in faults)
    return config, bool(found or faults)
