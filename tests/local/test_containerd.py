import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from gpusched.local import containerd
from gpusched.local.containerd import Containerd, archive, missing, printed


def read(content: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(content)) as file:
        return {entry.name: file.extractfile(entry).read() for entry in file}


def test_image_has_the_program_as_its_only_file_under_all_names():
    files = read(archive(b"program", ["a:1", "b:1"]))

    (listed,) = json.loads(files["manifest.json"])
    image = json.loads(files[listed["Config"]])
    assert listed["RepoTags"] == ["a:1", "b:1"]
    assert image["config"] == {"Entrypoint": ["/pause"]}
    assert image["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(files['layer.tar']).hexdigest()}"]
    assert read(files["layer.tar"]) == {"pause": b"program"}


@pytest.mark.parametrize(
    ("user", "absent", "reason"),
    [
        (1000, set(), "containerd needs root"),
        (0, {"runc", "ctr"}, "not on the PATH: ctr, runc"),
        (0, set(), None),
    ],
)
def test_machine_that_has_not_all_says_what_it_lacks(tmp_path, monkeypatch, user, absent, reason):
    hierarchy(tmp_path, monkeypatch)
    monkeypatch.setattr(containerd.shutil, "which", lambda name: None if name in absent else f"/usr/bin/{name}")

    assert missing(user) == reason


def test_machine_without_control_groups_of_version_1_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(containerd, "_CONTROL_GROUPS", tmp_path)

    assert missing(0) == f"no control groups of version 1 in {tmp_path}, the only ones that this was tried with"


def test_group_of_the_node_has_the_processors_of_the_machine(tmp_path, monkeypatch):
    cpuset = hierarchy(tmp_path, monkeypatch)
    (cpuset / "cpuset.cpus").write_text("0-1\n", encoding="utf-8")
    (tmp_path / "n1").mkdir()
    (tmp_path / "pause").touch()
    node = Containerd(tmp_path / "n1", tmp_path / "pause")
    monkeypatch.setattr(containerd.shutil, "which", lambda name: f"/usr/bin/{name}")

    node.write()

    assert (cpuset / node.control_group.lstrip("/") / "cpuset.cpus").read_text(encoding="utf-8") == "0-1\n"


@pytest.mark.parametrize(("last", "variables"), [("", {}), ("PAU", {}), ("PAUSED=yes", {"A": "b=c d", "E": ""})])
def test_variables_are_read_from_the_log_of_a_container_when_all_are_there(tmp_path, last, variables):
    log = tmp_path / "0.log"
    log.write_text("".join(f"2026-01-01T00:00:00Z stdout F {line}\n" for line in ("A=b=c d", "E=", last)), "utf-8")

    assert printed(log) == variables


def hierarchy(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with one control group hierarchy of version 1."""
    monkeypatch.setattr(containerd, "_CONTROL_GROUPS", folder)
    (folder / "cpuset").mkdir()
    (folder / "cpuset" / "release_agent").touch()
    return folder / "cpuset"


def test_containers_of_the_handler_are_those_its_runtime_was_told_to_create(tmp_path):
    node = Containerd(tmp_path, tmp_path / "pause")
    assert node.handled() == set()

    calls = ["--root /r create --bundle /b --pid-file /p first", "--root /r start first", "--root /r kill second 9"]
    (tmp_path / "nvidia-runtime.calls").write_text("".join(f"{call}\n" for call in calls), encoding="utf-8")

    assert node.handled() == {"first"}


def test_control_groups_of_the_node_are_removed_and_others_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(containerd, "_CONTROL_GROUPS", tmp_path)
    node = Containerd(tmp_path / "n1", tmp_path / "pause")
    name = node.control_group.lstrip("/")
    for path in (f"unified/{name}/one", f"memory/{name}/two/inner", "memory/other", "memory/gpusched-other"):
        (tmp_path / path).mkdir(parents=True)

    node.clear()

    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == [
        "memory",
        "memory/gpusched-other",
        "memory/other",
        "unified",
    ]


def test_control_group_in_use_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(containerd, "_CONTROL_GROUPS", tmp_path)
    monkeypatch.setattr(containerd, "_EMPTY_SECONDS", 0.1)
    node = Containerd(tmp_path / "n1", tmp_path / "pause")
    group = tmp_path / "memory" / node.control_group.lstrip("/")
    group.mkdir(parents=True)
    (group / "process").touch()

    with pytest.raises(OSError, match="not empty"):
        node.clear()
