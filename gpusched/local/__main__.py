"""`python -m gpusched.local [VERSION]`: build the binaries, or find them, and print where they are."""

import sys

from gpusched.local.binaries import resolve
from gpusched.local.errors import LocalError
from gpusched.local.versions import select


def main(words: list[str]) -> int:
    """Exit status: 0 when all are there, 2 when they cannot be had."""
    try:
        binaries = resolve(select(words[0] if words else None), progress=_tell)
    except (LocalError, OSError) as error:
        _tell(str(error))
        return 2
    except KeyboardInterrupt:
        return 130
    for name, path in sorted(binaries.paths.items()):
        sys.stdout.write(f"{name}\t{path}\n")
    return 0


def _tell(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
