"""The nearest known word: what a misspelt key or value was probably meant to be."""

from collections.abc import Iterable
from difflib import get_close_matches

#: Nothing that people misspell is longer, and comparing is quadratic.
_LONGEST = 64
#: Between difflib's default, which finds `pack` for `bin-pack`, and a value that finds anything for anything.
_CUTOFF = 0.6


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """The choice most like `word`, None when none is like it.

    Case, blanks, `_` for `-` and the order of the choices do not matter.
    """
    plain = word.strip().lower().replace("_", "-").replace(" ", "-")
    if not plain or len(plain) > _LONGEST:
        return None
    by_plain = {choice.lower(): choice for choice in sorted(choices, reverse=True)}
    if plain in by_plain:
        return by_plain[plain]
    found = get_close_matches(plain, sorted(by_plain), n=1, cutoff=_CUTOFF)
    return by_plain[found[0]] if found else None
