"""Policies inside the cluster configuration: annotation keys without prefix, and the namespaces they are for."""

from typing import Final

from gpusched.core.fields import Field, literal
from gpusched.core.names import PREFIX
from gpusched.core.read_selector import read_label_selector
from gpusched.core.selector import Requirement
from gpusched.policy.keys import KEYS, read_policy
from gpusched.policy.label_syntax import check_key, check_value
from gpusched.policy.model import Policy, SelectedPolicy
from gpusched.policy.nearest import nearest

#: Keys whose value is a list of words, so that a YAML list reads well.
_LISTS: Final = frozenset({"families", "products", "sharing"})


def refuse_unknown(field: Field, known: tuple[str, ...]) -> None:
    """Report every key of a mapping that is not known, with the nearest one that is."""
    for name, member in field.entries():
        if name not in known:
            close = nearest(name, known)
            hint = f"write {close}" if close is not None else f"known keys: {', '.join(known)}"
            member.fault(f'"{literal(name)}" is no known key; {hint}')


def read_inline_policy(field: Field) -> Policy:
    """The policy of a mapping from annotation keys to strings, whole numbers or (for sets) lists of strings."""
    texts: dict[str, tuple[str, str]] = {}
    for name, member in field.entries():
        if name not in KEYS:
            _unknown_key(name, member)
            continue
        text = _text(name, member)
        if text is not None:
            texts[name] = (member.path, text)
    policy, faults = read_policy(texts)
    field.faults.extend(faults)
    return policy


def read_selected_policies(field: Field) -> tuple[SelectedPolicy, ...]:
    """The entries of `policies`, in order."""
    selected: list[SelectedPolicy] = []
    for entry in field.items():
        refuse_unknown(entry, ("namespaceSelector", "policy"))
        for name in ("namespaceSelector", "policy"):
            if not entry.get(name).present:
                hint = " ({} for all namespaces)" if name == "namespaceSelector" else ""
                entry.get(name).fault(f"is missing; write it{hint}")
        selector = read_selector(entry.get("namespaceSelector"))
        selected.append(SelectedPolicy(selector, read_inline_policy(entry.get("policy"))))
    return tuple(selected)


def read_selector(field: Field) -> tuple[Requirement, ...]:
    """A meta/v1 LabelSelector as requirements; none of them match every namespace."""
    refuse_unknown(field, ("matchLabels", "matchExpressions"))
    for entry in field.get("matchExpressions").items():
        refuse_unknown(entry, ("key", "operator", "values"))
    requirements = read_label_selector(field) or ()
    for requirement in requirements:
        for malformed in (check_key(requirement.key), *map(check_value, requirement.values)):
            if malformed is not None:
                field.fault(malformed.sentence)
    return requirements


def _unknown_key(name: str, member: Field) -> None:
    bare = name.removeprefix(PREFIX)
    if bare != name and bare in KEYS:
        member.fault(f'"{name}" stands without prefix here; write {bare}')
        return
    close = nearest(bare, KEYS)
    hint = f"write {close}" if close is not None else f"known keys: {', '.join(KEYS)}"
    member.fault(f'"{literal(name)}" is no policy key; {hint}')


def _text(name: str, member: Field) -> str | None:
    """The value as an annotation would hold it; None when absent or (a fault) of a wrong type."""
    value = member.value
    if value is False and name == "mode":
        # YAML 1.1 reads a bare `off` as a boolean, and nothing else in this place can have been meant.
        return "off"
    if isinstance(value, int) and not isinstance(value, bool):
        return literal(value)
    if name in _LISTS and isinstance(value, list):
        words = [item.optional_text() for item in member.items()]
        return None if None in words else ", ".join(word for word in words if word is not None)
    return member.optional_text()
