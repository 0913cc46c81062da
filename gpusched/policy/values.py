"""Values of single annotations: each parser answers the value, or what is wrong with the text."""

import re
from typing import Final

from gpusched.core.catalogue import find
from gpusched.core.families import canonical_family, nearest_family
from gpusched.core.pool import Sharing
from gpusched.core.products import normalise
from gpusched.core.version import encode_cuda, encode_driver
from gpusched.policy.label_syntax import is_subdomain
from gpusched.policy.malformed import Malformed, entries, listed, one_of, quoted

_FAMILY_EXAMPLES: Final = ("turing", "ampere", "ada-lovelace", "hopper", "blackwell", "cdna3")
PLACEMENTS: Final = ("pack", "spread")
#: From the loosest to the strictest.
VISIBLE_DEVICES: Final = ("allow", "warn", "deny", "void")

#: Words for no RuntimeClass at all, which could be names of one and never are.
NO_CLASS: Final = frozenset({"none", "null", "nil", "no", "off", "false", "disabled"})

#: Products and families stand in node labels, whose values have 63 characters at most.
_LONGEST_WORD: Final = 63
_COUNT: Final = re.compile(r"[0-9]{1,9}")
_PRODUCT: Final = re.compile(r"[a-z0-9]+(?:[-.+][a-z0-9]+)*")
#: The version in texts such as `v12.4`, `12.4.1` or `CUDA 12`.
_VERSION_INSIDE: Final = re.compile(r"(?<![0-9.])[0-9]{1,3}(?:\.[0-9]{1,2})?(?![0-9])")


def parse_families(text: str) -> tuple[str, ...] | Malformed:
    """Canonical family names, the order kept as preference, repeats dropped."""
    words = entries(text, "family", "hopper")
    if isinstance(words, Malformed):
        return words
    families: list[str] = []
    for word in words:
        family = parse_family(word)
        if isinstance(family, Malformed):
            return family
        families.append(family)
    return tuple(dict.fromkeys(families))


def parse_family(word: str) -> str | Malformed:
    """The canonical name of one family."""
    short = word if len(word) <= _LONGEST_WORD else ""
    family = canonical_family(short)
    if family is not None:
        return family
    card = find(short)
    meant = nearest_family(short) or (card.family if card else None)
    right = meant or f"for example {listed(_FAMILY_EXAMPLES)}"
    return Malformed(f"{quoted(word)} is no GPU family; write {right}")


def parse_products(text: str) -> tuple[str, ...] | Malformed:
    """Products as dash-separated lower-case tokens, without vendor prefixes and sharing suffixes; repeats dropped."""
    words = entries(text, "product", "a100")
    if isinstance(words, Malformed):
        return words
    products: list[str] = []
    for word in words:
        product = normalise(word) if len(word) <= _LONGEST_WORD else ""
        if _PRODUCT.fullmatch(product) is None:
            return Malformed(f"{quoted(word)} is no GPU product; write dash-separated words such as h100-80gb")
        products.append(product)
    return tuple(dict.fromkeys(products))


def parse_sharing(text: str) -> tuple[Sharing, ...] | Malformed:
    """Kinds of sharing in the order written, repeats dropped."""
    words = entries(text, "kind of sharing", "none")
    if isinstance(words, Malformed):
        return words
    kinds: list[Sharing] = []
    for word in words:
        kind = one_of(word, "kind of sharing", Sharing)
        if isinstance(kind, Malformed):
            return kind
        kinds.append(Sharing(kind))
    return tuple(dict.fromkeys(kinds))


def parse_cuda(text: str) -> int | Malformed:
    """A CUDA version as an integer, 12.4 as 12040."""
    version = encode_cuda(text)
    return _no_version(text, "CUDA", "12.4") if version is None else version


def parse_driver(text: str) -> int | Malformed:
    """A driver version as an integer, 550.107.02 as 550107002."""
    version = encode_driver(text)
    return _no_version(text, "driver", "550.54") if version is None else version


def parse_max_gpus(text: str) -> int | Malformed:
    """A number of slots; 0 allows no GPU at all."""
    word = text.strip()
    if _COUNT.fullmatch(word):
        return int(word)
    return Malformed(f"{quoted(text)} is no number of GPUs; write a whole number such as 8 (0 allows none)")


def parse_placement(text: str) -> str | Malformed:
    """`pack` or `spread`."""
    return one_of(text, "placement", PLACEMENTS)


def parse_visible_devices(text: str) -> str | Malformed:
    """`allow`, `warn`, `deny` or `void`."""
    return one_of(text, "way to treat NVIDIA_VISIBLE_DEVICES", VISIBLE_DEVICES)


def parse_runtime_class(text: str) -> str | Malformed:
    """`auto`, `never`, or the name of a RuntimeClass."""
    word = text.strip()
    if word.lower() in {"auto", "never"}:
        return word.lower()
    if word.lower() in NO_CLASS:
        return Malformed(f"{quoted(text)} is no name of a RuntimeClass; write never for none")
    if is_subdomain(word):
        return word
    right = word.lower() if is_subdomain(word.lower()) else "auto, never or the name of a RuntimeClass"
    return Malformed(f"{quoted(text)} is no name of a RuntimeClass; write {right}")


def _no_version(text: str, kind: str, example: str) -> Malformed:
    match = _VERSION_INSIDE.search(text)
    right = f"for example {example}" if match is None else match[0] if "." in match[0] else f"{match[0]}.0"
    return Malformed(f"{quoted(text)} is no {kind} version; write {right}")
