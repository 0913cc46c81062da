"""Turns what users name on the command line into texts: files, directories, and standard input."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from gpusched.simulate.manifest import InputFault

#: What is read of one file at most: dumps of the largest clusters are smaller.
MAX_BYTES: Final = 1 << 29

_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
_BYTE_ORDER_MARKS: Final = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


class Text(msgspec.Struct, frozen=True):
    """The text of one file, by the name that messages use."""

    name: str
    text: str


def read_sources(paths: Sequence[str], *, stdin: BinaryIO | None) -> Iterator[Text | InputFault]:
    """The texts behind the paths, in order: `-` is standard input, directories give their files sorted by name.

    Directories are read to the bottom; hidden files and those not named *.yaml, *.yml or *.json are left out. What
    cannot be read is an error in the place where its text would stand.
    """
    for path in paths:
        if path == "-":
            yield _standard_input(stdin)
        elif path.startswith(("http://", "https://")):
            yield InputFault(path, "", "addresses are not fetched: download it, or pipe it to -f -")
        elif Path(path).is_dir():
            yield from _directory(path)
        else:
            yield _file(path)


def _standard_input(stdin: BinaryIO | None) -> Text | InputFault:
    if stdin is None:
        return InputFault("-", "", "standard input is closed")
    try:
        return decode("-", stdin.read(MAX_BYTES + 1))
    except (OSError, ValueError) as error:
        return InputFault("-", "", f"standard input cannot be read: {error}")


def _directory(path: str) -> Iterator[Text | InputFault]:
    unreadable: list[OSError] = []
    found = False
    for folder, folders, names in os.walk(path, onerror=unreadable.append):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and Path(name).suffix.lower() in _SUFFIXES:
                found = True
                yield _file(str(Path(folder) / name))
    for error in unreadable:
        yield InputFault(_printable(str(error.filename)), "", _reason(error))
    if not found and not unreadable:
        yield InputFault(_printable(path), "", "the directory holds no *.yaml, *.yml or *.json")


def _file(path: str) -> Text | InputFault:
    name = _printable(path)
    try:
        with Path(path).open("rb") as file:
            return decode(name, file.read(MAX_BYTES + 1))
    except OSError as error:
        return InputFault(name, "", _reason(error))
    except (ValueError, MemoryError) as error:
        return InputFault(name, "", f"cannot be read: {error}")


def decode(name: str, content: bytes) -> Text | InputFault:
    """The text of a file's bytes: UTF-8, or UTF-16 with a byte order mark as PowerShell writes it."""
    if len(content) > MAX_BYTES:
        return InputFault(name, "", f"larger than {MAX_BYTES >> 20} MiB: split it")
    encoding = next((encoding for mark, encoding in _BYTE_ORDER_MARKS if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        wanted = encoding.removesuffix("-sig").upper()
        return InputFault(name, "", f"not a text file: byte {error.start + 1} is not {wanted}")
    if "\0" in text:
        return InputFault(name, "", f"not a text file: byte {text.index(chr(0)) + 1} is zero")
    if not text.strip():
        return InputFault(name, "", "empty: nothing to read")
    return Text(name, text)


def _reason(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file or directory"
    if isinstance(error, PermissionError):
        return "permission denied: it cannot be read"
    return f"cannot be read: {error.strerror or error}"


def _printable(path: str) -> str:
    # File names need not be UTF-8, but every output is.
    return os.fsencode(path).decode("utf-8", "backslashreplace")
