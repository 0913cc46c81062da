"""What `-l` and `-n` choose of a cluster."""

from collections.abc import Mapping

import click

from gpusched.admission.template_table import TABLE
from gpusched.cli.access import Access
from gpusched.cli.inputs import Inputs
from gpusched.core.selector import Requirement, all_match
from gpusched.policy.selector_text import parse_selector
from gpusched.simulate.manifest import Manifest
from gpusched.simulate.reasons.why import Target, parse_target
from gpusched.simulate.world import World
from gpusched.state.node_state import NodeState


def one_name(_context: click.Context, _parameter: click.Parameter, words: tuple[str, ...]) -> str | None:
    """The name among the arguments of a command; kubectl's `pod nb-2` means the same as `pod/nb-2`."""
    if not words:
        return None
    first, *rest = words
    if not rest:
        return first
    if len(rest) > 1 or "/" in first or parse_target(f"{first}/")[0].kind not in {kind.lower() for _, kind in TABLE}:
        raise click.UsageError("write one NAME, TYPE/NAME or TYPE NAME; without a name all pods that wait are shown")
    # A name with its namespace says enough.
    return rest[0] if "/" in rest[0] else f"{first}/{rest[0]}"


def label_selector(text: str | None) -> tuple[Requirement, ...]:
    """The requirements of `-l`; none choose everything."""
    if text is None:
        return ()
    parsed = parse_selector(text)
    if isinstance(parsed, str):
        raise click.BadParameter(parsed, param_hint="-l")
    return parsed


def matching_nodes(world: World, selector: tuple[Requirement, ...]) -> list[NodeState]:
    """Nodes by name."""
    states = world.cluster.nodes
    return [states[name] for name in sorted(states) if all_match(selector, states[name].node.object.labels)]


def matching_pods(inputs: Inputs, selector: tuple[Requirement, ...], namespace: str | None) -> list[Manifest]:
    """Pods of the cluster with these labels, of one namespace or of all."""
    chosen = chosen_objects(inputs, selector, namespace)
    return [item for item in chosen if (item.group, item.kind) == ("", "Pod")]


def chosen_objects(inputs: Inputs, selector: tuple[Requirement, ...], namespace: str | None) -> list[Manifest]:
    """Everything of the cluster with these labels, of one namespace or of all."""
    return [
        item
        for item in inputs.standing
        if namespace in {None, item.namespace} and all_match(selector, _labels(item.tree))
    ]


def within(access: Access, inputs: Inputs) -> str | None:
    """The namespace that the user looks in; None for all, as in a dump, and in a cluster whose context names none."""
    if access.all_namespaces:
        return None
    return access.namespace or (inputs.namespace if inputs.live else "") or None


def targets(name: str, access: Access, inputs: Inputs) -> list[Target]:
    """What a name may mean, the likeliest first: in the namespace that was named, or else in that of the context
    before all others.
    """
    found: list[Target] = []
    for target in parse_target(name):
        namespace = within(access, inputs)
        if namespace is None and inputs.live and not access.all_namespaces:
            namespace = "default"
        if target.namespace or namespace is None:
            found.append(target)
            continue
        found.append(Target(target.kind, namespace, target.name))
        if access.namespace is None:
            found.append(target)
    return found


def _labels(tree: Mapping[str, object]) -> Mapping[str, str]:
    metadata = tree.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, Mapping) else None
    return {str(key): str(value) for key, value in labels.items()} if isinstance(labels, Mapping) else {}
