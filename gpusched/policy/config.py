"""The cluster configuration: one document, every field with a default, all errors reported with their paths."""

from collections.abc import Callable
from typing import Final, TypeVar

from gpusched.core.fault import Fault
from gpusched.core.fields import Field, literal
from gpusched.core.names import DEFAULT_SCHEDULER
from gpusched.core.pod import Toleration
from gpusched.policy.config_policy import read_inline_policy, read_selected_policies, refuse_unknown
from gpusched.policy.duration_text import parse_duration_ms, parse_duration_s, parse_percent
from gpusched.policy.label_syntax import (
    check_key,
    check_value,
    is_extended_resource,
    is_namespace_name,
    is_subdomain,
)
from gpusched.policy.malformed import Malformed, listed, not_one_of, quoted
from gpusched.policy.model import Config, ConfiguredResource
from gpusched.policy.values import NO_CLASS

API_VERSION: Final = "gpusched.io/v1alpha1"
KIND: Final = "Config"

_DEFAULT: Final = Config()
_VENDORS: Final = ("nvidia", "amd", "intel")
_ABOVE_SLOT: Final = ("never", "single-gpu", "allow")
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_KEYS: Final = (
    "apiVersion",
    "kind",
    "resources",
    "defaultPolicy",
    "policies",
    "ceiling",
    "runtimeClasses",
    "tolerations",
    "exemptNamespaces",
    "secondScheduler",
    "lowering",
    "claims",
    "sharing",
    "extender",
    "labels",
)
_Value = TypeVar("_Value")


def parse_config(tree: object) -> tuple[Config, tuple[Fault, ...]]:
    """The configuration of a parsed YAML document, and everything wrong with it.

    Where there are faults, the configuration holds defaults in the faulty places and should not be used.
    """
    if tree is None:
        empty = f"the document is empty; write at least apiVersion: {API_VERSION} and kind: {KIND}"
        return _DEFAULT, (Fault("", empty),)
    root = Field(tree)
    refuse_unknown(root, _KEYS)
    if isinstance(tree, dict):
        _expect(root.get("apiVersion"), API_VERSION)
        _expect(root.get("kind"), KIND)
    default_policy = root.get("defaultPolicy")
    exempt = root.get("exemptNamespaces")
    lowering, claims, extender = root.get("lowering"), root.get("claims"), root.get("extender")
    for section, keys in (
        (lowering, ("enabled", "dialects")),
        (claims, ("reserve", "aboveSlot")),
        (root.get("sharing"), ("timeSlicingSingle",)),
        (extender, ("candidates", "weight", "httpTimeout")),
        (root.get("labels"), ("keep",)),
    ):
        refuse_unknown(section, keys)
    config = Config(
        resources=_resources(root.get("resources")),
        default_policy=read_inline_policy(default_policy) if default_policy.present else _DEFAULT.default_policy,
        policies=read_selected_policies(root.get("policies")),
        ceiling=read_inline_policy(root.get("ceiling")),
        runtime_classes=_runtime_classes(root.get("runtimeClasses")),
        tolerations=tuple(_toleration(entry) for entry in root.get("tolerations").items()),
        exempt_namespaces=_exempt(exempt) if exempt.present else _DEFAULT.exempt_namespaces,
        second_scheduler=_second_scheduler(root.get("secondScheduler")),
        lowering_enabled=lowering.get("enabled").boolean(_DEFAULT.lowering_enabled),
        lowering_dialects=_dialects(lowering.get("dialects")),
        claim_reserve=_parsed(claims.get("reserve"), parse_percent, _DEFAULT.claim_reserve),
        claim_above_slot=_word(claims.get("aboveSlot"), "choice", _ABOVE_SLOT, _DEFAULT.claim_above_slot),
        time_slicing_single=_time_slicing_single(root.get("sharing").get("timeSlicingSingle")),
        candidates=_at_least(extender.get("candidates"), 0, _DEFAULT.candidates),
        weight=_at_least(extender.get("weight"), 1, _DEFAULT.weight),
        http_timeout_ms=_parsed(extender.get("httpTimeout"), parse_duration_ms, _DEFAULT.http_timeout_ms),
        labels_keep_s=_parsed(root.get("labels").get("keep"), parse_duration_s, _DEFAULT.labels_keep_s),
    )
    return config, tuple(root.faults)


def _expect(field: Field, wanted: str) -> None:
    if not field.present:
        field.fault(f"is missing; write {wanted}")
    elif field.value != wanted:
        field.fault(f"{quoted(literal(field.value))} is not known here; write {wanted}")


def _parsed(field: Field, parse: Callable[[str], _Value | Malformed], default: _Value) -> _Value:
    """A value written as text, the default when absent. A bare number is parsed too, for the better sentence."""
    if isinstance(field.value, int | float) and not isinstance(field.value, bool):
        text: str | None = literal(field.value)
    else:
        text = field.optional_text()
    if text is None:
        return default
    value = parse(text)
    if isinstance(value, Malformed):
        field.fault(value.sentence)
        return default
    return value


