import json
from io import BytesIO
from pathlib import Path

import pytest

from gpusched.cli.documents import read_documents
from gpusched.simulate.manifest import InputFault, Manifest
from tests.build import node, pod


def read(text: str) -> tuple[list[Manifest], list[InputFault]]:
    return read_documents(["-"], stdin=BytesIO(text.encode()))


def outline(documents: list[Manifest]) -> list[tuple[str, str, str]]:
    return [(document.source, document.path, document.where) for document in documents]


NOT_A_LIST = (
    "a Kubernetes object is a mapping, not a list: put its items into an object of apiVersion v1 and kind List, "
    "or write them one after the other"
)
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: team-a}\n"


def test_a_document_holds_the_object_as_written() -> None:
    documents, errors = read(json.dumps(pod("a")))
    assert errors == []
    assert documents == [Manifest("-:1", pod("a"), "Pod", "v1", "a", "team-a")]


def test_documents_are_counted_from_one_without_empty_ones(tmp_path: Path) -> None:
    path = tmp_path / "all.yaml"
    path.write_text(f"# head\n---\n{POD}---\n\n---\n# note\n---\n{POD}")
    documents, errors = read_documents([str(path)], stdin=None)
    assert errors == []
    assert [document.source for document in documents] == [f"{path}:1", f"{path}:2"]


def test_paths_keep_their_order_and_errors_stand_beside(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(POD.replace("name: a,", "name: b,"))
    (tmp_path / "c.yaml").write_text("")
    documents, errors = read_documents([str(tmp_path), "-", "nowhere"], stdin=BytesIO(POD.encode()))
    assert [document.name for document in documents] == ["b", "a"]
    assert errors == [
        InputFault(str(tmp_path / "c.yaml"), "", "empty: nothing to read"),
        InputFault("nowhere", "", "no such file or directory"),
    ]


def test_lists_are_replaced_by_their_items() -> None:
    inner = {"apiVersion": "v1", "kind": "List", "items": [node("n2")]}
    typed = {"apiVersion": "v1", "kind": "NodeList", "items": [{"metadata": {"name": "n3"}}]}
    tree = {"apiVersion": "v1", "kind": "List", "items": [node("n1"), inner, typed]}
    documents, errors = read(json.dumps(tree))
    assert errors == []
    assert outline(documents) == [
        ("-:1", "items[0]", "Node n1"),
        ("-:1", "items[1].items[0]", "Node n2"),
        ("-:1", "items[2].items[0]", "Node n3"),
    ]
    assert documents[2].tree == {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n3"}}


@pytest.mark.parametrize("items", ["[]", "null"])
def test_an_empty_list_is_no_error(items: str) -> None:
    assert read(f"apiVersion: v1\nkind: List\nitems: {items}\n") == ([], [])


def test_bad_items_leave_the_others() -> None:
    documents, errors = read("apiVersion: v1\nkind: List\nitems:\n- 3\n- kind: Pod\n- apiVersion: v1\n  kind: Pod\n")
    assert outline(documents) == [("-:1", "items[2]", "Pod default/(no name)")]
    assert errors == [
        InputFault("-:1", "items[0]", "a Kubernetes object is a mapping, not 3"),
        InputFault("-:1", "items[1].apiVersion", 'a Kubernetes object needs apiVersion; this one starts with "kind"'),
    ]


def test_a_kind_that_only_ends_in_list_is_an_object() -> None:
    documents, errors = read("apiVersion: x.io/v1\nkind: AllowList\nmetadata: {name: a}\nspec: {}\n")
    assert (outline(documents), errors) == ([("-:1", "", "AllowList default/a")], [])


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        (
            "- a\n",
            "",
            NOT_A_LIST,
        ),
        ("hello\n", "", 'a Kubernetes object is a mapping, not "hello"'),
        ("{}\n", "apiVersion", "a Kubernetes object needs apiVersion and kind; this one starts with nothing"),
        (
            "replicas: 1\nimage: x\n",
            "apiVersion",
            'a Kubernetes object needs apiVersion and kind; this one starts with "replicas", "image"',
        ),
        ("apiVersion: v1\n", "kind", 'a Kubernetes object needs kind; this one starts with "apiVersion"'),
        ("apiVersion: 1\nkind: Pod\n", "apiVersion", "apiVersion must be text, not 1"),
        ("apiVersion: v1\nkind: [Pod]\n", "kind", "kind must be text, not a list"),
    ],
)
def test_what_is_no_object(text: str, path: str, message: str) -> None:
    assert read(text) == ([], [InputFault("-:1", path, message)])


