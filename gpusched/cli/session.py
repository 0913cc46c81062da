"""What every command shares: options, where output goes, and how errors become an exit code."""

import gc
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NoReturn, TextIO, TypeVar

import click

from gpusched.cli.access import Absent, Access, Wanted
from gpusched.cli.inputs import Inputs, absent_namespace, read_inputs, take_live, world_of
from gpusched.cli.output import as_json, as_yaml, write
from gpusched.cli.progress import Progress
from gpusched.cli.style import Style, style_of
from gpusched.cli.text_width import printable
from gpusched.simulate.manifest import InputFault
from gpusched.simulate.result import ErrorView
from gpusched.simulate.world import World

if TYPE_CHECKING:
    from gpusched.cli.live import Live

#: Exit codes: everything good; some pod refused or unplaced, or problems found; bad usage or input.
GOOD: Final = 0
PROBLEMS: Final = 1
BAD_INPUT: Final = 2

#: Where a token for a running gpusched may stand.
TOKEN_VARIABLE: Final = "GPUSCHED_TOKEN"  # noqa: S105 - the name of a variable, no token

_Command = TypeVar("_Command", bound=Callable[..., Any])

files_option = click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    metavar="PATH",
    help="Manifests: a file, a directory, or - for standard input. May be repeated.",
)


def _cluster(otherwise: str) -> Callable[[_Command], _Command]:
    return click.option(
        "--cluster",
        "cluster",
        multiple=True,
        metavar="PATH",
        help="A dump: kubectl get nodes,ns,pods,runtimeclasses -A -o yaml; with the GPU Operator a second one:"
        " kubectl get clusterpolicies -o yaml. May be repeated."
        f" {otherwise}",
    )


cluster_option = _cluster("Without it the cluster of the kubeconfig is asked.")
#: Of commands that never ask a cluster.
dump_option = _cluster("Without it nothing is known of a cluster: the one of the kubeconfig is not asked.")
config_option = click.option("--config", "config", metavar="FILE", help="A gpusched configuration file.")


#: Bytes, and objects, that take some two seconds.
_LARGE: Final = 32 << 20
_MANY: Final = 20_000

_no_color = click.option("--no-color", is_flag=True, help="No colour, even on a terminal.")


def output_options(command: _Command) -> _Command:
    """-o and --no-color."""
    return _output("table", "json", "yaml")(_no_color(command))


def form_options(command: _Command) -> _Command:
    """-o with the forms that kubectl has for lists, and --no-color."""
    return _output("table", "wide", "name", "json", "yaml")(_no_color(command))


def list_options(command: _Command) -> _Command:
    """The same, and --watch."""
    command = click.option(
        "-w", "--watch", is_flag=True, help="Go on: read again every few seconds and print what has changed."
    )(command)
    command = click.option(
        "--interval",
        type=click.FloatRange(min=0.2),
        default=5.0,
        show_default=True,
        metavar="SECONDS",
        help="Time between two looks of --watch.",
    )(command)
    return form_options(command)


def _output(*forms: str) -> Callable[[_Command], _Command]:
    return click.option(
        "-o",
        "--output",
        "form",
        type=click.Choice(forms),
        default="table",
        show_default=True,
        help="Output for people, or for programs.",
    )


