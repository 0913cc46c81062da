import os
from io import BytesIO
from pathlib import Path

import pytest

from gpusched.cli import sources
from gpusched.cli.sources import Text, decode, read_sources
from gpusched.simulate.manifest import InputFault


def read(*paths: str, stdin: bytes | None = None) -> list[Text | InputFault]:
    return list(read_sources(paths, stdin=None if stdin is None else BytesIO(stdin)))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"a: \xc3\xa9\n", "a: é\n"),
        (b"\xef\xbb\xbfa: 1\n", "a: 1\n"),
        ("a: 1\n".encode("utf-16"), "a: 1\n"),
        (b"\xfe\xff" + "a: 1\n".encode("utf-16-be"), "a: 1\n"),
    ],
)
def test_encodings(content: bytes, text: str) -> None:
    assert decode("f", content) == Text("f", text)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty: nothing to read"),
        (b" \n\t\n", "empty: nothing to read"),
        (b"a: 1\0", "not a text file: byte 5 is zero"),
        (b"\x7fELF\x02\x01\x01\x00", "not a text file: byte 8 is zero"),
        (b"a: \xe9\n", "not a text file: byte 4 is not UTF-8"),
        (b"\xff\xfea", "not a text file: byte 3 is not UTF-16"),
    ],
)
def test_what_is_no_text(content: bytes, message: str) -> None:
    assert decode("f", content) == InputFault("f", "", message)


def test_directories_are_read_to_the_bottom_in_order(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.yml", "c.JSON", "notes.txt", ".hidden.yaml", "sub/d.yaml", ".git/e.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    assert read(str(tmp_path)) == [
        Text(str(tmp_path / name), name) for name in ("a.yml", "b.yaml", "c.JSON", "sub/d.yaml")
    ]


def test_paths_that_give_nothing(tmp_path: Path) -> None:
    missing, empty = tmp_path / "missing.yaml", tmp_path / "folder"
    empty.mkdir()
    assert read(str(missing), str(empty), "https://example.com/x.yaml", "a\0b") == [
        InputFault(str(missing), "", "no such file or directory"),
        InputFault(str(empty), "", "the directory holds no *.yaml, *.yml or *.json"),
        InputFault("https://example.com/x.yaml", "", "addresses are not fetched: download it, or pipe it to -f -"),
        InputFault("a\0b", "", "cannot be read: embedded null byte"),
    ]


def test_files_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "a.yaml").write_text("a: 1")
    monkeypatch.setattr(Path, "open", refuse)
    assert read(str(tmp_path)) == [InputFault(str(tmp_path / "a.yaml"), "", "permission denied: it cannot be read")]


def test_files_larger_than_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_BYTES", 1 << 20)
    (tmp_path / "a.yaml").write_bytes(b"#" * ((1 << 20) + 1))
    assert read(str(tmp_path / "a.yaml")) == [InputFault(str(tmp_path / "a.yaml"), "", "larger than 1 MiB: split it")]


def test_a_pipe_is_read(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"a: 1\n")
    os.close(writer)
    assert read(f"/dev/fd/{reader}") == [Text(f"/dev/fd/{reader}", "a: 1\n")]
    os.close(reader)


def test_standard_input() -> None:
    assert read("-", stdin=b"a: 1\n") == [Text("-", "a: 1\n")]
    assert read("-", "-", stdin=b"a: 1\n") == [Text("-", "a: 1\n"), InputFault("-", "", "empty: nothing to read")]
    assert read("-") == [InputFault("-", "", "standard input is closed")]


def test_names_that_are_not_utf8_are_printable(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.yaml")
    (found,) = read(path)
    assert found == InputFault(f"{tmp_path}/\\xff.yaml", "", "no such file or directory")
