"""The samples become objects that an API server takes."""

from pathlib import Path

import pytest
import yaml

from gpusched.local import demo as module
from gpusched.local.demo import DemoCluster, read_samples
from gpusched.local.errors import ChildDiedError
from gpusched.local.installed import manifests_folder

SAMPLES = manifests_folder() / "samples"


def test_samples_by_what_they_are_for() -> None:
    samples = read_samples(SAMPLES)

    assert [tree["kind"] for tree in samples.surroundings] == ["RuntimeClass", *["Namespace"] * 4]
    assert {tree["kind"] for tree in samples.nodes} == {"Node"}
    assert len(samples.nodes) == 7
    assert len(samples.workloads) == 10


def test_running_pods_go_the_way_that_all_pods_go() -> None:
    written = [tree for tree in yaml.safe_load_all((SAMPLES / "cluster.yaml").read_text()) if tree["kind"] == "Pod"]

    samples = read_samples(SAMPLES)

    assert len(samples.running) == len(written) == 3
    for tree, before in zip(samples.running, written, strict=True):
        spec = before["spec"]
        assert tree["spec"] == {
            "containers": spec["containers"],
            "nodeSelector": {"kubernetes.io/hostname": spec["nodeName"]},
        }
        own = before["metadata"]["annotations"]
        assert tree["metadata"] == {
            "name": before["metadata"]["name"],
            "namespace": before["metadata"]["namespace"],
            "annotations": {key: value for key, value in own.items() if key == "gpusched.io/gpu-memory"},
        }


def test_a_checkout_has_its_manifests_beside_the_package() -> None:
    assert Path(__file__).parents[2] / "manifests" == manifests_folder()


def service_that_dies(monkeypatch: pytest.MonkeyPatch, log: Path, *messages: str) -> None:
    """Each start but the last ends with one of these messages."""
    left = list(messages)

    class Installed:
        def __init__(self, _plane: object) -> None:
            """Nothing to prepare."""

        def __enter__(self) -> str:
            if not left:
                return "running"
            log.write_text(left.pop(0), encoding="utf-8")
            raise ChildDiedError("gpusched", 2, log, "")

    monkeypatch.setattr(module, "Installed", Installed)


TAKEN = '{"problem": "[Errno 98] Address already in use (while attempting to bind on address)"}'


@pytest.mark.parametrize(
    ("messages", "started"),
    [((), True), ((TAKEN,), True), ((TAKEN,) * 2, True), ((TAKEN,) * 3, False), (("x",), False)],
)
def test_a_taken_port_is_another_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, messages: tuple[str, ...], started: bool
) -> None:
    service_that_dies(monkeypatch, tmp_path / "gpusched.log", *messages)
    told: list[str] = []
    cluster = DemoCluster(None, read_samples(SAMPLES), told.append)
    cluster.plane = None

    if started:
        assert cluster._install() == "running"
        assert len(told) == len(messages)
    else:
        with pytest.raises(ChildDiedError):
            cluster._install()
