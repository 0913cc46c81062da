"""What every command shares: options, where output goes, and how errors become an exit code."""

import os
import sys
from collections.abc import Callable, Sequence
from io import StringIO
from typing import Any, BinaryIO, Final, TextIO, TypeVar

import click

from gpusched.cli.inputs import Inputs, read_inputs
from gpusched.cli.output import as_json, as_yaml, write
from gpusched.cli.progress import Progress
from gpusched.cli.style import Style, style_of
from gpusched.cli.text_width import printable
from gpusched.simulate.manifest import InputFault
from gpusched.simulate.result import ErrorView

#: Exit codes: everything good; some pod refused or unplaced, or problems found; bad usage or input.
GOOD: Final = 0
PROBLEMS: Final = 1
BAD_INPUT: Final = 2

_Command = TypeVar("_Command", bound=Callable[..., Any])

files_option = click.option(
    "-f", "--filename", "files", multiple=True, metavar="PATH",
    help="Manifests: a file, a directory, or - for standard input. May be repeated.",
)  # fmt: skip
cluster_option = click.option(
    "--cluster", "cluster", multiple=True, metavar="PATH",
    help="A dump: kubectl get nodes,ns,pods,runtimeclasses,clusterpolicies -A -o yaml. May be repeated.",
)  # fmt: skip
config_option = click.option("--config", "config", metavar="FILE", help="A gpusched configuration file.")


def output_options(command: _Command) -> _Command:
    """-o and --no-color."""
    command = click.option("--no-color", is_flag=True, help="No colour, even on a terminal.")(command)
    return click.option(
        "-o", "--output", "form", type=click.Choice(["table", "json", "yaml"]), default="table", show_default=True,
        help="Output for people, or for programs.",
    )(command)  # fmt: skip


class Session:
    """One run of a command: prints results on standard output, and everything about the input on standard error."""

    def __init__(self, form: str, *, no_color: bool = False) -> None:
        self.form = form
        # Python has none of them where the caller closed the descriptor.
        self.out: TextIO = sys.stdout or StringIO()
        self.err: TextIO = sys.stderr or StringIO()
        self.style: Style = style_of(self.out, os.environ, no_color=no_color)

    @property
    def stdin(self) -> BinaryIO | None:
        """Standard input as bytes, None when it is closed."""
        return sys.stdin.buffer if sys.stdin is not None else None

    def read(
        self, files: Sequence[str] = (), cluster: Sequence[str] = (), config: str | None = None, *others: str | None
    ) -> Inputs:
        """Read the inputs; `others` are further paths that the command reads by itself."""
        paths = [*files, *cluster, config, *others]
        if paths.count("-") > 1:
            raise click.UsageError("standard input (-) can be given for one input only; put the others into files")
        with self.progress("reading", "lines") as progress:
            return read_inputs(files, cluster, config, stdin=self.stdin, progress=progress.update)

    def progress(self, verb: str, unit: str) -> Progress:
        """Progress on standard error."""
        return Progress(verb, unit, stream=self.err)

    def show(self, result: object, table: Callable[[], str]) -> None:
        """Print a result in the form asked for; `table` makes the text for people."""
        if self.form == "json":
            write(as_json(result), self.out)
        elif self.form == "yaml":
            write(as_yaml(result), self.out)
        else:
            write(table(), self.out)

    def tell(self, inputs: Inputs) -> None:
        """Notes and errors about the input, a line each."""
        for note in inputs.notes:
            write(f"note: {printable(note)}\n", self.err)
        for error in dict.fromkeys(inputs.errors):
            write(f"error: {printable(str(error))}\n", self.err)

    def end(self, inputs: Inputs, *, problems: bool) -> None:
        """Leave with the exit code."""
        sys.exit(BAD_INPUT if inputs.errors else PROBLEMS if problems else GOOD)


def error_views(errors: Sequence[InputFault]) -> tuple[ErrorView, ...]:
    """Errors as they stand in JSON output, each once."""
    return tuple(
        ErrorView(source=error.source, path=error.path, message=error.message) for error in dict.fromkeys(errors)
    )
