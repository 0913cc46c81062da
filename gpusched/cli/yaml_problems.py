"""Sentences for what a YAML parser refuses: the line, what stands there, what to write instead."""

from typing import Final

import yaml
from yaml.reader import ReaderError

from gpusched.cli.reading import shorten

_TAB: Final = "a tab in the indentation: write spaces"
#: Parser's words → what most likely happened. The first match counts.
_HINTS: Final = (
    ("'\\t'", _TAB),
    ("cannot start any token", "a value that starts with @, ` or %: put it in quotes"),
    (
        "mapping values are not allowed",
        "a second ': ' on the line or a wrong indentation: quote or align it",
    ),
    ("could not find expected ':'", "a line without 'key: value', or an open quote before it"),
    ("block sequence entries are not allowed", "a '- ' where no list can start: begin it on a line of its own"),
    ("expected alphabetic or numeric", "a value that starts with * or &: put it in quotes"),
    ("did not find expected key", "this line does not continue what stands above: check its indentation"),
    ("did not find expected '-' indicator", "a list goes on without '- ': check the indentation"),
    ("expected ',' or", "a '[' or '{' is not closed"),
    ("did not find expected node content", "a value is missing, or a '[' or '{' is not closed"),
    ("unexpected end of stream", "a quote or bracket is not closed"),
)
#: What the parser says where a bracket closes more than was opened.
_BLOCK_ENDS: Final = (
    "did not find expected key",
    "expected '-' indicator",
    "expected <document start>",
    "expected node content",
    "expected <block end>",
)


def sentence(error: yaml.YAMLError, text: str, first_line: int) -> str:
    """One line of text about a parser's error in a text that starts at `first_line` of its file."""
    if isinstance(error, ReaderError):
        # libyaml counts bytes, the Python parser characters; only the line is shown.
        line = text.encode()[: error.position].count(b"\n")
        return f"line {first_line + line}: a control or otherwise unprintable character: remove it"
    if not isinstance(error, yaml.MarkedYAMLError):
        return f"not YAML: {shorten(str(error))}"
    problem = error.problem or error.context or "not YAML"
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return problem
    content = _line(text, mark.line)
    place = f"line {first_line + mark.line}" + (f" ({shorten(content)})" if content.strip() else "")
    return f"{place}: {_hint(problem, content)}"


def _hint(problem: str, content: str) -> str:
    if "cannot start any token" in problem and "\t" in content[: len(content) - len(content.lstrip())]:
        return _TAB
    if any(words in problem for words in _BLOCK_ENDS) and _closes_too_much(content):
        return "a '}' or ']' too many: remove it"
    return next((hint for words, hint in _HINTS if words in problem), problem)


def _closes_too_much(content: str) -> bool:
    return sum(map(content.count, "}]")) > sum(map(content.count, "{["))


def _line(text: str, index: int) -> str:
    lines = text.split("\n", index + 1)
    return lines[index] if index < len(lines) else ""
