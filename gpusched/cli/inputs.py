"""From the paths on the command line to manifests, a cluster and a configuration, with everything that is wrong."""

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import BinaryIO, Final

import msgspec

from gpusched.admission.templates import templates_of, unknown_templates
from gpusched.cli.documents import documents_of, read_documents
from gpusched.cli.objects import Objects, sort_objects
from gpusched.cli.sources import Text
from gpusched.core.resources import GpuResources
from gpusched.policy.config import parse_config
from gpusched.policy.model import Config
from gpusched.simulate.manifest import InputFault, Manifest, place_of
from gpusched.simulate.standing import unread_annotations
from gpusched.simulate.world import World, load

#: Objects of a cluster that are no manifests, by the option that they belong to.
_MISPLACED: Final = {
    "nodes": "--cluster",
    "runtime_classes": "--cluster",
    "cluster_policies": "--cluster",
    "device_classes": "--cluster",
    "resource_slices": "--cluster",
    "configs": "--config",
    "scheduler_configs": "config scheduler --merge",
}
#: Files of configuration stand in no cluster.
_FILES: Final = {"configs": "--config", "scheduler_configs": "config scheduler --merge"}

Progress = Callable[[int, int], None]


def unwatched(_line: int, _total: int) -> None:
    """Nobody watches."""


class Inputs(msgspec.Struct):
    """What a command works on. `errors` make the exit code 2; `notes` are lines for people.

    `config_broken` says that the configuration has errors; `config` is then what could be read of it. `live` tells that
    `standing` was read from an API server; `namespace` is then the one that the user works in, if any, and `failures`
    are events about pods that controllers could not create. `others` are objects of a dump that are no part of its
    state. `claim_kinds` are kinds of claims and their classes that were listed, whether there are any or not.
    """

    manifests: list[Manifest] = []
    standing: list[Manifest] = []
    config: Config = Config()
    config_broken: bool = False
    errors: list[InputFault] = []
    notes: list[str] = []
    live: bool = False
    namespace: str = ""
    failures: list[Manifest] = []
    others: list[Manifest] = []
    config_faults: list[InputFault] = []
    claim_kinds: frozenset[str] = frozenset()


def read_inputs(
    files: Sequence[str],
    cluster: Sequence[str],
    config: str | None,
    *,
    stdin: BinaryIO | None,
    progress: Progress = unwatched,
    namespace: str = "default",
) -> Inputs:
    """Read manifests (`-f`), a dump (`--cluster`) and a configuration (`--config`).

    `namespace` is that of manifests which name none.
    """
    inputs = Inputs()
    if config is not None:
        _read_config(config, stdin, inputs)
    if files:
        objects = _read_objects("-f", files, stdin, inputs, progress, namespace)
        objects.skipped.update(item.kind for item in objects.claims)
        _note_skipped("-f", objects, _MISPLACED, inputs)
        inputs.manifests = [*objects.namespaces, *objects.manifests]
    if cluster:
        objects = _read_objects("--cluster", cluster, stdin, inputs, progress)
        _note_skipped("--cluster", objects, _FILES, inputs)
        inputs.standing = _standing(objects)
        inputs.others = objects.others
    return inputs


def take_live(documents: Sequence[Manifest], config: str | None, source: str, inputs: Inputs) -> None:
    """What a live cluster holds in place of a dump. `config` is the text of its configuration, which counts unless the
    user has named one; what is wrong with it is the administrator's affair, hence a note.
    """
    inputs.live = True
    if config is not None:
        found, faults = documents_of([Text(source, config)])
        if found and not faults:
            inputs.config, wrong = parse_config(found[0].tree)
            faults = [InputFault(source, fault.path, fault.message) for fault in wrong]
        inputs.config_faults = faults
        inputs.notes.extend(f"{fault}; what can be read of the configuration holds" for fault in faults)
    inputs.failures = [item for item in documents if item.kind == "Event"]
    objects, errors = sort_objects(
        [item for item in documents if item.kind != "Event"],
        has_template=lambda tree: templates_of(tree, []) is not None,
    )
    inputs.errors.extend(errors)
    inputs.standing = _standing(objects)


def _standing(objects: Objects) -> list[Manifest]:
    kinds = (
        objects.nodes,
        objects.namespaces,
        objects.runtime_classes,
        objects.cluster_policies,
        objects.device_classes,
        objects.resource_slices,
        objects.claims,
        objects.manifests,
    )
    return [manifest for manifests in kinds for manifest in manifests]


