from pathlib import Path

import pytest

from gpusched.local.karpenter_programs import KARPENTER, missing, ready, recipe, resolve


def environment(tmp_path: Path) -> dict[str, str]:
    return {"PATH": str(tmp_path / "none"), "XDG_CACHE_HOME": str(tmp_path / "cache")}


@pytest.fixture
def built(tmp_path: Path) -> Path:
    folder = tmp_path / "cache" / "gpusched" / "bin" / recipe().key
    folder.mkdir(parents=True)
    for name in recipe().binaries:
        (folder / name).touch()
    return folder


def test_the_module_is_that_of_the_release():
    made = recipe()

    assert all(path.exists() for path in (made.module, made.sums, *made.commands))
    module = made.module.read_text(encoding="utf-8")
    assert f"sigs.k8s.io/karpenter v{KARPENTER}\n" in module
    assert "\ngo 1.26." in module


def test_what_was_built_before_is_taken(tmp_path, built):
    assert ready(environment(tmp_path))
    assert missing(environment(tmp_path)) is None
    assert resolve(environment=environment(tmp_path)) == {name: built / name for name in ("kwok", "karpenter-crds")}


def test_machine_without_go_and_without_a_build_says_so(tmp_path):
    assert not ready(environment(tmp_path))
    assert missing(environment(tmp_path)) == "no Karpenter 1.13.0 in the cache, and no Go 1.26 to build it"
