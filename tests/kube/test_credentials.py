import json
from pathlib import Path

import pytest

from gpusched.kube.credentials import context_namespace, has_kubeconfig, load_configuration
from gpusched.kube.errors import ConfigurationError
from gpusched.kube.session import Session


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


@pytest.mark.parametrize(("context", "namespace"), [(None, "team-a"), ("b", "team-b"), ("plain", ""), ("nowhere", "")])
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

    assert context_namespace(str(path), None) == ""


def test_no_file(tmp_path, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nowhere"))

    assert not has_kubeconfig()
    assert context_namespace(None, None) == ""


_USER = {"token": "t"}
_NO_PLUGIN = "[Errno 2] No such file or directory: 'no-such-login'"
_PLUGIN = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-login"}}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("content", "context", "said"),
    [
        ("", None, "cannot be used: it is no kubeconfig: it needs clusters, users, contexts and a current-context"),
        (b"\xff\xfe\xc9", None, "cannot be used: it is not a text file"),
        (_USER, "z", "has no context z; it has a, b"),
        ({"client-certificate": "/nowhere/tls.crt"}, None, "cannot be used: there is no file /nowhere/tls.crt"),
        (_PLUGIN, None, f"cannot be used: the command that gets its credentials failed: {_NO_PLUGIN}"),
    ],
)
async def test_what_is_wrong_with_a_kubeconfig(tmp_path, caplog, content, context, said):
    path = tmp_path / "config"
    if isinstance(content, dict):
        kubeconfig(path, a="team-a", b="team-b")
        tree = json.loads(path.read_text())
        tree["users"][0]["user"] = content
        path.write_text(json.dumps(tree))
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    with pytest.raises(ConfigurationError) as caught:
        await load_configuration(str(path), context, in_cluster=False)

    assert caught.value.reason == f"kubeconfig {path} {said}"
    assert caplog.messages == []


@pytest.mark.anyio
async def test_a_folder_is_no_kubeconfig(tmp_path):
    with pytest.raises(ConfigurationError, match="is a directory: name a file with --kubeconfig"):
        await load_configuration(str(tmp_path), None, in_cluster=False)


@pytest.mark.anyio
async def test_certificates_that_are_none(tmp_path):
    path = tmp_path / "config"
    kubeconfig(path, a=None)
    tree = json.loads(path.read_text())
    tree["users"][0]["user"] = {"client-certificate-data": "Zm9v", "client-key-data": "Zm9v"}
    path.write_text(json.dumps(tree))

    with pytest.raises(ConfigurationError, match="the certificates of the kubeconfig cannot be used: "):
        async with await Session.open(str(path)):
            pass