def test_faults_name_the_object_and_its_place() -> None:
    documents, errors = read(
        f"apiVersion: v1\nkind: List\nitems:\n- {POD.replace(chr(10), chr(10) + '  ')}spec: {{a: 1, a: 2}}\n"
    )
    assert errors == [
        InputFault("-:1", "items[0].spec.a", 'Pod team-a/a: line 7: "a" is written twice: keep one (the last counts)')
    ]
    assert documents[0].tree["spec"] == {"a": 2}


def test_an_object_that_json_cannot_hold_is_only_reported() -> None:
    documents, errors = read(f"{POD}spec: {{priority: .inf}}\n---\n{POD}")
    assert [document.source for document in documents] == ["-:2"]
    assert errors == [
        InputFault(
            "-:1",
            "spec.priority",
            "Pod team-a/a: line 4: JSON has no number .inf: write a finite one, or put it in quotes",
        )
    ]


def test_a_helm_template_gets_one_line_and_the_rest_is_done() -> None:
    template = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Values.name }}\n"
    documents, errors = read(f"{template}---\n{{{{- if .Values.x }}}}\n{template}---\n{POD}")
    assert outline(documents) == [("-:3", "", "Pod team-a/a")]
    assert errors == [
        InputFault("-:1", "", "looks like a Helm template: render it first (helm template … | gpusched … -f -)")
    ]


def test_braces_in_quotes_are_no_template() -> None:
    documents, errors = read(f"{POD}spec: {{note: '{{{{ .x }}}}'}}\n")
    assert errors == []
    assert documents[0].tree["spec"] == {"note": "{{ .x }}"}


def test_generated_names_are_numbered() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\n---\n"
    documents, _ = read(text + text + text.replace("a-", "b-") + "apiVersion: v1\nkind: Pod\nmetadata: null\n")
    assert [document.name for document in documents] == ["a-0", "a-1", "b-0", ""]


def test_the_namespace_is_the_default_where_none_is_written() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Node\nmetadata: {name: n}\n"
    documents, _ = read_documents(["-"], stdin=BytesIO(text.encode()), namespace="team-b")
    assert [document.namespace for document in documents] == ["team-b", ""]


def test_values_of_wrong_types_pass_through_to_those_who_read_them() -> None:
    documents, errors = read(
        "apiVersion: v1\nkind: Node\nmetadata: {name: n, labels: null}\n"
        "status: {allocatable: {nvidia.com/gpu: -1, cpu: 99999999999999999999}}\n---\n"
        "apiVersion: v1\nkind: Node\nmetadata: {name: bare}\n"
    )
    assert errors == []
    assert documents[0].tree["status"] == {"allocatable": {"nvidia.com/gpu": -1, "cpu": 99999999999999999999}}
    assert "status" not in documents[1].tree


@pytest.mark.parametrize("text", ["{a: b}\n", "{apiVersion: v1}\n---\nb: 1\n"])
def test_yaml_in_braces_is_no_json(text: str) -> None:
    _, errors = read(text)
    assert all("needs" in error.message for error in errors)


def test_a_json_file_is_json(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("{apiVersion: v1}")
    assert read_documents([str(path)], stdin=None) == (
        [],
        [
            InputFault(
                f"{path}:1",
                "",
                "line 1 ({apiVersion: v1}): not JSON: expecting property name enclosed in double quotes",
            )
        ],
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Chart.yaml", "helm template DIRECTORY"),
        ("values.yaml", "helm template DIRECTORY"),
        ("kustomization.yaml", "kubectl kustomize DIRECTORY"),
    ],
)
def test_files_that_make_manifests_say_how_to_render_them(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / name).write_text("apiVersion: v2\nname: x\n")
    documents, (error,) = read_documents([str(tmp_path)], stdin=None)

    assert documents == []
    assert words in error.message
