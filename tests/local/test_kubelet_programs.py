from pathlib import Path

import pytest

from gpusched.local import build as builder
from gpusched.local import kubelet_isolation
from gpusched.local.kubelet_programs import NAMES, missing, ready, recipe, resolve
from gpusched.local.versions import VERSIONS, select

VERSION = select("1.37", {})


def environment(tmp_path: Path) -> dict[str, str]:
    return {"PATH": str(tmp_path / "none"), "XDG_CACHE_HOME": str(tmp_path / "cache")}


@pytest.fixture
def built(tmp_path: Path) -> Path:
    folder = tmp_path / "cache" / "gpusched" / "bin" / recipe(VERSION).key
    folder.mkdir(parents=True)
    for name in NAMES:
        (folder / name).touch()
    return folder


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_every_version_has_a_kubelet_with_the_stamp_of_its_control_plane(version):
    made = recipe(version)

    assert all(path.exists() for path in (made.module, made.sums, *made.commands))
    assert f"\tk8s.io/kubernetes v{version.release}\n" in made.module.read_text(encoding="utf-8")
    assert made.link == builder.kubernetes(version).link
    assert made.key.startswith(f"node-{version.release}-")


def test_what_was_built_before_is_taken(tmp_path, built, monkeypatch):
    monkeypatch.setattr(kubelet_isolation, "missing", lambda: None)

    assert ready(VERSION, environment(tmp_path))
    assert missing(VERSION, environment(tmp_path)) is None
    assert resolve(VERSION, environment=environment(tmp_path)) == {name: built / name for name in NAMES}


def test_machine_without_go_and_without_a_build_says_so(tmp_path):
    assert not ready(VERSION, environment(tmp_path))
    assert missing(VERSION, environment(tmp_path)) == "no kubelet 1.37.2 in the cache, and no Go 1.26 to build it"


def test_machine_that_cannot_run_it_says_so(tmp_path, built, monkeypatch):
    monkeypatch.setattr(kubelet_isolation, "missing", lambda: "no mounts here")

    assert missing(VERSION, environment(tmp_path)) == "no mounts here"
