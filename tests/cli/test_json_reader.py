import pytest

from gpusched.cli.json_reader import read_json
from gpusched.cli.reading import MAX_DEPTH, Reading
from gpusched.core.fault import Fault


@pytest.mark.parametrize(
    ("text", "trees"),
    [
        ('{"a": 1.0, "b": 1e3, "c": 0.5}', [{"a": 1, "b": 1000, "c": 0.5}]),
        ('{"a": 1} {"b": 2}\n\n{"c": 3}\n', [{"a": 1}, {"b": 2}, {"c": 3}]),
        ('null {"a": 1}', [{"a": 1}]),
        ('{"a": 99999999999999999999}', [{"a": 99999999999999999999}]),
        (r'{"a": "\ud83d\ude00", "\ud800": ["\udc00"]}', [{"a": "😀", "�": ["�"]}]),
        ("[1]", [[1]]),
        ("", []),
    ],
)
def test_trees(text: str, trees: list[object]) -> None:
    assert list(read_json(text)) == [Reading(tree) for tree in trees]


def test_keys_written_twice_are_faults_and_the_last_counts() -> None:
    assert list(read_json('{"a": {"x": 1, "x": 2, "x": 3}, "b": [{"c/d": 1, "c/d": 2}]}')) == [
        Reading(
            {"a": {"x": 3}, "b": [{"c/d": 2}]},
            (
                Fault("a.x", '"x" is written twice: keep one (the last counts)'),
                Fault("b[0][c/d]", '"c/d" is written twice: keep one (the last counts)'),
            ),
        )
    ]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400"])
def test_numbers_that_json_lacks(number: str) -> None:
    (reading,) = read_json(f'{{"a": [0, {number}]}}')
    assert not reading.usable
    assert reading.faults == (Fault("a[1]", "not a number that JSON has: write a finite one, or put it in quotes"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1', "line 1 ({\"a\": 1): not JSON: expecting ',' delimiter"),
        ('{"a":\n oops}', "line 2 (oops}): not JSON: expecting value"),
        ('{"a": ' + "9" * 5000 + "}", "a number of thousands of digits: shorten it, or put it in quotes"),
        ('{"a":' * 300 + "1" + "}" * 300, f"nested deeper than {MAX_DEPTH} levels"),
        ("[" * 100_000, f"nested deeper than {MAX_DEPTH} levels"),
    ],
)
def test_broken_documents(text: str, message: str) -> None:
    assert list(read_json(text)) == [Reading(None, (Fault("", message),), usable=False)]


def test_reading_goes_on_at_the_next_object() -> None:
    first, broken, last = read_json('{"a": 1}\n{"b": oops}\n{"c": 3}\n')
    assert (first.tree, broken.usable, last.tree) == ({"a": 1}, False, {"c": 3})
