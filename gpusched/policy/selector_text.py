"""Label selectors written as text, in the grammar of `kubectl get -l`.

The grammar is that of apimachinery `labels.Parse`, without its `>` and `<`. `key=` asks for the empty value.
"""

import re
from typing import Final

from gpusched.core.selector import Operator, Requirement
from gpusched.policy.label_syntax import check_key, check_value
from gpusched.policy.malformed import MOST_ENTRIES, Malformed, quoted, too_many

_TOKEN: Final = re.compile(r"\s*(==|!=|[=!(),<>]|[^\s=!(),<>]+)\s*")
_SYMBOLS: Final = frozenset({"==", "!=", "=", "!", "(", ")", ",", "<", ">"})
_OPERATORS: Final[dict[str, Operator]] = {
    "=": Operator.IN,
    "==": Operator.IN,
    "!=": Operator.NOT_IN,
    "in": Operator.IN,
    "notin": Operator.NOT_IN,
}
_FORMS: Final = "key=value, key!=value, key in (a,b), key notin (a,b), key or !key"


def parse_selector(text: str) -> tuple[Requirement, ...] | str:
    """The requirements in the order written, or a sentence that says what is wrong.

    Values are sorted and without repeats.
    """
    tokens = _TOKEN.findall(text.strip())
    if not tokens:
        return f"{quoted(text)} selects nothing; write {_FORMS}"
    parts = _split(tokens)
    if len(parts) > MOST_ENTRIES:
        return too_many(text, len(parts), "requirements").sentence
    requirements: list[Requirement] = []
    for part in parts:
        requirement = _requirement(part)
        if isinstance(requirement, Malformed):
            return requirement.sentence
        requirements.append(requirement)
    return tuple(requirements)


def format_selector(requirements: tuple[Requirement, ...]) -> str:
    """The text of the requirements, which `parse_selector` reads back."""
    return ",".join(str(requirement) for requirement in requirements)


def _split(tokens: list[str]) -> list[list[str]]:
    """Cut at the commas that are not inside parentheses."""
    parts: list[list[str]] = [[]]
    depth = 0
    for piece in tokens:
        if piece == "," and depth == 0:
            parts.append([])
            continue
        depth += {"(": 1, ")": -1}.get(piece, 0)
        parts[-1].append(piece)
    return parts


def _requirement(tokens: list[str]) -> Requirement | Malformed:
    shown = " ".join(tokens)
    if not tokens:
        return Malformed(f"an empty part stands between two commas or at an end; write {_FORMS}")
    negated = tokens[0] == "!" and len(tokens) > 1
    key, *rest = tokens[1:] if negated else tokens
    if key in _SYMBOLS or key in {"in", "notin"} or (negated and rest):
        return _unreadable(shown)
    bad_key = check_key(key)
    if bad_key is not None:
        return bad_key
    if not rest:
        return Requirement(key, Operator.DOES_NOT_EXIST if negated else Operator.EXISTS)
    operator = _OPERATORS.get(rest[0])
    if operator is None:
        return _unreadable(shown)
    values = _set(rest[1:]) if rest[0] in {"in", "notin"} else _exact(rest[1:])
    if values is None:
        return _unreadable(shown)
    if len(values) > MOST_ENTRIES:
        return too_many(shown, len(values), "values")
    for value in values:
        bad_value = check_value(value)
        if bad_value is not None:
            return bad_value
    return Requirement(key, operator, tuple(sorted(set(values))))


def _exact(tokens: list[str]) -> list[str] | None:
    if len(tokens) > 1 or _SYMBOLS.intersection(tokens):
        return None
    return tokens or [""]


def _set(tokens: list[str]) -> list[str] | None:
    """The values between parentheses; two commas in a row, or one at an end, stand for the empty value."""
    if len(tokens) < 3 or tokens[0] != "(" or tokens[-1] != ")":
        return None
    values = [""]
    for piece in tokens[1:-1]:
        if piece == ",":
            values.append("")
        elif piece in _SYMBOLS or values[-1]:
            return None
        else:
            values[-1] = piece
    return values


def _unreadable(shown: str) -> Malformed:
    return Malformed(f"{quoted(shown)} cannot be read as a label selector; write {_FORMS}")
