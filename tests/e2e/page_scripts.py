"""Scripts that ask the page what it shows, and choose on it."""

import os
from pathlib import Path

from tests.e2e.chromium import Page

#: Where pictures of the page are left, for people.
PICTURES = os.environ.get("GPUSCHED_PAGE_PICTURES", "")
#: The names of the nodes of these tests in the order of the page.
NAMES = (
    "[...document.querySelectorAll('#rows [data-node]')].map((el) => el.dataset.node)"
    ".filter((name) => name.startsWith('page-'))"
)
LIVE = "document.getElementById('connection').dataset.state === 'live'"
DETAIL = "document.getElementById('detail').open"
#: How many waiting pods and workloads are shown, what is said where no node is, and the namespaces to choose from.
WAITING = "document.getElementById('waiting-jump').textContent"
EMPTY = "document.getElementById('empty').textContent"
OFFERED = "[...document.getElementById('namespace').options].map((el) => el.value)"
FOCUSED = "document.activeElement.dataset.node"


def cell(name: str, column: str) -> str:
    """The script for what stands in a column of a node."""
    row = f"document.querySelector('[data-node={name}]')?.closest('[role=row]')"
    return f"{row}?.querySelector('.{column}').textContent"


def choose(page: Page, name: str, value: str, event: str = "input") -> None:
    """Choose a value of a control."""
    page.evaluate(
        f"{{ const control = document.getElementById('{name}'); control.value = '{value}';"
        f" control.dispatchEvent(new Event('{event}')); }}"
    )


def picture(page: Page, name: str) -> None:
    """Leave a picture of the page, where pictures are asked for."""
    if PICTURES:
        page.screenshot(Path(PICTURES) / f"{name}.png")