def _word(field: Field, kind: str, choices: tuple[str, ...], default: str) -> str:
    word = field.optional_text()
    if word is None or word in choices:
        return default if word is None else word
    field.fault(not_one_of(word, kind, choices).sentence)
    return default


def _at_least(field: Field, least: int, default: int) -> int:
    number = field.integer(default)
    if number < least:
        field.fault(f"{literal(number)} is too small; write {least} or more")
        return default
    return number


def _resources(field: Field) -> tuple[ConfiguredResource, ...]:
    found: dict[str, ConfiguredResource] = {}
    for entry in field.items():
        refuse_unknown(entry, ("name", "vendor"))
        name = entry.get("name").text()
        if not is_extended_resource(name):
            right = "write a domain and a name, such as nvidia.com/gpu-10gb"
            entry.get("name").fault(f"{quoted(name)} is no extended resource name; {right}")
        elif name in found:
            entry.get("name").fault(f"{quoted(name)} stands here twice; take one of them out")
        vendor = entry.get("vendor")
        if not vendor.present:
            vendor.fault(f"is missing; write {listed(_VENDORS)}")
        found[name] = ConfiguredResource(name, _word(vendor, "vendor", _VENDORS, ""))
    return tuple(found.values())


def _runtime_classes(field: Field) -> dict[str, str]:
    refuse_unknown(field, _VENDORS)
    classes = dict(_DEFAULT.runtime_classes)
    for vendor, name in field.strings().items():
        if name.lower() in {"never", *NO_CLASS}:
            field.get(vendor).fault(f'{quoted(name)} is no name of a RuntimeClass; write "" for none')
        elif name.lower() == "auto":
            right = "write one such as nvidia, which policies with auto then mean"
            field.get(vendor).fault(f"{quoted(name)} is no name of a RuntimeClass; {right}")
        elif name and not is_subdomain(name):
            right = 'write a lower-case name, or "" for none'
            field.get(vendor).fault(f"{quoted(name)} is no name of a RuntimeClass; {right}")
        elif vendor in _VENDORS:
            classes[vendor] = name
    return classes


def _toleration(entry: Field) -> Toleration:
    """A toleration by the rules of pkg/apis/core/validation.ValidateTolerations."""
    refuse_unknown(entry, ("key", "operator", "value", "effect"))
    key, value = entry.get("key").text(), entry.get("value").text()
    operator = _word(entry.get("operator"), "operator", ("Equal", "Exists"), "Equal")
    effect = entry.get("effect").text()
    if effect and effect not in _EFFECTS:
        entry.get("effect").fault(not_one_of(effect, "taint effect", _EFFECTS).sentence)
    bad_key, bad_value = check_key(key) if key else None, check_value(value)
    if bad_key is not None:
        entry.get("key").fault(bad_key.sentence)
    if not key and operator != "Exists":
        entry.get("key").fault("is missing; write the key of the taint, or operator: Exists for all taints")
    if operator == "Exists" and value:
        entry.get("value").fault(f"{quoted(value)} cannot stand beside operator Exists; take it out")
    elif bad_value is not None:
        entry.get("value").fault(bad_value.sentence)
    return Toleration(key=key, operator=operator, value=value, effect=effect)


def _exempt(field: Field) -> tuple[str, ...]:
    names: list[str] = []
    for item in field.items():
        name = item.text()
        if is_namespace_name(name):
            names.append(name)
        else:
            item.fault(f"{quoted(name)} is no name of a namespace; write names without patterns, such as kube-system")
    return tuple(dict.fromkeys(names))


def _second_scheduler(field: Field) -> str:
    """A scheduler's name, which is the name of its Lease too."""
    name = field.text()
    if name == DEFAULT_SCHEDULER:
        field.fault(f"{name} is the first scheduler; leave secondScheduler out where that one calls gpusched")
    elif name and not is_subdomain(name):
        field.fault(f"{quoted(name)} is no name of a scheduler; write a lower-case name such as gpusched-scheduler")
    else:
        return name
    return _DEFAULT.second_scheduler


def _dialects(field: Field) -> tuple[str, ...] | None:
    if not field.present or field.value == "auto":
        return None
    if isinstance(field.value, str):
        field.fault(f"{quoted(field.value)} is no list of dialects; write auto or a list such as [{field.value}]")
        return None
    return tuple(dict.fromkeys(text for item in field.items() if (text := item.text())))


def _time_slicing_single(field: Field) -> bool | None:
    match field.value:
        case None | "auto":
            return None
        case bool() as value:
            return value
        case "true" | "false" as word:
            return word == "true"
        case other:
            field.fault(f"{quoted(literal(other))} is no choice; write auto, true or false")
            return None
