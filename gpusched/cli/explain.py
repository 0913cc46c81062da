"""`gpusched explain`: what a code means that gpusched prints anywhere, and what to do about it."""

from importlib import import_module

import click
import msgspec

from gpusched.cli.access import Absent
from gpusched.cli.paragraphs import paragraph
from gpusched.cli.session import Session, output_options
from gpusched.cli.style import Colour, Style
from gpusched.cli.tables import render
from gpusched.core.code_help import CODE_HELP, REASON_HELP, Help, help_of
from gpusched.core.codes import Code, Reason
from gpusched.policy.nearest import nearest


class Explained(msgspec.Struct, frozen=True):
    """One code with its help."""

    code: str
    kind: str
    cause: str
    fix: str
    example: str


class Codes(msgspec.Struct, frozen=True):
    """Every code there is."""

    codes: tuple[Explained, ...]


def _completed(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    return [item.code for item in _everything() if item.code.lower().startswith(begun.lower())]


@click.command()
@click.argument("code", required=False, shell_complete=_completed)
@output_options
def explain(code: str | None, form: str, *, no_color: bool) -> None:
    """Say what a code means: cause, remedy and an example. Without CODE all are listed.

    Codes of refusals and warnings start with `gpu-`, `policy-` or `runtime-`, reasons of events with `GPU`. Others are
    reasons why a node does not take a pod, those of kube-scheduler itself starting with `native-`, and checks of
    doctor and install preflight.
    """
    session = Session(form, no_color=no_color)
    if code is None:
        everything = Codes(_everything())
        rows = [[item.code, item.kind, item.cause] for item in everything.codes]
        session.show(everything, lambda: render(("CODE", "OF", "CAUSE"), rows, sentences=True, style=session.style))
        return
    typed = code.strip().rstrip(":").lower()
    found = help_of(typed)
    known = (_explained(*found),) if found is not None else _everything()
    result = next((item for item in known if item.code.lower() == typed), None)
    if result is None:
        raise Absent(f"no code {code}; {_hint(typed, [item.code for item in known])}")
    session.show(result, lambda: _text(result, session.style))


def _everything() -> tuple[Explained, ...]:
    """Every code once; a check that is named as a code says what that one says."""
    codes = [_explained(item, entry) for table in (CODE_HELP, REASON_HELP) for item, entry in table.items()]
    # Doctor's tables bring half of the program with them, which who asks about one code needs not wait for.
    tables = import_module("gpusched.cli.explain_found")
    for kind, table in (("event", tables.EVENT_HELP), ("doctor", tables.CHECK_HELP)):
        codes += [Explained(str(name), kind, entry.cause, entry.fix, entry.example) for name, entry in table.items()]
    first: dict[str, Explained] = {}
    for item in codes:
        first.setdefault(item.code, item)
    return tuple(first.values())


def _hint(code: str, known: list[str]) -> str:
    """Codes that begin like what was typed, or the one most like it."""
    alike = [name for name in known if name.lower().startswith(code if code.endswith("-") else f"{code}-")]
    if alike:
        return f"there are {', '.join(alike)}"
    close = nearest(code, known)
    return f"did you mean {close}?" if close else "list all: gpusched explain"


def _explained(code: Code | Reason, entry: Help) -> Explained:
    kind = "admission" if isinstance(code, Code) else "scheduling"
    return Explained(code.value, kind, entry.cause, entry.fix, entry.example)


def _text(result: Explained, style: Style) -> str:
    lines = [f"{style.paint(result.code, Colour.STRONG)}  ({result.kind})"]
    lines += paragraph("Cause    ", result.cause)
    lines += paragraph("Fix      ", result.fix)
    # One line, however long: it is there to be copied.
    lines.append(f"Example  {result.example}")
    return "\n".join(lines) + "\n"
