"""Scripts that ask the page what it shows, and choose on it."""

from tests.e2e.chromium import Page

#: The names of the nodes of these tests in the order of the page.
NAMES = (
    "[...document.querySelectorAll('#rows [data-node]')].map((el) => el.dataset.node)"
    ".filter((name) => name.startsWith('page-'))"
)
LIVE = "document.getElementById('connection').dataset.state === 'live'"
DETAIL = "document.getElementById('detail').open"
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
