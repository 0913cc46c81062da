"""Nothing that a user can feed raises: any bytes, any text that looks like YAML or JSON, any tree."""

import json
import re
import tempfile
from io import BytesIO
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusched.admission.templates import templates_of
from gpusched.cli.documents import read_documents
from gpusched.cli.objects import sort_objects
from gpusched.cli.output import as_json, as_yaml
from gpusched.cli.tables import render
from gpusched.cli.text_width import width_of
from gpusched.simulate.manifest import Manifest

FRAGMENTS = [
    "apiVersion: v1",
    "kind: ",
    "Pod",
    "List",
    "items:",
    "metadata",
    "name: a",
    "null",
    "~",
    "{",
    "}",
    "[",
    "]",
    ": ",
    "- ",
    "? ",
    "\n",
    "\n  ",
    "\n---\n",
    "\n...\n",
    "\t",
    "&a ",
    "*a",
    "<<: ",
    "!!int ",
    "!",
    "|",
    ">",
    "'",
    '"',
    "#",
    "{{ .Values.x }}",
    "%YAML 1.2",
    "1e3",
    ".nan",
    "0x",
    "9" * 400,
    "\\ud800",
    "\ufeff",
    "é",
    "@",
    ",",
    "\r",
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=8), children, max_size=3),
    max_leaves=10,
)
METADATA = st.fixed_dictionaries({}, optional={"name": JSON, "generateName": JSON, "namespace": JSON, "labels": JSON})
KINDS = ["Pod", "Node", "Namespace", "List", "PodList", "Deployment", "Job", "Config", "ClusterPolicy", "Service"]
OBJECTS = st.fixed_dictionaries(
    {},
    optional={
        "apiVersion": st.sampled_from(["v1", "apps/v1", "batch/v1", "nvidia.com/v1", "gpusched.io/v1alpha1"]) | JSON,
        "kind": st.sampled_from(KINDS) | JSON,
        "metadata": METADATA | JSON,
        "spec": st.dictionaries(st.sampled_from(["template", "replicas", "containers"]), JSON) | JSON,
        "items": JSON,
    },
)


def read(content: bytes) -> list[Manifest]:
    documents, errors = read_documents(["-"], stdin=BytesIO(content))
    assert all(error.source and error.message and "\n" not in error.message for error in errors)
    objects, more = sort_objects(documents, has_template=lambda tree: templates_of(tree, []) is not None)
    as_json([objects.manifests, errors, more])
    return documents


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("a.yaml", "b.json"):
            (Path(folder) / name).write_bytes(content)
        documents, errors = read_documents([folder], stdin=None)
    assert documents or errors or b"null" in content or b"~" in content


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=25).map("".join))
def test_text_that_looks_like_yaml(text: str) -> None:
    read(text.encode())


@settings(max_examples=150, deadline=None)
@given(st.lists(OBJECTS | JSON, max_size=3))
def test_any_json_tree(trees: list[object]) -> None:
    read("\n".join(json.dumps(tree) for tree in trees).encode())


@settings(max_examples=100, deadline=None)
@given(st.lists(OBJECTS, min_size=1, max_size=3))
def test_what_is_written_as_yaml_reads_the_same_as_json(trees: list[dict[str, object]]) -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": trees})
    # Neither form has these numbers; each reader says so in its own way.
    plain = json.loads(re.sub(r"-?Infinity|NaN", "0", text))
    from_json, from_yaml = read(as_json(plain).encode()), read(as_yaml(plain).encode())
    assert [document.tree for document in from_json] == [document.tree for document in from_yaml]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=80), st.text(max_size=200)), max_size=4), st.integers(20, 120))
def test_tables_fit(rows: list[tuple[str, str]], width: int) -> None:
    table = render(["POD", "MESSAGE"], rows, width=width)
    assert all(width_of(line) <= width for line in table.splitlines())
