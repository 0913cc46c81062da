import json
from pathlib import Path

import pytest

from gpusched.kube.credentials import context_namespace, has_kubeconfig


def kubeconfig(path: Path, current: str = "a", **namespaces: str | None) -> str:
    """A file with these contexts."""
    contexts = [
        {"name": name, "context": {"cluster": "c", "user": "u"} | ({"namespace": namespace} if namespace else {})}
        for name, namespace in namespaces.items()
    ]
    tree = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": current,
        "contexts": contexts,
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {}}],
    }
    path.write_text(json.dumps(tree))
    return str(path)


@pytest.mark.parametrize(
    ("context", "namespace"), [(None, "team-a"), ("b", "team-b"), ("plain", "default"), ("nowhere", "default")]
)
def test_the_namespace_of_a_context(tmp_path, context, namespace):
    path = kubeconfig(tmp_path / "config", a="team-a", b="team-b", plain=None)

    assert context_namespace(path, context) == namespace


def test_several_files(tmp_path, monkeypatch):
    first = kubeconfig(tmp_path / "one", current="b", a="team-a")
    second = kubeconfig(tmp_path / "two", current="b", b="team-b")
    monkeypatch.setenv("KUBECONFIG", f"{first}:{second}")

    assert context_namespace(None, None) == "team-b"
    assert has_kubeconfig()


@pytest.mark.parametrize("content", ["", "- a list", "contexts: 3", "{"])
def test_files_that_say_nothing(tmp_path, content):
    path = tmp_path / "config"
    path.write_text(content)

    assert context_namespace(str(path), None) == "default"


def test_no_file(tmp_path, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nowhere"))

    assert not has_kubeconfig()
    assert context_namespace(None, None) == "default"
