"""Checks of a page by rules of WCAG 2.2: names, contrast, headings, references, targets."""

from pathlib import Path
from typing import Any

from tests.e2e.chromium import Page

#: Roles of what a user acts on, and of pictures and dialogs: each needs a name (1.1.1, 4.1.2).
_NAMED = {
    "button",
    "link",
    "textbox",
    "searchbox",
    "combobox",
    "checkbox",
    "radio",
    "switch",
    "image",
    "img",
    "dialog",
    "table",
}
_SCRIPT = Path(__file__).with_name("accessible.js")


def violations(page: Page) -> list[str]:
    """Everything that breaks a rule, in words; an empty list where nothing does."""
    return [*_unnamed(page), *page.evaluate(_SCRIPT.read_text(encoding="utf-8"))]


def _unnamed(page: Page) -> list[str]:
    """What has no name in the browser's own accessibility tree."""
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    found = [node for node in nodes if not node.get("ignored") and _value(node, "role") in _NAMED]
    return [f"{_value(node, 'role')} without a name" for node in found if not _value(node, "name")]


def _value(node: dict[str, Any], key: str) -> str:
    return str(node.get(key, {}).get("value", ""))
