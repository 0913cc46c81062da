"""Answers about thousands of names, joined as text, which costs a fraction of encoding each.

For names that need no escaping alone; what Kubernetes takes for a node's name, a DNS subdomain, needs none.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

_FITS: Final = '{"Nodes":null,"NodeNames":['
_REFUSED: Final = '],"FailedNodes":{},"FailedAndUnresolvableNodes":{'
_END: Final = '},"Error":""}'


def filter_result(fits: Sequence[str], refused: Iterable[tuple[Sequence[str], str]]) -> bytes:
    """An ExtenderFilterResult by names; `refused` are lists of names, none of them empty, with the text of each."""
    texts = ((names, f'":{msgspec.json.encode(text).decode()}') for names, text in refused)
    named = _each([(fits, '"')] if fits else [], '"')
    return "".join((_FITS, *named, _REFUSED, *_each(texts, '"'), _END)).encode()


def priorities(by_score: Mapping[int, Sequence[str]]) -> bytes:
    """A HostPriorityList by names; no list is empty."""
    texts = ((names, f'","Score":{score}}}') for score, names in by_score.items())
    return "".join(("[", *_each(texts, '{"Host":"'), "]")).encode()


def _each(lists: Iterable[tuple[Sequence[str], str]], before: str) -> Iterator[str]:
    """Pieces of a text in which every name stands between `before` and what goes with its list, commas in between."""
    comma = ""
    for names, after in lists:
        yield from (comma, before, f"{after},{before}".join(names), after)
        comma = ","
