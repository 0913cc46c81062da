"""Whether product rules can hold together: whether some GPU, sold or present, satisfies all of them."""

import re
from collections.abc import Iterable, Sequence
from itertools import product as combinations
from typing import Final

from gpusched.core.catalogue import CARDS
from gpusched.core.products import in_order, product_matches, tokens_of

#: Words that drivers put into product names and the catalogue leaves out: one card is sold in several forms, and the
#: kind of its memory may be named too. A device has one of each.
_FORM: Final = re.compile(r"sxm\d?|pcie|nvl|oam")
_CHIPS: Final = re.compile(r"hbm\d?e?")

_Side = tuple[str, ...]


def compatible(sides: Sequence[_Side], present_products: Iterable[str] = ()) -> bool:
    """Whether one product satisfies every side, of which each is a list of alternatives.

    Products looked at: those present, those named by the sides themselves (so that a model younger than the
    catalogue can be asked for), and the catalogue's cards in each form that a side names.
    """
    named = (*present_products, *(word for side in sides for word in side))
    if any(all(any(product_matches(word, product) for word in side) for side in sides) for product in named):
        return True
    split = [[_split(word) for word in side] for side in sides]
    words = [word for side in split for word in side]
    variants = list(combinations({form for _, form, _ in words} | {""}, {chips for _, _, chips in words} | {""}))
    return any(_sold(card.name, form, chips, split) for card in CARDS for form, chips in variants)


def _sold(name: str, form: str, chips: str, sides: list[list[tuple[_Side, str, str]]]) -> bool:
    """Whether the card in this form and with these memory chips satisfies every side."""
    tokens, own_form, own_chips = _split(name)
    if own_form not in {"", form} or own_chips not in {"", chips}:
        return False
    return all(
        any(
            in_order(wanted, tokens) and wanted_form in {"", form} and wanted_chips in {"", chips}
            for wanted, wanted_form, wanted_chips in side
        )
        for side in sides
    )


def _split(word: str) -> tuple[_Side, str, str]:
    """The tokens of a product without form and memory chips, and those two (empty when not named)."""
    tokens = tokens_of(word)
    form = next((token for token in tokens if _FORM.fullmatch(token)), "")
    chips = next((token for token in tokens if _CHIPS.fullmatch(token)), "")
    return tuple(token for token in tokens if token not in {form, chips}), form, chips
