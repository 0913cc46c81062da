"""Starts that fail and what they leave, with a control plane that only takes notes; the real one is in tests/e2e."""

from pathlib import Path

import pytest

from gpusched.local.api import Response
from gpusched.local.errors import LocalError, StartError
from gpusched.local.kubelet import Grant, Kubelet, Order
from gpusched.local.kubelet_programs import NAMES


class Notes:
    """A control plane on which nothing gets ready."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.spawned: dict[str, list[str]] = {}
        self.stopped: list[str] = []
        self.requests: list[tuple[str, str]] = []

    def spawn(self, name: str, command: list[str]) -> None:
        self.spawned[name] = command

    def stop(self, name: str) -> None:
        self.stopped.append(name)

    def request(self, method: str, path: str) -> Response:
        self.requests.append((method, path))
        return Response(404, {})

    def wait_until(self, _holds, seconds: float, what: str) -> None:
        raise LocalError(f"{what}: not within {seconds:g} seconds")


@pytest.fixture
def notes(tmp_path):
    return Notes(tmp_path)


def programs(folder: Path = Path("/opt")) -> dict[str, Path]:
    return {name: folder / name for name in NAMES}


def script(folder: Path, text: str) -> Path:
    path = folder / "script"
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_start_that_fails_leaves_nothing(notes, monkeypatch):
    monkeypatch.setattr("gpusched.local.kubelet._SOCKET_BYTES", 1000)

    with pytest.raises(LocalError, match=r"^fake-cri ready: not within 60 seconds$"):
        Kubelet(notes, programs(), "n1").__enter__()

    assert list(notes.spawned) == ["n1-fake-cri"]
    assert notes.stopped == ["n1-gpu-plugin", "n1-kubelet", "n1-fake-cri"]
    assert notes.requests == [("DELETE", "/api/v1/nodes/n1")]
    assert list(notes.folder.iterdir()) == []


def test_second_node_of_a_name_does_not_take_the_folder_of_the_first(notes, monkeypatch):
    monkeypatch.setattr("gpusched.local.kubelet._SOCKET_BYTES", 1000)
    (notes.folder / "n1").mkdir()

    with pytest.raises(FileExistsError):
        Kubelet(notes, programs(), "n1").__enter__()

    assert (notes.folder / "n1").exists()
    assert notes.stopped == []


@pytest.mark.parametrize(
    ("folder", "where", "message"),
    [
        ("/run/x", "/var/lib/gpusched", "/var/lib/gpusched/fake-cri may not be there"),
        ("/var/log/x", "/opt", "/var/log/x/n1 may not be there"),
        ("/run/" + "x" * 80, "/opt", f"/run/{'x' * 80}/n1 is too long a path for the sockets in it"),
    ],
)
def test_places_that_do_not_work_are_refused_before_anything_starts(folder, where, message):
    notes = Notes(Path(folder))

    with pytest.raises(StartError) as caught:
        Kubelet(notes, programs(Path(where)), "n1").__enter__()

    assert message in str(caught.value)
    assert notes.spawned == {}


def test_devices_are_those_of_the_namespace_and_of_the_resource(notes):
    answer = """
    {"podResources": [
      {"name": "b", "namespace": "ours", "containers": [{"name": "c", "devices": [
        {"resourceName": "nvidia.com/gpu", "deviceIds": ["GPU-1::3"]},
        {"resourceName": "nvidia.com/gpu", "deviceIds": ["GPU-0::1"]},
        {"resourceName": "example.com/other", "deviceIds": ["other"]}]}]},
      {"name": "a", "namespace": "ours", "containers": [{"name": "c"}, {"name": "d", "devices": [
        {"resourceName": "nvidia.com/gpu", "deviceIds": ["GPU-0::0"]}]}]},
      {"name": "a", "namespace": "theirs", "containers": [{"name": "c", "devices": [
        {"resourceName": "nvidia.com/gpu", "deviceIds": ["GPU-0::2"]}]}]}]}
    """
    reader = script(notes.folder, f"cat <<'END'\n{answer}\nEND")
    node = Kubelet(notes, {**programs(), "pod-resources": reader}, "n1")

    assert node.grants("ours") == [Grant("a", "d", ("GPU-0::0",)), Grant("b", "c", ("GPU-0::1", "GPU-1::3"))]
    assert node.grants("none") == []


def test_kubelet_that_does_not_answer_is_named(notes):
    reader = script(notes.folder, "echo pod-resources: no such socket >&2; exit 1")
    node = Kubelet(notes, {**programs(), "pod-resources": reader}, "n1")

    with pytest.raises(LocalError, match=r"^podresources of n1: pod-resources: no such socket$"):
        node.grants("ours")


def test_journal_of_the_runtime_is_read_by_namespace(notes):
    (notes.folder / "n1").mkdir()
    (notes.folder / "n1" / "orders.jsonl").write_text(
        '{"pod":"a","namespace":"ours","handler":"nvidia"}\n{"pod":"b","namespace":"theirs"}\n'
        '{"pod":"a","namespace":"ours","container":"c","env":{"X":"1"}}\n',
        encoding="utf-8",
    )

    assert Kubelet(notes, programs(), "n1").orders("ours") == [
        Order("ours", "a", handler="nvidia"),
        Order("ours", "a", container="c", env={"X": "1"}),
    ]


def test_health_is_replaced_at_once(notes):
    (notes.folder / "n1").mkdir()
    node = Kubelet(notes, programs(), "n1")

    node.set_unhealthy("GPU-0", "GPU-1")
    assert (notes.folder / "n1" / "unhealthy").read_text(encoding="utf-8") == "GPU-0\nGPU-1\n"
    node.set_unhealthy()
    assert [path.name for path in (notes.folder / "n1").iterdir()] == ["unhealthy"]
    assert (notes.folder / "n1" / "unhealthy").read_text(encoding="utf-8") == ""