@contextmanager
def _uncollected() -> Iterator[None]:
    """Read without looking for garbage, and never look through what was read: millions of values of which none refers
    back to another.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()


class Session:
    """One run of a command: prints results on standard output, and everything about the input on standard error."""

    def __init__(self, form: str, *, no_color: bool = False) -> None:
        self.form = form
        # Python has none of them where the caller closed the descriptor.
        self.out: TextIO = sys.stdout or StringIO()
        self.err: TextIO = sys.stderr or StringIO()
        self.style: Style = style_of(self.out, os.environ, no_color=no_color)
        self._told: set[str] = set()
        self._blank = False

    @property
    def stdin(self) -> BinaryIO | None:
        """Standard input as bytes, None when it is closed."""
        return sys.stdin.buffer if sys.stdin is not None else None

    def read(
        self,
        files: Sequence[str] = (),
        cluster: Sequence[str] = (),
        config: str | None = None,
        *others: str | None,
        access: Access | None = None,
        wanted: Wanted = Wanted(),  # noqa: B008 - a frozen record may be shared by all calls
    ) -> Inputs:
        """Read the inputs; `others` are further paths that the command reads by itself.

        With `access`, and without a dump, the cluster is asked. Raises Unavailable where it cannot be, and Absent where
        there is no namespace of the name that the user gave.
        """
        paths = [*files, *cluster, config, *others]
        if paths.count("-") > 1:
            raise click.UsageError("standard input (-) can be given for one input only; put the others into files")
        with self.progress("reading", "lines") as progress, _uncollected():
            size = sum(Path(path).stat().st_size for path in (*files, *cluster) if Path(path).is_file())
            if size >= _LARGE:
                progress.begin(f"reading {size >> 20} MiB")
            namespace = self._namespace(access, live=not cluster)
            inputs = read_inputs(
                files, cluster, config, stdin=self.stdin, progress=progress.update, namespace=namespace
            )
        if access is not None and not cluster:
            self._read_live(access, wanted, inputs, config)
        # What is said of nothing would read as if that were all of the cluster.
        self._blank = bool(inputs.errors) and not (inputs.manifests or inputs.standing)
        if access is not None and access.namespace is not None and not access.all_namespaces:
            self._find_namespace(access.namespace, inputs)
        return inputs

    def _find_namespace(self, name: str, inputs: Inputs) -> None:
        """Raises Absent where the namespace that the user looks in is not there; of what was read in part, say it."""
        absent = absent_namespace(name, [*inputs.manifests, *inputs.standing])
        if absent and not inputs.errors:
            self.tell(inputs)
            raise Absent(absent)
        inputs.notes.extend([absent] if absent else [])

    def _namespace(self, access: Access | None, *, live: bool) -> str:
        """The namespace of manifests that name none, as kubectl apply has it."""
        if access is None or access.namespace is not None or not live:
            return (access.namespace if access is not None else None) or "default"
        return str(import_module("gpusched.cli.live").context_namespace(access) or "default")

    def _read_live(self, access: Access, wanted: Wanted, inputs: Inputs, config: str | None) -> None:
        # Imported by now only: the client costs as much time as an offline command takes.
        module = import_module("gpusched.cli.live")
        with self.progress("reading", "objects") as progress:
            live: Live = module.read_cluster(access, wanted, progress.update)
        take_live(live.documents, live.config if config is None else None, module.CONFIG_SOURCE, inputs)
        inputs.notes.extend([*live.notes, *([live.config_note] if live.config_note and config is None else [])])
        inputs.namespace = access.namespace or live.namespace
        inputs.claim_kinds = live.claim_kinds

    def world(self, inputs: Inputs) -> World:
        """The cluster of the inputs as working state, with progress; what is wrong with it joins their errors."""
        with self.progress("taking in", "objects") as progress, _uncollected():
            if len(inputs.standing) >= _MANY:
                progress.begin(f"taking in {len(inputs.standing)} objects")
            return world_of(inputs)

    def progress(self, verb: str, unit: str) -> Progress:
        """Progress on standard error."""
        return Progress(verb, unit, stream=self.err)

    def show(self, result: object, table: Callable[[], str], names: Sequence[str] = ()) -> None:
        """Print a result in the form asked for; `table` makes the text for people, `names` are those of its objects.

        Where no input could be read there is no text: the errors say so.
        """
        if self.form == "json":
            write(as_json(result), self.out)
        elif self.form == "yaml":
            write(as_yaml(result), self.out)
        elif self.form == "name":
            write("".join(f"{printable(name)}\n" for name in names), self.out)
        elif not self._blank:
            write(table(), self.out)

    def tell(self, inputs: Inputs) -> None:
        """Notes and errors about the input, a line each, each once in a run."""
        lines = [f"note: {printable(note)}\n" for note in inputs.notes]
        lines += [f"error: {printable(str(error))}\n" for error in inputs.errors]
        for line in dict.fromkeys(lines):
            if line not in self._told:
                self._told.add(line)
                write(line, self.err)

    def code(self, inputs: Inputs, *, problems: bool) -> int:
        """The exit code."""
        return BAD_INPUT if inputs.errors else PROBLEMS if problems else GOOD

    def end(self, inputs: Inputs, *, problems: bool) -> NoReturn:
        """Leave with the exit code."""
        sys.exit(self.code(inputs, problems=problems))


def error_views(errors: Sequence[InputFault]) -> tuple[ErrorView, ...]:
    """Errors as they stand in JSON output, each once."""
    return tuple(
        ErrorView(source=error.source, path=error.path, message=error.message) for error in dict.fromkeys(errors)
    )
