"""The `gpusched` command."""

import sys
from collections.abc import Mapping, Sequence
from typing import ClassVar, NoReturn

import click

from gpusched import __version__
from gpusched.cli.check import check
from gpusched.cli.completion import completion
from gpusched.cli.config import config
from gpusched.cli.doctor import doctor
from gpusched.cli.entry import INTERRUPTED
from gpusched.cli.explain import explain
from gpusched.cli.lazy import LazyGroup
from gpusched.cli.nodes import nodes
from gpusched.cli.quota import quota
from gpusched.cli.report import report
from gpusched.cli.session import BAD_INPUT
from gpusched.cli.simulate import simulate
from gpusched.cli.why import why


class _Commands(LazyGroup):
    lazy: ClassVar[Mapping[str, tuple[str, str]]] = {
        "certs": ("gpusched.cli.certs:certs", "Show, rotate and issue gpusched's certificates."),
        "install": ("gpusched.cli.install:install", "Look at a cluster before gpusched is installed on it."),
        "demo": ("gpusched.cli.demo:demo", "Try gpusched on a local control plane with fake GPU nodes."),
        "serve": ("gpusched.cli.serve:serve", "Serve the webhook and the extender."),
        "top": ("gpusched.cli.top:top", "Show all GPUs, their holders and what waits, on one screen."),
    }


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="gpusched")
def gpusched() -> None:
    """GPUs on Kubernetes: which pods are refused, where they go, and why they wait."""


for _command in (simulate, check, nodes, quota, why, report, doctor, explain, config, completion):
    gpusched.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command. Whatever goes wrong, the user sees one line and an exit code, not a traceback."""
    try:
        code = gpusched.main(args=arguments, prog_name="gpusched", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _stop("interrupted", INTERRUPTED)
    except (OSError, MemoryError, RecursionError) as error:
        _stop(f"error: {str(error) or type(error).__name__}", BAD_INPUT)
    except Exception as error:  # noqa: BLE001 - a bug is reported in one line too, with the place to look at
        _stop(f"error: a bug in gpusched, please report it: {_place(error)}", BAD_INPUT)
    sys.exit(code)


def _stop(message: str, code: int) -> NoReturn:
    click.echo(" ".join(message.split()), err=True)
    sys.exit(code)


def _place(error: Exception) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" at {trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}" if trace is not None else ""
    return f"{type(error).__name__}: {error}{where}"
