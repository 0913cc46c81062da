import subprocess
import sys
from pathlib import Path

import pytest

from gpusched.local import build as builder
from gpusched.local.build import build, cached, go_environment, kubernetes, kwok
from gpusched.local.errors import BuildError
from gpusched.local.toolchain import Go
from gpusched.local.versions import VERSIONS, select

#: A go that lists two packages and builds what `-o` and the recipe ask for.
GO = """
case "$1" in
list) echo "go: downloading example.com/a v1" >&2; printf 'fmt\\nmain\\n' ;;
build)
  echo "$PWD: $*" >> "$CALLS"; cat go.mod > /dev/null || exit 9; echo main >&2
  while [ "$1" != -o ]; do shift; done
  for name in etcd kube-apiserver kube-controller-manager kube-scheduler kwok; do
    printf '#!/bin/sh\\n' > "$2$name"; chmod +x "$2$name"
  done ;;
esac
"""


def go(folder: Path, script: str = GO) -> Go:
    path = folder / "go"
    path.write_text("#!/bin/sh\n" + script, encoding="utf-8")
    path.chmod(0o755)
    return Go(path, (1, 26), "test")


def environment(tmp_path: Path) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "XDG_CACHE_HOME": str(tmp_path / "cache"), "CALLS": str(tmp_path / "calls")}


def kept(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "cache" / "gpusched" / "bin").iterdir())


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_linker_stamps_the_version_that_clients_parse(version):
    stamp = "k8s.io/component-base/version.git"

    assert kubernetes(version).link.startswith(f"-s -w -X {stamp}Version=v{version.release} -X {stamp}Major=1 ")
    assert f"{stamp}Minor={version.name.removeprefix('1.')} " in kubernetes(version).link


def test_every_version_has_a_place_of_its_own_in_the_cache():
    keys = {kwok().key, *(kubernetes(version).key for version in VERSIONS)}

    assert len(keys) == len(VERSIONS) + 1


def test_changed_module_file_is_another_place_in_the_cache(tmp_path):
    changed = tmp_path / "kwok.mod"
    changed.write_text("module other\n", encoding="utf-8")
    recipe = builder.msgspec.structs.replace(kwok(), module=changed)

    assert recipe.key != kwok().key


def test_tags_reach_go_and_are_another_place_in_the_cache(tmp_path):
    recipe = builder.msgspec.structs.replace(kwok(), tags="without_clouds")

    build(recipe, go(tmp_path), lambda _line: None, environment(tmp_path))

    assert " -tags without_clouds " in (tmp_path / "calls").read_text(encoding="utf-8")
    assert recipe.key != kwok().key


def test_environment_of_go_keeps_proxies_and_drops_what_changes_the_build(tmp_path):
    given = {"PATH": "/bin", "GOPROXY": "off", "GOFLAGS": "-mod=vendor", "GOOS": "plan9", "GOROOT": "/x", "HOME": "/h"}

    assert go_environment(Go(tmp_path / "go", (1, 26), "test"), given) == {
        "PATH": f"{tmp_path}:/bin",
        "GOPROXY": "off",
        "HOME": "/h",
        "CGO_ENABLED": "0",
        "GOFLAGS": "-mod=readonly -buildvcs=false",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }


@pytest.mark.parametrize("recipe", [kubernetes(select("1.37", {})), kwok()], ids=lambda recipe: recipe.name)
def test_built_once_and_found_from_then_on(tmp_path, recipe):
    said: list[str] = []
    assert cached(recipe, environment(tmp_path)) is None

    first = build(recipe, go(tmp_path), said.append, environment(tmp_path))
    second = build(recipe, go(tmp_path), said.append, environment(tmp_path))

    assert first == second == cached(recipe, environment(tmp_path))
    assert len((tmp_path / "calls").read_text(encoding="utf-8").splitlines()) == 1
    assert kept(tmp_path) == [recipe.key, f"{recipe.key}.lock"]
    assert said[-1].startswith(f"{recipe.name} {recipe.release}: built (")


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo go: no such module >&2; exit 1", "go list of kwok 0.8.0 ended with status 1:\ngo: no such module"),
        (
            "[ $1 = list ] && exit 0; echo write /x: no space left on device >&2; exit 1",
            "go build of kwok 0.8.0 ended with status 1:\nwrite /x: no space left on device\nThe disk is full.",
        ),
    ],
)
def test_failed_build_says_why_and_leaves_nothing(tmp_path, script, message):
    with pytest.raises(BuildError) as caught:
        build(kwok(), go(tmp_path, script), lambda _line: None, environment(tmp_path))

    assert str(caught.value) == message
    assert kept(tmp_path) == [f"{kwok().key}.lock"]


def test_interrupted_build_leaves_nothing(tmp_path):
    def interrupt(_line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(kwok(), go(tmp_path, "sleep 100"), interrupt, environment(tmp_path))

    assert kept(tmp_path) == [f"{kwok().key}.lock"]


def test_go_works_in_the_folder_that_goes_with_the_build(tmp_path):
    with pytest.raises(BuildError) as caught:
        build(kwok(), go(tmp_path, 'echo "in $GOTMPDIR" >&2; exit 1'), lambda _line: None, environment(tmp_path))

    working = Path(str(caught.value).splitlines()[-1].removeprefix("in "))
    assert working.parent == tmp_path / "cache" / "gpusched" / "bin"
    assert not working.exists()


def test_remains_of_an_incomplete_folder_are_replaced(tmp_path):
    folder = tmp_path / "cache" / "gpusched" / "bin" / kwok().key
    folder.mkdir(parents=True)
    (folder / "readme").touch()

    build(kwok(), go(tmp_path), lambda _line: None, environment(tmp_path))

    assert (folder / "kwok").exists()
    assert not (folder / "readme").exists()


def test_second_builder_waits_for_the_first_and_takes_what_it_made(tmp_path):
    home = tmp_path / "cache" / "gpusched" / "bin"
    home.mkdir(parents=True)
    lock = home / f"{kwok().key}.lock"
    target = home / kwok().key
    other = (
        "import fcntl, pathlib, sys\nfile = open(sys.argv[1], 'a')\nfcntl.flock(file, fcntl.LOCK_EX)\n"
        "print('held', flush=True)\nsys.stdin.read()\ntarget = pathlib.Path(sys.argv[2])\n"
        "target.mkdir()\n(target / 'kwok').touch()\n"
    )
    said: list[str] = []
    command = [sys.executable, "-c", other, str(lock), str(target)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout.readline() == "held\n"

        def waiting(line: str) -> None:
            said.append(line)
            first.stdin.close()

        folder = build(kwok(), go(tmp_path, "exit 1"), waiting, environment(tmp_path))

    assert folder == target
    assert said == ["waiting for another build of kwok"]


def test_little_room_is_told_before_it_runs_out(tmp_path, monkeypatch):
    usage = builder.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(builder.shutil, "disk_usage", lambda _path: usage._replace(free=2**20))
    said: list[str] = []

    build(kwok(), go(tmp_path), said.append, environment(tmp_path))

    assert said[0].startswith("little room in ")
