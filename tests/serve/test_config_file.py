"""A configuration that changes under a running service."""

import io
from collections.abc import Sequence
from pathlib import Path

import pytest

from gpusched.obs.logging import configure
from gpusched.obs.metrics import Metrics
from gpusched.policy.model import Config
from gpusched.serve.config_file import ConfigFile


class Watched:
    def __init__(self, path: Path) -> None:
        self.metrics = Metrics()
        self.output = io.StringIO()
        self.errors: Sequence[str] = ()
        self.file = ConfigFile(path, self._load, self.metrics, configure(stream=self.output))
        self.told: list[Sequence[str]] = []
        self.file.on_bad.append(self.told.append)

    def _load(self, path: Path) -> tuple[Config, Sequence[str]]:
        return Config(weight=int(path.read_text()) if path.exists() else 1), self.errors

    @property
    def valid(self) -> float | None:
        return self.metrics.registry.get_sample_value("gpusched_config_valid")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Mounted as the kubelet does: a link to a link, of which the inner one is swapped."""
    _swap(tmp_path, "first", "10")
    (tmp_path / "config.yaml").symlink_to(Path("data") / "config.yaml")
    return tmp_path / "config.yaml"


def _swap(directory: Path, version: str, text: str) -> None:
    (directory / version).mkdir()
    (directory / version / "config.yaml").write_text(text)
    (directory / "new").symlink_to(version)
    (directory / "new").replace(directory / "data")


def test_a_file_that_stays_is_not_read_again(path: Path) -> None:
    watched = Watched(path)

    assert (watched.file.changed(), watched.valid) == (None, 1)


def test_a_swapped_file_is_taken_over_once(path: Path) -> None:
    watched = Watched(path)
    _swap(path.parent, "second", "20")

    assert watched.file.changed() == Config(weight=20)
    assert watched.file.changed() is None


def test_a_bad_file_is_reported_and_not_used(path: Path) -> None:
    watched = Watched(path)
    watched.errors = ["config.yaml, document 1: weight: must be a number"]
    _swap(path.parent, "second", "20")

    assert (watched.file.changed(), watched.valid) == (None, 0)
    assert "must be a number" in watched.output.getvalue()
    assert watched.told == [["config.yaml, document 1: weight: must be a number"]]
    assert watched.file.lines() == [
        "configuration: the former one, for the file has errors",
        "  config.yaml, document 1: weight: must be a number",
    ]

    watched.errors = ()
    _swap(path.parent, "third", "30")
    assert (watched.file.changed(), watched.valid) == (Config(weight=30), 1)
    assert watched.file.lines() == [f"configuration: as in {path}"]
    assert len(watched.told) == 1


def test_a_file_that_vanishes_and_comes_back(path: Path) -> None:
    watched = Watched(path)
    watched.errors = ["no such file"]
    path.unlink()
    assert (watched.file.changed(), watched.valid) == (None, 0)

    watched.errors = ()
    path.write_text("40")
    assert (watched.file.changed(), watched.valid) == (Config(weight=40), 1)
