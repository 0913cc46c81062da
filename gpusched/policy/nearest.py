"""The nearest known word: what a misspelt key or value was probably meant to be."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

#: Nothing that people misspell is longer, and comparing is quadratic.
_LONGEST = 64
#: Between difflib's default, which finds `pack` for `bin-pack`, and a value that finds anything for anything.
_CUTOFF = 0.6
#: What people write in other tools for a word of ours, whose letters tell nothing: the first that is a choice is meant.
_SYNONYMS: Final = {
    **dict.fromkeys(("block", "blocked", "forbid", "forbidden", "refuse", "reject", "prohibit", "disallow"), ("deny",)),
    **dict.fromkeys(("no", "false"), ("deny", "off", "never")),
    **dict.fromkeys(("ignore", "permit", "permissive", "yes", "true"), ("allow",)),
    **dict.fromkeys(("strict", "required", "enforcing"), ("enforce",)),
    **dict.fromkeys(("dry-run", "dryrun", "log", "monitor", "report"), ("audit",)),
    **dict.fromkeys(("disable", "disabled", "none"), ("off", "never")),
    **dict.fromkeys(("bin-pack", "binpack", "bin-packing", "binpacking", "most-allocated", "fill"), ("pack",)),
    **dict.fromkeys(("least-allocated", "balance", "balanced"), ("spread",)),
    **dict.fromkeys(("exclusive", "dedicated", "whole", "unshared"), ("none",)),
}


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """The choice most like `word`, None when none is like it.

    Case, blanks, `_` for `-` and the order of the choices do not matter.
    """
    plain = word.strip().lower().replace("_", "-").replace(" ", "-")
    if not plain or len(plain) > _LONGEST:
        return None
    by_plain = {choice.lower(): choice for choice in sorted(choices, reverse=True)}
    for meant in (plain, *_SYNONYMS.get(plain, ())):
        if meant in by_plain:
            return by_plain[meant]
    found = get_close_matches(plain, sorted(by_plain), n=1, cutoff=_CUTOFF)
    return by_plain[found[0]] if found else None
