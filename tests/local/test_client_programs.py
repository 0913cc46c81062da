from pathlib import Path

import pytest

from gpusched.local.client_programs import KUSTOMIZE, NAMES, missing, ready, recipes, render, resolve
from gpusched.local.errors import LocalError
from gpusched.local.versions import VERSIONS


def environment(tmp_path: Path) -> dict[str, str]:
    return {"PATH": str(tmp_path / "none"), "XDG_CACHE_HOME": str(tmp_path / "cache")}


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_modules_are_pinned_to_what_the_recipes_say():
    kubectl, kustomize = recipes()
    release = VERSIONS[0].release

    assert (kubectl.name, kustomize.name) == NAMES
    assert f"\tk8s.io/kubectl v0.{release.removeprefix('1.')}\n" in kubectl.module.read_text(encoding="utf-8")
    assert f"Version=v{release} " in kubectl.link
    assert f"\tsigs.k8s.io/kustomize/kustomize/v5 v{KUSTOMIZE} " in kustomize.module.read_text(encoding="utf-8")
    assert all(path.exists() for recipe in recipes() for path in (recipe.sums, *recipe.commands))


def test_what_was_built_before_is_taken(tmp_path):
    for recipe in recipes():
        folder = tmp_path / "cache" / "gpusched" / "bin" / recipe.key
        folder.mkdir(parents=True)
        (folder / recipe.name).touch()

    assert ready(environment(tmp_path))
    assert missing(environment(tmp_path)) is None
    found = resolve(environment=environment(tmp_path))
    assert {name: path.name for name, path in found.items()} == {"kubectl": "kubectl", "kustomize": "kustomize"}


def test_machine_without_go_and_without_a_build_says_so(tmp_path):
    assert not ready(environment(tmp_path))
    assert missing(environment(tmp_path)) == "no kubectl and kustomize in the cache, and no Go 1.26 to build them"


def test_rendered_objects_are_in_the_order_of_the_output(tmp_path):
    program = script(tmp_path / "kustomize", 'echo "kind: A\n---\n---\nkind: $2"')

    assert render(program, tmp_path) == [{"kind": "A"}, {"kind": str(tmp_path)}]


def test_refusal_is_told_in_its_own_words(tmp_path):
    program = script(tmp_path / "kustomize", "echo 'Error: no such thing' >&2; exit 1")

    with pytest.raises(LocalError) as caught:
        render(program, tmp_path)

    assert str(caught.value) == f"kustomize build {tmp_path}: Error: no such thing"
