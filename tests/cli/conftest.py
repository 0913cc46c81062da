from pathlib import Path

import pytest

from tests.cli.commands import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A folder for the input files of one test."""
    return Folder(tmp_path)