def note_unknown_namespaces(inputs: Inputs) -> None:
    """Say which namespaces are judged without a policy of their own because no input has the Namespace object.

    Where no Namespace is given at all, the user has left policy out knowingly.
    """
    given = {item.name for item in (*inputs.manifests, *inputs.standing) if item.kind == "Namespace"}
    missing = sorted({item.namespace for item in inputs.manifests if item.namespace} - given - {"default"})
    if missing and given:
        noun = "Namespace" if len(missing) == 1 else "Namespaces"
        inputs.notes.append(f"no input has {noun} {', '.join(missing)}: judged without a policy of its own")


def absent_namespace(name: str, objects: Sequence[Manifest]) -> str:
    """That there is no Namespace of this name, which the user looks in; empty where there is one.

    A dump may have no Namespaces at all.
    """
    known = {item.name for item in objects if (item.group, item.kind) == ("", "Namespace")}
    if not known or name in known | {item.namespace for item in objects}:
        return ""
    near = get_close_matches(name, sorted(known), 1)
    return f"there is no namespace {name}" + (f"; did you mean {near[0]}?" if near else "")


def world_of(inputs: Inputs, *, known: bool = True) -> World:
    """The dump as working state; its faults join the errors."""
    world = load(inputs.standing, inputs.config, known=known)
    world.claim_kinds.update(inputs.claim_kinds)
    inputs.errors.extend(world.faults)
    replaced = {item.name for item in inputs.manifests if (item.group, item.kind) == ("", "Namespace")}
    inputs.notes.extend(unread_annotations(world, replaced))
    return world


def _read_objects(
    option: str,
    paths: Sequence[str],
    stdin: BinaryIO | None,
    inputs: Inputs,
    progress: Progress,
    namespace: str = "default",
) -> Objects:
    documents, errors = read_documents(paths, stdin=stdin, namespace=namespace, progress=progress)
    objects, more = sort_objects(documents, has_template=lambda tree: templates_of(tree, []) is not None)
    inputs.errors.extend([*errors, *more])
    resources = GpuResources({item.name: item.vendor for item in inputs.config.resources})
    for document in documents:
        if templates_of(document.tree, []) is None:
            asking = unknown_templates(document.tree, resources)
            inputs.notes.extend(f"{option}: {_unjudged(document, path)}" for path in asking)
    return objects


def _unjudged(document: Manifest, path: str) -> str:
    place = place_of(document.source)
    return f"{document.where} asks for GPUs in {path}, but its kind is not known: it is not judged ({place})"


def apply_once(inputs: Inputs) -> None:
    """Leave each object once, as applying one manifest after the other does: the last version counts, with a note."""
    kept: dict[tuple[str, str, str, str], Manifest] = {}
    for manifest in inputs.manifests:
        key = (manifest.group, manifest.kind, manifest.namespace, manifest.name)
        before = kept.get(key)
        if before is not None and before.tree != manifest.tree:
            inputs.notes.append(
                f"{manifest.where}: {place_of(manifest.source)} replaces what {place_of(before.source)} says"
            )
        kept[key] = manifest
    inputs.manifests = list(kept.values())


def _note_skipped(option: str, objects: Objects, misplaced: dict[str, str], inputs: Inputs) -> None:
    for field, belongs in misplaced.items():
        for manifest in getattr(objects, field):
            objects.skipped[f"{manifest.kind} (belongs to {belongs})"] += 1
    note = objects.skipped_note()
    if note is not None:
        inputs.notes.append(f"{option}: {note}")


def _read_config(path: str, stdin: BinaryIO | None, inputs: Inputs) -> None:
    documents, found = read_documents([path], stdin=stdin)
    inputs.errors.extend(found)
    if len(documents) == 1:
        inputs.config, faults = parse_config(documents[0].tree)
        inputs.errors.extend(InputFault(documents[0].source, fault.path, fault.message) for fault in faults)
    elif not found:
        inputs.errors.append(InputFault(path, "", f"a configuration is one document, not {len(documents)}"))
    inputs.config_broken = bool(inputs.errors)
    if inputs.config_broken:
        inputs.notes.append("the configuration has errors: what could be read of it holds, defaults for the rest")
