"""The `gpusched` command."""

import sys
from collections.abc import Sequence

import click

from gpusched import __version__
from gpusched.cli.check import check
from gpusched.cli.config import config
from gpusched.cli.nodes import nodes
from gpusched.cli.report import report
from gpusched.cli.session import BAD_INPUT
from gpusched.cli.simulate import simulate
from gpusched.cli.why import why


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="gpusched")
def gpusched() -> None:
    """GPUs on Kubernetes: which pods are refused, where they go, and why they wait."""


for _command in (simulate, check, nodes, why, report, config):
    gpusched.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command. Whatever goes wrong, the user sees one line and exit code 2, not a traceback."""
    try:
        gpusched.main(args=arguments, prog_name="gpusched")
    except (OSError, MemoryError, RecursionError) as error:
        click.echo(f"error: {str(error) or type(error).__name__}", err=True)
        sys.exit(BAD_INPUT)
