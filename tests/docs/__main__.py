"""`python -m tests.docs` writes into the pages what commands and files say now. Read the difference before you keep it.

What needs a live cluster is left as it is.
"""

import textwrap

from tests.docs.page import blocks, pages, read
from tests.docs.shell import Shell, derived


def renew() -> None:
    """Renew every block whose text follows from files or from commands that need no cluster."""
    for path in pages():
        text = read(path)
        for block in reversed(blocks(path)):
            new = derived(block, Shell())
            if new is not None:
                text = text[: block.start] + textwrap.indent(new, block.indent) + text[block.end :]
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    renew()
