"""How commands are told which cluster to ask, in the words of kubectl; nothing here imports the client."""

import functools
from collections.abc import Callable
from typing import IO, Any, Final

import click
import msgspec

#: The exit code of a command that cannot reach its cluster.
UNREACHABLE: Final = 3

_kubeconfig = click.option(
    "--kubeconfig", metavar="FILE", help="The cluster to ask; $KUBECONFIG or ~/.kube/config unless given."
)
_context = click.option("--context", metavar="NAME", help="Context of the kubeconfig.")
_namespace = click.option("-n", "--namespace", metavar="NAME", help="Look in this namespace alone.")
_all = click.option("-A", "--all-namespaces", is_flag=True, help="Look in all namespaces.")
_selector = click.option("-l", "--selector", metavar="SELECTOR", help="Only what has these labels, such as app=web.")


class Access(msgspec.Struct, frozen=True):
    """The options of one run. `namespace` None is that of the kubeconfig's context, or all where it names none."""

    kubeconfig: str | None = None
    context: str | None = None
    namespace: str | None = None
    all_namespaces: bool = False
    selector: str | None = None


class Wanted(msgspec.Struct, frozen=True):
    """What to read besides what a dump has: kinds with a pod template, events about pods that were refused, and claims
    to volumes and devices with their classes.
    """

    workloads: bool = False
    failures: bool = False
    claims: bool = False


class Told(click.ClickException):
    """One sentence for the user, without the usage of the command, which is not what is wrong."""

    def show(self, file: IO[Any] | None = None) -> None:
        """Print it as all errors of gpusched are printed."""
        click.echo(f"error: {' '.join(self.message.split())}", err=file is None, file=file)


class Absent(Told):
    """What was named is not there."""

    exit_code = 2


class Ambiguous(Told):
    """What was named may be one of several objects."""

    exit_code = 2


class Unavailable(Told):
    """The cluster cannot be asked: no way to it, or no permission."""

    exit_code = UNREACHABLE


class Forbidden(Unavailable):
    """The user may not read what an answer needs."""


class Unconfigured(Unavailable):
    """Nothing says which cluster to ask: there is no kubeconfig."""


def access_options(command: Callable[..., object]) -> Callable[..., object]:
    """--kubeconfig, --context, -n, -A and -l; the command gets them as one `access`."""
    return _selector(_all(connection_options(command)))


def connection_options(command: Callable[..., object]) -> Callable[..., object]:
    """--kubeconfig, --context and -n alone, for commands that choose no objects of the cluster."""

    @functools.wraps(command)
    def bundled(*args: object, **options: object) -> object:
        given = {field: options.pop(field) for field in Access.__struct_fields__ if field in options}
        if given.get("all_namespaces"):
            given["namespace"] = None
        return command(*args, access=msgspec.convert(given, Access), **options)

    return _namespace(_context(_kubeconfig(bundled)))
