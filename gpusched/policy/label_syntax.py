"""The syntax of label keys, label values and object names, as the API server validates them."""

import re
from typing import Final

from gpusched.policy.malformed import Malformed, quoted

_LONGEST_NAME: Final = 63
_LONGEST_SUBDOMAIN: Final = 253
_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def is_subdomain(text: str) -> bool:
    """Whether the text is a DNS subdomain of RFC 1123 (apimachinery validation.IsDNS1123Subdomain)."""
    return len(text) <= _LONGEST_SUBDOMAIN and all(_LABEL.fullmatch(part) for part in text.split("."))


def is_namespace_name(text: str) -> bool:
    """Whether the text is a DNS label of RFC 1123 (apimachinery validation.IsDNS1123Label)."""
    return len(text) <= _LONGEST_NAME and _LABEL.fullmatch(text) is not None


def is_key(text: str) -> bool:
    """Whether the text is a qualified name: `name` or `domain/name` (apimachinery validation.IsQualifiedName)."""
    prefix, slash, name = text.rpartition("/")
    if slash and not is_subdomain(prefix):
        return False
    return len(name) <= _LONGEST_NAME and _NAME.fullmatch(name) is not None


def is_value(text: str) -> bool:
    """Whether the text is a label value; the empty text is one (apimachinery validation.IsValidLabelValue)."""
    return not text or (len(text) <= _LONGEST_NAME and _NAME.fullmatch(text) is not None)


def is_extended_resource(text: str) -> bool:
    """Whether the text names an extended resource (pkg/apis/core/v1/helper.IsExtendedResourceName)."""
    if "/" not in text or "kubernetes.io/" in text or text.startswith("requests."):
        return False
    return is_key(f"requests.{text}")


def check_key(text: str) -> Malformed | None:
    """The sentence about a bad label key, None for a good one."""
    if is_key(text):
        return None
    return Malformed(
        f"{quoted(text)} is no label key; write at most 63 letters, digits, '-', '_' or '.', "
        "with a domain and '/' before them if need be"
    )


def check_value(text: str) -> Malformed | None:
    """The sentence about a bad label value, None for a good one."""
    if is_value(text):
        return None
    return Malformed(f"{quoted(text)} is no label value; write at most 63 letters, digits, '-', '_' or '.'")
