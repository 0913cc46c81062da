"""A page of documentation as tests see it: fenced blocks, each with the mark before it, links and headings."""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"

_FENCE = re.compile(
    r"^(?P<indent> *)(?:<!-- (?P<mark>[^\n]+?) -->\n(?P=indent))?```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


class Block(msgspec.Struct, frozen=True):
    """A fenced block. `mark` is the HTML comment in the line before it, such as `live`; `start` and `end` are the place
    of its text in the page, where each line begins with `indent`.
    """

    page: str
    line: int
    mark: str
    language: str
    text: str
    indent: str
    start: int
    end: int

    @property
    def name(self) -> str:
        """What tests call it."""
        return f"{self.page}:{self.line}"


class Step(msgspec.Struct, frozen=True):
    """A command of a console block, and what it prints there."""

    command: str
    shown: str


def pages() -> list[Path]:
    """Every page under docs/."""
    return sorted(DOCS.rglob("*.md"))


def guides() -> list[Path]:
    """The pages, and what the manifests say of themselves."""
    return [*pages(), *sorted((ROOT / "manifests").rglob("*.md"))]


def read(path: Path) -> str:
    """The text of a page."""
    return path.read_text(encoding="utf-8")


def blocks(path: Path, language: str | None = None) -> list[Block]:
    """The fenced blocks of a page, of one language or of all."""
    return [block for block in _blocks(path) if language in {None, block.language}]


def run_by(module: str, page: str) -> list[Block]:
    """The blocks of a page, such as `docs/install.md`, whose mark is `run by` the test module with this `__file__`."""
    mark = f"run by {Path(module).relative_to(ROOT)}"
    return [block for block in blocks(ROOT / page) if block.mark == mark]


def steps(block: Block) -> list[Step]:
    """The commands of a console block: lines after `$ `, continued by a backslash; what follows is their output."""
    found: list[Step] = []
    lines = iter(block.text.splitlines(keepends=True))
    for line in lines:
        if line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\\n"):
                command = command[:-2] + "\n" + next(lines)
            found.append(Step(command.rstrip("\n"), ""))
        else:
            assert found, f"{block.name}: output without a command"
            found[-1] = Step(found[-1].command, found[-1].shown + line)
    return found


def links(path: Path) -> list[str]:
    """Targets of the links of a page, those in blocks left out."""
    return _LINK.findall(_FENCE.sub("", read(path)))


def anchors(path: Path) -> set[str]:
    """The fragments that GitHub makes of the headings of a page."""
    headings = _HEADING.findall(_FENCE.sub("", read(path)))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _blocks(path: Path) -> Iterator[Block]:
    text = read(path)
    for found in _FENCE.finditer(text):
        line = text.count("\n", 0, found.start("language")) + 1
        page = str(path.relative_to(ROOT))
        yield Block(
            page=page,
            line=line,
            mark=found["mark"] or "",
            language=found["language"],
            text=re.sub(f"^{found['indent']}", "", found["text"], flags=re.MULTILINE),
            indent=found["indent"],
            start=found.start("text"),
            end=found.end("text"),
        )
