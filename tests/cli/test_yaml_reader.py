import pytest
import yaml

from gpusched.cli import yaml_reader
from gpusched.cli.reading import MAX_DEPTH, Reading
from gpusched.cli.yaml_reader import Chunk, chunks, read_chunk
from gpusched.cli.yaml_tree import MAX_ALIASED
from gpusched.core.fault import Fault


def read(text: str) -> list[Reading]:
    return [reading for chunk in chunks(text) for reading in read_chunk(chunk)]


@pytest.fixture(params=["libyaml", "python"], autouse=True)
def _parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "python":
        monkeypatch.setattr(yaml_reader, "_LOADER", yaml.SafeLoader)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a: 1\nb: [x, 'y', \"z\"]\n", {"a": 1, "b": ["x", "y", "z"]}),
        ("a: '1'\nb: !!str 1\nc: !foo 1\nd: !!int '3'\n", {"a": "1", "b": "1", "c": "1", "d": 3}),
        ("1: a\nyes: b\n0x10: c\n1.5: d\n", {"1": "a", "true": "b", "16": "c", "1.5": "d"}),
        ("a: &x {b: 1}\nc: *x\n", {"a": {"b": 1}, "c": {"b": 1}}),
        ("b: &b {a: 2}\nc:\n  <<: *b\n  a: 1\n", {"b": {"a": 2}, "c": {"a": 1}}),
        ("b: &b {a: 2}\nc:\n  a: 1\n  <<: *b\n", {"b": {"a": 2}, "c": {"a": 2}}),
        (
            "a: [&b {x: 2}, &d {x: 3, z: 4}]\nc: {<<: [*b, *d]}\n",
            {"a": [{"x": 2}, {"x": 3, "z": 4}], "c": {"x": 2, "z": 4}},
        ),
        ("c: {'<<': {a: 1}}\n", {"c": {"<<": {"a": 1}}}),
        ("a: |\n  ---\n  b\n", {"a": "---\nb\n"}),
        ("%YAML 1.1\n---\na:\n", {"a": None}),
        ("a: b\r\nc: d\r\n", {"a": "b", "c": "d"}),
    ],
)
def test_trees(text: str, tree: object) -> None:
    assert read(text) == [Reading(tree)]


def test_an_alias_is_a_copy() -> None:
    (reading,) = read("a: &x [{b: 1}]\nc: *x\n")
    assert isinstance(reading.tree, dict)
    reading.tree["c"][0]["b"] = 2
    assert reading.tree["a"] == [{"b": 1}]


@pytest.mark.parametrize("text", ["", "# note\n", "---\n---\n", "---\n# note\n...\n", "~\n", "null\n---\n"])
def test_empty_documents_are_left_out(text: str) -> None:
    assert read(text) == []


def test_documents_are_cut_at_markers_and_know_their_lines() -> None:
    assert list(chunks("# head\n---\na: 1\n---\n\n--- # third\nb: 2\n")) == [
        Chunk("---\na: 1\n", 2),
        Chunk("--- # third\nb: 2\n", 6),
    ]
    assert [reading.tree for reading in read("a: 1\n...\nb: 2\n--- {c: 3}\n")] == [
        {"a": 1},
        {"b": 2},
        {"c": 3},
    ]


def test_a_bad_document_leaves_the_others() -> None:
    first, second, third = read("a: 1\n---\nb:\n\t- c\n---\nd: 2\n")
    assert (first, third) == (Reading({"a": 1}), Reading({"d": 2}))
    assert not second.usable
    assert second.faults == (Fault("b", "line 4 (- c): a tab in the indentation: write spaces"),)


def test_keys_written_twice_are_faults_and_the_last_counts() -> None:
    (reading,) = read("x:\n- image: a\n  limits: {nvidia.com/gpu: 1, nvidia.com/gpu: 2}\n  image: b\n")
    assert reading == Reading(
        {"x": [{"image": "b", "limits": {"nvidia.com/gpu": 2}}]},
        (
            Fault(
                "x[0].limits[nvidia.com/gpu]", 'line 3: "nvidia.com/gpu" is written twice: keep one (the last counts)'
            ),
            Fault("x[0].image", 'line 4: "image" is written twice: keep one (the last counts)'),
        ),
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a:\n  b: .nan\n", Fault("a.b", "line 2: JSON has no number .nan: write a finite one, or put it in quotes")),
        ("a: -.inf\n", Fault("a", "line 1: JSON has no number -.inf: write a finite one, or put it in quotes")),
        ("a: &x [*x]\n", Fault("a[0]", "line 1 (a: &x [*x]): the anchor &x contains itself")),
        (
            "a: *x\n",
            Fault("a", "line 1 (a: *x): *x stands for an anchor that is not there: write &x above, or use quotes"),
        ),
        ("~: x\n", Fault("", "line 1 (~: x): a key is missing or null: write it, or put it in quotes")),
        ("? [a]\n: b\n", Fault("", "line 1 (? [a]): a key must be text, not a list")),
        ("c: {<<: 3}\n", Fault("c", "line 1 (c: {<<: 3}): << takes a mapping or a list of mappings")),
        ("a: @x\n", Fault("a", "line 1 (a: @x): a value that starts with @, ` or %: put it in quotes")),
        (
            "a: b: c\n",
            Fault("", "line 1 (a: b: c): a second ': ' on the line or a wrong indentation: quote or align it"),
        ),
        ("a: * b\n", Fault("a", "line 1 (a: * b): a value that starts with * or &: put it in quotes")),
        ("a: 'b\n", Fault("a", "line 2: a quote or bracket is not closed")),
        ("a: {b: c}}\n", Fault("", "line 1 (a: {b: c}}): a '}' or ']' too many: remove it")),
        ("a: \x07\n", Fault("", "line 1: a control or otherwise unprintable character: remove it")),
    ],
)
def test_what_is_not_read_says_where_and_what_to_write(text: str, fault: Fault) -> None:
    (reading,) = read(text)
    assert not reading.usable
    assert reading.faults == (fault,)


def test_anchors_cannot_blow_a_document_up() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 12)]
    (reading,) = read("\n".join(lines))
    assert not reading.usable
    assert f"anchors add more than {MAX_ALIASED:,} values: write them out" in reading.faults[0].message


@pytest.mark.parametrize(
    "text",
    [
        "a: " + "[" * (MAX_DEPTH + 50) + "]" * (MAX_DEPTH + 50),
        "- " * 5000 + "a",
        "a0: &a0 [x]\n" + "".join(f"a{level}: &a{level} [*a{level - 1}]\n" for level in range(1, MAX_DEPTH + 2)),
    ],
)
def test_deep_nesting_is_refused(text: str) -> None:
    (reading,) = read(text)
    assert not reading.usable
    assert reading.faults[0].message.endswith(f"nested deeper than {MAX_DEPTH} levels")


def test_the_partial_object_is_kept_to_name_it() -> None:
    (reading,) = read(
        "kind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n"
        "- apiVersion: v1\n  kind: Pod\n  metadata: {name: b}\n  spec: [\n"
    )
    assert reading.tree == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b"}}
    assert reading.faults[0].path == "items[1].spec[0]"


def test_ticks_tell_the_line() -> None:
    lines: list[int] = []
    list(read_chunk(Chunk("".join(f"k{index}: v\n" for index in range(12_000)), 1), lines.append))
    assert lines == sorted(lines)
    assert len(lines) == 2
