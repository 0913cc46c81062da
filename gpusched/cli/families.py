"""`--family`: the GPU family that a command is narrowed to."""

from collections.abc import Collection
from typing import Final

import click

from gpusched.core.families import FAMILIES, canonical_family, nearest_family

family_option: Final = click.option("--family", metavar="NAME", help="Only nodes with GPUs of this family.")


def chosen_family(text: str | None, there: Collection[str]) -> str | None:
    """The name of a family in output; None for all. `there` are the families of the cluster.

    Raises UsageError for what is no family, and for one of which there is no GPU.
    """
    if text is None:
        return None
    name = canonical_family(text)
    have = f"there are {', '.join(sorted(there))}" if there else f"write one of {', '.join(FAMILIES)}"
    if name is None:
        close = nearest_family(text)
        hint = f"did you mean {close}? " if close else ""
        raise click.UsageError(f"--family {text} is no GPU family; {hint}{have}")
    if there and name not in there:
        raise click.UsageError(f"--family {text}: no node has such GPUs; {have}")
    return name
