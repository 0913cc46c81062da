"""Quotas of slots as text: `hopper=4, ampere=8, *=16`."""

import re
from typing import Final

from gpusched.core.families import canonical_family, nearest_family
from gpusched.policy.malformed import Malformed, entries, quoted
from gpusched.policy.model import Quota
from gpusched.policy.values import parse_family

_EVERYTHING: Final = "*"
_COUNT: Final = re.compile(r"[0-9]{1,9}")
_OTHER_SIGN: Final = re.compile(r"([A-Za-z][A-Za-z0-9-]{0,62}|\*)\s*[:\s]\s*([0-9]{1,9})")


def parse_quota(text: str) -> Quota | Malformed:
    """Slots per family in the order written, and the total. 0 allows none of that family."""
    words = entries(text, "family", "hopper=4")
    if isinstance(words, Malformed):
        return words
    amounts: dict[str, int] = {}
    for word in words:
        entry = _entry(word)
        if isinstance(entry, Malformed):
            return entry
        family, slots = entry
        if family in amounts:
            return Malformed(f"{quoted(text)} names {family} twice; write it once, such as {family}={slots}")
        amounts[family] = slots
    return Quota(
        families=tuple((family, slots) for family, slots in amounts.items() if family != _EVERYTHING),
        total=amounts.get(_EVERYTHING),
    )


def format_quota(quota: Quota) -> str:
    """The text that `parse_quota` reads back."""
    total = () if quota.total is None else ((_EVERYTHING, quota.total),)
    return ", ".join(f"{family}={slots}" for family, slots in (*quota.families, *total))


def _entry(word: str) -> tuple[str, int] | Malformed:
    name, equals, amount = (part.strip() for part in word.partition("="))
    other = None if equals else _OTHER_SIGN.fullmatch(word)
    if other is not None:
        meant = canonical_family(other[1]) or nearest_family(other[1]) or other[1]
        return Malformed(f"{quoted(word)} has no equals sign between family and number; write {meant}={other[2]}")
    if not equals and _COUNT.fullmatch(name):
        return Malformed(f"{quoted(word)} names no family; write *={name} for all families together")
    family = name if name == _EVERYTHING else parse_family(name)
    if isinstance(family, Malformed):
        return family
    if not _COUNT.fullmatch(amount):
        return Malformed(f"{quoted(word)} needs a whole number of slots; write for example {family}=4")
    return family, int(amount)
