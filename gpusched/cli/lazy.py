"""A group of commands of which some are imported only when they are asked for.

The service brings HTTP servers and the cluster client with it, seconds of imports that offline commands must not pay.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import ClassVar, Final

import click

#: Longest line about a command; none is cut, long ones are wrapped.
_SHORT: Final = 200


class LazyGroup(click.Group):
    """`lazy` maps a command's name to where it is, `module:attribute`, and its line in the help text."""

    lazy: ClassVar[Mapping[str, tuple[str, str]]] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, imported or not, in the order of the alphabet."""
        return sorted({*super().list_commands(ctx), *self.lazy})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported by now."""
        place = self.lazy.get(cmd_name)
        if place is None:
            return super().get_command(ctx, cmd_name)
        return _imported(place[0])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands of the help text, without importing any."""
        rows = []
        for name in self.list_commands(ctx):
            if name in self.lazy:
                rows.append((name, self.lazy[name][1]))
            elif (command := super().get_command(ctx, name)) is not None and not command.hidden:
                rows.append((name, command.get_short_help_str(_SHORT)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _imported(place: str) -> click.Command:
    module, _, name = place.partition(":")
    command = getattr(import_module(module), name)
    if not isinstance(command, click.Command):
        raise TypeError(f"{place} is no command")
    return command
