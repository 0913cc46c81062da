import os
from io import BytesIO, StringIO, TextIOWrapper

import msgspec
import pytest

from gpusched.cli.documents import read_documents
from gpusched.cli.output import as_json, as_yaml, write


class View(msgspec.Struct):
    zone: str
    amount: int | None = None


def test_json_keeps_the_order_of_keys() -> None:
    assert as_json({"b": View("é", 2**70), "a": [], "none": View("x")}) == (
        '{\n  "b": {\n    "zone": "é",\n    "amount": 1180591620717411303424\n  },\n  "a": [],\n'
        '  "none": {\n    "zone": "x",\n    "amount": null\n  }\n}\n'
    )


def test_yaml_keeps_the_order_of_keys_and_writes_no_anchors() -> None:
    shared = {"x": 1}
    assert as_yaml({"b": View("é", 1), "a": [shared, shared]}) == "b:\n  zone: é\n  amount: 1\na:\n- x: 1\n- x: 1\n"


@pytest.mark.parametrize(
    "text",
    ["1e3", "08", "0o17", "1_000", "y", "no", "null", "~", "", "12:30", "2001-01-01", "<<", "a: b", "# c", "a\nb"],
)
def test_text_stays_text_for_kubernetes(text: str) -> None:
    tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"key": text, text: "value"}}
    documents, errors = read_documents(["-"], stdin=BytesIO(as_yaml(tree).encode()))
    assert errors == []
    assert documents[0].tree == tree


def test_write_replaces_what_the_stream_cannot_carry() -> None:
    buffer = BytesIO()
    stream = TextIOWrapper(buffer, encoding="ascii")
    assert write("time-slicing×4\n", stream)
    assert buffer.getvalue() == b"time-slicing?4\n"


def test_write_survives_a_reader_that_has_gone() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        assert not write("x" * 100_000, stream)
        assert write("more", stream)


def test_write() -> None:
    stream = StringIO()
    assert write("a\n", stream)
    assert stream.getvalue() == "a\n"
