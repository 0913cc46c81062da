"""The administrator's word on a node: the annotation gpusched.io/facts, which settles what labels get wrong."""

import difflib
import re
from typing import Final, NamedTuple

from gpusched.core.catalogue import canonical_family, nearest_family
from gpusched.core.names import FACTS_ANNOTATION
from gpusched.core.pool import Sharing
from gpusched.core.products import normalise
from gpusched.core.quantity import mib
from gpusched.dialects.partial import Partial, Rank, Reading
from gpusched.dialects.surface import Surface, positive

NAME: Final = "admin"
KEYS: Final = ("family", "product", "sharing", "replicas", "gpu-memory")
_PRODUCT: Final = re.compile(r"[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?", re.ASCII)
_UNIT: Final = re.compile(r"\d(?:[KMGT]i|[kMGT])$", re.ASCII)


class Word(NamedTuple):
    """One `key=value`, for one resource or, where that is empty, for every resource of the node."""

    resource: str
    key: str
    value: str


def read(surface: Surface) -> Reading:
    """Parse the annotation. What cannot be read is left out and noted; a resource's own word beats the general one."""
    text = surface.annotations.get(FACTS_ANNOTATION)
    if text is None:
        return Reading()
    words, notes = _words(text)
    known = {offer.resource for offer in surface.offers}
    notes += [
        f"{FACTS_ANNOTATION}: the node does not offer {resource}"
        for resource in sorted({word.resource for word in words} - known - {""})
    ]
    partials = []
    for resource in sorted(known):
        partial, faults = _partial(resource, words)
        if partial is not None:
            partials.append(partial)
        notes += [fault for fault in faults if fault not in notes]
    return Reading(tuple(partials), tuple(notes))


def _words(text: str) -> tuple[list[Word], list[str]]:
    words, notes = [], []
    for item in text.split(","):
        if not item.strip():
            continue
        left, equals, value = item.partition("=")
        resource, _, key = left.strip().rpartition(":")
        word = Word(resource.strip(), key.strip().lower(), value.strip())
        if not equals or not word.value:
            notes.append(f"{FACTS_ANNOTATION}: {item.strip()!r} is not key=value")
        elif word.key not in KEYS:
            notes.append(f"{FACTS_ANNOTATION}: unknown key {word.key!r}{_nearest(word.key)}")
        else:
            words.append(word)
    return words, notes


def _nearest(key: str) -> str:
    close = difflib.get_close_matches(key, KEYS, n=1)
    return f"; did you mean {close[0]}?" if close else f"; known are {', '.join(KEYS)}"


def _partial(resource: str, words: list[Word]) -> tuple[Partial | None, list[str]]:
    said = {word.key: word.value for word in words if not word.resource}
    said |= {word.key: word.value for word in words if word.resource == resource}
    if not said:
        return None, []
    faults = [
        f"{FACTS_ANNOTATION}: {key} {said[key]!r} {fault}"
        for key in KEYS
        if key in said and (fault := _fault(key, said[key]))
    ]
    sharing, replicas = _sharing(said.get("sharing", "")), positive(said.get("replicas"))
    if sharing is Sharing.NONE and replicas is not None and replicas > 1:
        faults.append(f"{FACTS_ANNOTATION}: sharing none contradicts replicas {replicas}: both are ignored")
        sharing = replicas = None
    product = normalise(said.get("product", ""))
    partial = Partial(
        NAME,
        Rank.ADMIN,
        resource,
        family=canonical_family(said.get("family", "")),
        product=product if _PRODUCT.fullmatch(product) else None,
        sharing=sharing,
        replicas=1 if sharing is Sharing.NONE else replicas,
        gpu_memory_mib=_memory(said.get("gpu-memory", "")),
    )
    return partial, faults


def _fault(key: str, value: str) -> str:
    """What is wrong with a value, empty when nothing is."""
    match key:
        case "family":
            near = nearest_family(value)
            return "" if canonical_family(value) else "is no family" + (f"; did you mean {near}?" if near else "")
        case "product":
            return "" if _PRODUCT.fullmatch(normalise(value)) else "is no product name"
        case "sharing":
            return "" if _sharing(value) else f"is none of {', '.join(Sharing)}"
        case "replicas":
            return "" if positive(value) else "is not a whole number above 0"
        case _:
            return "" if _memory(value) else "is no amount with unit, such as 15360Mi"


def _sharing(text: str) -> Sharing | None:
    word = text.lower()
    return next((kind for kind in Sharing if kind.value == word), None)


def _memory(text: str) -> int | None:
    return (mib(text) or None) if _UNIT.search(text) else None
