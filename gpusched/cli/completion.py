"""`gpusched completion`: the script by which a shell completes commands and options."""

import sys
from importlib import import_module
from typing import Final

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from gpusched.cli.output import write

#: Read by click when the shell asks; made of the name of the program.
_VARIABLE: Final = "_GPUSCHED_COMPLETE"
_SHELLS: Final[dict[str, type[ShellComplete]]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


class _Bash(BashComplete):
    """Without the look at the version of the bash that is installed here: the script may be meant for another."""

    @staticmethod
    def _check_version() -> None:
        return


@click.command()
@click.argument("shell", type=click.Choice(list(_SHELLS)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    For bash: source <(gpusched completion bash). For zsh the same. For fish: gpusched completion fish | source.
    """
    kind = _Bash if shell == "bash" else _SHELLS[shell]
    script = kind(context.find_root().command, {}, "gpusched", _VARIABLE).source()
    write(f"{script}\n", sys.stdout)


def kubectl_complete() -> None:
    """What kubectl asks when somebody completes `kubectl gpusched …`: the words so far, the last one unfinished.

    It wants a line for each word, and at last a number of cobra's directives: 4 is no completion of file names.
    """
    main = import_module("gpusched.cli.main").gpusched
    *done, unfinished = sys.argv[1:] or [""]
    found = BashComplete(main, {}, "gpusched", _VARIABLE).get_completions(done, unfinished)
    write("".join(f"{item.value}\n" for item in found if item.type == "plain"), sys.stdout)
    write(":4\n", sys.stdout)
