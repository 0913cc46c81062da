"""`gpusched explain`: what a code of a refusal or reason means, and what to do about it."""

import click
import msgspec

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


@click.command()
@click.argument("code", required=False)
@output_options
def explain(code: str | None, form: str, *, no_color: bool) -> None:
    """Say what a code means: cause, remedy and an example. Without CODE all are listed.

    Codes of refusals and warnings start with `gpu-`, `policy-` or `runtime-`; the others are reasons why a node does
    not take a pod, those of kube-scheduler itself starting with `native-`.
    """
    session = Session(form, no_color=no_color)
    if code is None:
        everything = Codes(
            tuple(_explained(item, entry) for table in (CODE_HELP, REASON_HELP) for item, entry in table.items())
        )
        rows = [[item.code, item.kind, item.cause] for item in everything.codes]
        session.show(everything, lambda: render(("CODE", "OF", "CAUSE"), rows, sentences=True, style=session.style))
        return
    found = help_of(code.strip().rstrip(":").lower())
    if found is None:
        raise click.UsageError(f"no code {code}; {_hint(code.strip().rstrip(':').lower())}")
    result = _explained(*found)
    session.show(result, lambda: _text(result, session.style))


def _hint(code: str) -> str:
    """Codes that begin like what was typed, or the one most like it."""
    known = [*map(str, Code), *map(str, Reason)]
    alike = [name for name in known if code.endswith("-") and name.startswith(code)]
    alike = alike or [name for name in known if name.startswith(f"{code}-")]
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
