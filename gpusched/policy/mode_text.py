"""Modes as text: `enforce`, or `enforce,quota=warn` with exceptions by rule group."""

from gpusched.policy.malformed import Malformed, entries, one_of, quoted
from gpusched.policy.model import Group, Mode, Modes


def parse_modes(text: str) -> Modes | Malformed:
    """The mode of everything and its exceptions, which are sorted by group. The mode of everything must be there."""
    words = entries(text, "mode", "enforce")
    if isinstance(words, Malformed):
        return words
    default: Mode | None = None
    groups: dict[Group, Mode] = {}
    for word in words:
        name, equals, value = word.partition("=")
        mode = one_of(value if equals else word, "mode", Mode)
        if isinstance(mode, Malformed):
            return mode
        if not equals:
            if default is not None:
                return Malformed(f"{quoted(text)} names two modes; write one of them, such as {default}")
            default = Mode(mode)
            continue
        group = one_of(name, "rule group", Group)
        if isinstance(group, Malformed):
            return group
        if group in groups:
            return Malformed(f"{quoted(text)} names {group} twice; write it once, such as {group}={mode}")
        groups[Group(group)] = Mode(mode)
    if default is None:
        right = ",".join((Mode.ENFORCE, *words))
        return Malformed(f"{quoted(text)} lacks the mode of all other rules; write for example {right}")
    return Modes(default, tuple(sorted(groups.items())))


def format_modes(modes: Modes) -> str:
    """The text that `parse_modes` reads back."""
    return ",".join((modes.default, *(f"{group}={mode}" for group, mode in modes.groups)))
