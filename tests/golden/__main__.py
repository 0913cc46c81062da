"""Writes the answers anew, for a change that means to change them: `python -m tests.golden`, then review the diff."""

import sys

from tests.golden.pairs import answered, inputs, output_of


def main() -> None:
    """Write every answer that is missing or differs, and name it."""
    for path in inputs():
        target, text = output_of(path), answered(path)
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")
            sys.stdout.write(f"{target.parent.name}/{target.name}\n")


if __name__ == "__main__":
    main()
