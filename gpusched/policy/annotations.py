"""Annotations of Namespaces and pods, parsed: all errors at once, none fatal."""

from collections.abc import Callable, Mapping
from typing import Final

from gpusched.core.fault import Fault
from gpusched.core.names import PREFIX
from gpusched.policy.keys import CLAIM, FACTS, KEYS, read_policy
from gpusched.policy.malformed import Malformed, oversized
from gpusched.policy.memory_text import parse_amount
from gpusched.policy.model import Parsed
from gpusched.policy.nearest import nearest

#: Unknown keys that are reported; an object may carry thousands, and each is compared with those that are known.
_MOST_UNKNOWN: Final = 20
NAMESPACE_KEYS: Final = tuple(KEYS)
POD_KEYS: Final = (*(name for name, key in KEYS.items() if key.on_pods), CLAIM)


def parse_namespace(annotations: Mapping[str, str]) -> Parsed:
    """The policy annotations of a Namespace. Other annotations are not looked at."""
    texts, unknown = _sort(annotations, NAMESPACE_KEYS, _unknown_on_namespace)
    policy, malformed = read_policy(texts)
    return Parsed(policy=policy, malformed=malformed, unknown=unknown)


def parse_pod(annotations: Mapping[str, str]) -> Parsed:
    """The annotations of a pod or pod template, with its claim. Keys that gpusched writes itself are not looked at."""
    texts, unknown = _sort(annotations, POD_KEYS, _unknown_on_pod)
    claim = texts.pop(CLAIM, None)
    claim_mib, claim_fault = (None, None) if claim is None else _claim(*claim)
    policy, malformed = read_policy(texts)
    return Parsed(
        policy=policy,
        claim_mib=claim_mib,
        claim_fault=claim_fault,
        malformed=malformed,
        unknown=unknown,
    )


def annotation_path(name: str) -> str:
    """The path of one of our annotations, its name without prefix."""
    return f"metadata.annotations[{PREFIX}{name}]"


def _claim(path: str, text: str) -> tuple[int | None, Fault | None]:
    amount = oversized(text) or parse_amount(text)
    return (None, Fault(path, amount.sentence)) if isinstance(amount, Malformed) else (amount, None)


def _sort(
    annotations: Mapping[str, str], known: tuple[str, ...], explain: Callable[[str], str]
) -> tuple[dict[str, tuple[str, str]], tuple[Fault, ...]]:
    """Our annotations by name with path and text, and the faults of the first unknown names, sorted."""
    ours = sorted((key.removeprefix(PREFIX), text) for key, text in annotations.items() if key.startswith(PREFIX))
    texts = {name: (annotation_path(name), text) for name, text in ours if name in known}
    unknown = [name for name, _ in ours if name not in known][:_MOST_UNKNOWN]
    return texts, tuple(Fault(annotation_path(name), explain(name)) for name in unknown)


def _unknown_on_namespace(name: str) -> str:
    if name == CLAIM:
        return f"{PREFIX}{CLAIM} is a claim of pods; write {PREFIX}min-gpu-memory for a namespace"
    return _misplaced(name, "a Namespace") or _misspelt(name, NAMESPACE_KEYS)


def _unknown_on_pod(name: str) -> str:
    if name in KEYS:
        return f"{PREFIX}{name} is a key of Namespaces; take it off the pod"
    return _misplaced(name, "a pod") or _misspelt(name, POD_KEYS)


def _misplaced(name: str, here: str) -> str | None:
    return f"{PREFIX}{FACTS} is a key of Nodes and says nothing on {here}; take it off" if name == FACTS else None


def _misspelt(name: str, known: tuple[str, ...]) -> str:
    close = nearest(name, known)
    hint = f"write {PREFIX}{close}" if close is not None else "take it off"
    return f"{PREFIX}{name} is no known key; {hint}"
