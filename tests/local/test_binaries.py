from pathlib import Path

import pytest

from gpusched.local import build as builder
from gpusched.local.binaries import NAMES, VARIABLE, Binaries, assets, missing, resolve
from gpusched.local.errors import LocalError
from gpusched.local.versions import select

VERSION = select("1.37", {})


def programs(folder: Path, names: tuple[str, ...]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text("#!/bin/sh\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    return folder


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"PATH": str(tmp_path / "none"), "XDG_CACHE_HOME": str(tmp_path / "cache"), **more}


def test_ready_binaries_need_neither_cache_nor_go(tmp_path):
    folder = programs(tmp_path / "assets", NAMES)
    given = environment(tmp_path, **{VARIABLE: str(folder)})

    assert missing(VERSION, given) is None
    assert resolve(VERSION, environment=given) == Binaries("1.37.2", {name: folder / name for name in NAMES})
    assert not (tmp_path / "cache").exists()


def test_what_the_ready_ones_lack_comes_from_the_cache(tmp_path):
    folder = programs(tmp_path / "assets", ("etcd", "kube-apiserver"))
    given = environment(tmp_path, **{VARIABLE: str(folder)})
    home = tmp_path / "cache" / "gpusched" / "bin"
    built = programs(home / builder.kubernetes(VERSION).key, builder.kubernetes(VERSION).binaries)
    kwok = programs(home / builder.kwok().key, ("kwok",))

    found = resolve(VERSION, environment=given)

    assert found.paths == {
        "etcd": folder / "etcd",
        "kube-apiserver": folder / "kube-apiserver",
        "kube-controller-manager": built / "kube-controller-manager",
        "kube-scheduler": built / "kube-scheduler",
        "kwok": kwok / "kwok",
    }
    assert found["kwok"] == kwok / "kwok"


def test_without_binaries_and_without_go_it_is_said_what_is_missing(tmp_path):
    assert missing(VERSION, environment(tmp_path)) == (
        "no binaries of kubernetes 1.37.2 in the cache, and no Go 1.26 to build them"
    )


def test_folder_without_any_of_them_is_a_mistake(tmp_path):
    (tmp_path / "etcd").write_text("not executable", encoding="utf-8")

    with pytest.raises(LocalError, match=rf"{VARIABLE}={tmp_path} holds none of etcd, kube-apiserver"):
        assets({VARIABLE: str(tmp_path)})
