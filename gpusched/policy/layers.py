"""Layers of policy: how the configuration and a Namespace make up what holds in one namespace, and in which mode."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from gpusched.core.selector import all_match
from gpusched.policy.annotations import annotation_path
from gpusched.policy.keys import KEYS, SOFT_KEYS
from gpusched.policy.model import Config, Group, Layer, Mode, Modes, Parsed, Policy

CONFIGURATION: Final = "the cluster configuration"
CEILING: Final = "the cluster ceiling"

#: The fields of a policy that each rule group governs. `node_selector` belongs to none: the default mode governs it.
GROUP_FIELDS: Final[Mapping[Group, tuple[str, ...]]] = {
    Group.FAMILY: ("families",),
    Group.PRODUCT: ("products",),
    Group.MEMORY: ("min_memory", "max_memory"),
    Group.SHARING: ("sharing",),
    Group.VERSION: ("min_cuda", "min_driver"),
    Group.QUOTA: ("quota", "quota_memory_mib"),
    Group.MAX_GPUS: ("max_gpus",),
    Group.VISIBLE_DEVICES: ("visible_devices",),
    Group.NODE_NAME: (),
}
_FIELDS: Final = tuple(key.field for key in KEYS.values())
_SOFT_FIELDS: Final = frozenset(KEYS[name].field for name in SOFT_KEYS)
_SOFT_PATHS: Final = frozenset(annotation_path(name) for name in SOFT_KEYS)


class Stack(msgspec.Struct, frozen=True):
    """The layers of one namespace from the ceiling inwards, without those that say nothing, and the mode they hold in.

    `ceiling_enforces` is about the ceiling's rules that no group governs (its node-selector).
    """

    layers: tuple[Layer, ...]
    modes: Modes
    ceiling_enforces: bool


def stack(config: Config, namespace: str, labels: Mapping[str, str], parsed: Parsed) -> Stack:
    """Lay ceiling, configuration and Namespace over each other.

    The ceiling holds in the strictest of three modes: the namespace's, its own, and, if it names none, the one that
    the configuration alone would give; an annotation could otherwise switch it off. Where that makes the ceiling
    enforce a group which the namespace does not, the ceiling alone is left to speak in that group.
    """
    configured = configured_policy(config, labels)
    modes = _modes(configured, parsed)
    ceiling_modes = config.ceiling.mode or configured.mode or Modes(Mode.WARN)
    raised = frozenset(
        group
        for group, fields in GROUP_FIELDS.items()
        if any(getattr(config.ceiling, field) is not None for field in fields)
        and ceiling_modes.of(group) is Mode.ENFORCE
        and modes.of(group) is not Mode.ENFORCE
    )
    inner = (
        Layer(CONFIGURATION, without(configured, said(parsed.policy))),
        Layer(f"namespace {namespace}", parsed.policy),
    )
    layers = (
        Layer(CEILING, config.ceiling),
        *(Layer(layer.name, without(layer.policy, fields_of(raised))) for layer in inner),
    )
    return Stack(
        layers=tuple(layer for layer in layers if said(layer.policy) - {"mode"}),
        modes=_raise(modes, raised),
        ceiling_enforces=Mode.ENFORCE in {modes.default, ceiling_modes.default},
    )


def configured_policy(config: Config, labels: Mapping[str, str]) -> Policy:
    """The default policy with every configured policy that selects the namespace laid over it, in order, key by key."""
    policy = config.default_policy
    for selected in config.policies:
        if all_match(selected.selector, labels):
            changes = {field: getattr(selected.policy, field) for field in said(selected.policy)}
            policy = msgspec.structs.replace(policy, **changes)
    return policy


def said(policy: Policy) -> frozenset[str]:
    """The fields about which a policy says something."""
    return frozenset(field for field in _FIELDS if getattr(policy, field) is not None)


def without(policy: Policy, fields: Iterable[str]) -> Policy:
    """The policy silent about these fields."""
    return msgspec.structs.replace(policy, **dict.fromkeys(fields))


def fields_of(groups: Iterable[Group]) -> frozenset[str]:
    """The fields that some rule groups govern."""
    return frozenset(field for group in groups for field in GROUP_FIELDS[group])


def _modes(configured: Policy, parsed: Parsed) -> Modes:
    """The Namespace's own word, else enforce where it carries a rule (readable or not), else the configuration's."""
    if parsed.policy.mode is not None:
        return parsed.policy.mode
    unreadable = any(fault.path not in _SOFT_PATHS for fault in parsed.malformed)
    if unreadable or said(parsed.policy) - _SOFT_FIELDS:
        return Modes(Mode.ENFORCE)
    return configured.mode or Modes(Mode.WARN)


def _raise(modes: Modes, groups: frozenset[Group]) -> Modes:
    exceptions = dict(modes.groups) | dict.fromkeys(groups, Mode.ENFORCE)
    return Modes(modes.default, tuple(sorted(exceptions.items())))
