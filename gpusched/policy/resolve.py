"""Resolve cluster, namespace and pod policy into what holds for one pod."""

from collections.abc import Mapping, Sequence

import msgspec

from gpusched.core.names import EXEMPT_LABEL, GPU_LESS_LABEL
from gpusched.policy.conflicts import conflicts
from gpusched.policy.intersection import intersect, tighter_quota
from gpusched.policy.layers import CEILING, GROUP_FIELDS, Stack, configured_policy, fields_of, stack, without
from gpusched.policy.model import Config, Layer, Mode, Modes, Parsed, Policy
from gpusched.policy.resolution import Resolution
from gpusched.policy.values import VISIBLE_DEVICES


def resolve(
    config: Config,
    namespace: str,
    namespace_labels: Mapping[str, str],
    namespace_parsed: Parsed,
    pod_parsed: Parsed,
    present_products: frozenset[str] = frozenset(),
) -> Resolution:
    """Lay the pod's annotations over what `stack` says of its namespace.

    A pod in a namespace that is exempt, by configuration or label, keeps its own annotations and nothing else.
    `present_products` are products seen in the cluster: product rules conflict when neither they nor the catalogue hold
    one that satisfies both sides.
    The ceiling's placement and runtime class, being choices and no bounds, override those of every other layer.
    """
    own = pod_parsed.policy
    if namespace in config.exempt_namespaces or namespace_labels.get(EXEMPT_LABEL) == "true":
        return _exempt(config, namespace, namespace_labels, pod_parsed)
    held = stack(config, namespace, namespace_labels, namespace_parsed)
    policies = [layer.policy for layer in held.layers]
    return Resolution(
        namespace=namespace,
        modes=held.modes,
        layers=held.layers[::-1],
        own=pod_parsed,
        constraints=intersect([*_enforced(held), own]),
        wanted=intersect([*policies, own]),
        conflicts=conflicts([*held.layers, Layer("pod", own)], present_products),
        malformed=namespace_parsed.malformed,
        max_gpus=min((policy.max_gpus for policy in policies if policy.max_gpus is not None), default=None),
        quota=tighter_quota(policies),
        quota_memory_mib=min(
            (policy.quota_memory_mib for policy in policies if policy.quota_memory_mib is not None), default=None
        ),
        placement=config.ceiling.placement or own.placement or _innermost(policies, "placement", "pack"),
        runtime_class=config.ceiling.runtime_class
        or own.runtime_class
        or _innermost(policies, "runtime_class", "auto"),
        visible_devices=_visible_devices(config.ceiling, policies),
        gpu_less_pods=namespace_labels.get(GPU_LESS_LABEL) == "true",
    )


def _exempt(config: Config, namespace: str, labels: Mapping[str, str], pod: Parsed) -> Resolution:
    own = intersect([pod.policy])
    configured = configured_policy(config, labels)
    return Resolution(
        namespace=namespace,
        modes=Modes(Mode.OFF),
        layers=(),
        own=pod,
        constraints=own,
        wanted=own,
        placement=pod.policy.placement or configured.placement or "pack",
        runtime_class=pod.policy.runtime_class or "auto",
        exempt=True,
    )


def _enforced(held: Stack) -> list[Policy]:
    """The layers, silent about everything whose group is not enforced."""
    loose = fields_of(group for group in GROUP_FIELDS if held.modes.of(group) is not Mode.ENFORCE)
    policies: list[Policy] = []
    for layer in held.layers:
        enforced = held.ceiling_enforces if layer.name == CEILING else held.modes.default is Mode.ENFORCE
        policy = without(layer.policy, loose)
        policies.append(policy if enforced else msgspec.structs.replace(policy, node_selector=None))
    return policies


def _innermost(policies: Sequence[Policy], field: str, default: str) -> str:
    return next((value for policy in reversed(policies) if (value := getattr(policy, field)) is not None), default)


def _visible_devices(ceiling: Policy, policies: Sequence[Policy]) -> str:
    """The namespace's or configuration's choice, but never looser than the ceiling's."""
    chosen = _innermost([policy for policy in policies if policy is not ceiling], "visible_devices", "allow")
    return max(chosen, ceiling.visible_devices or "allow", key=VISIBLE_DEVICES.index)
