"""The commands of the Dockerfile, run here in a folder of their own: the environment they make serves."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gpusched import __version__
from tests.manifests.dockerfile import ROOT, instructions, words_of
from tests.manifests.test_image import build_only

#: Downloads some fifty wheels where no cache has them.
SECONDS = 600


def run(command, folder, **variables):
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": "",
        **variables,
    }
    done = subprocess.run(
        ["/bin/sh", "-ec", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.timeout(SECONDS)
def test_the_environment_of_the_image_runs_gpusched(tmp_path):
    source, target = tmp_path / "src", tmp_path / "gpusched"
    source.mkdir()
    (epoch,) = re.findall(r"SOURCE_DATE_EPOCH=\d+", words_of("ENV")[0])
    for found in instructions():
        if found.name == "COPY" and "--from" not in found.words:
            *copied, place = found.words.split()
            for name in copied:
                copy(ROOT / name, source / place if len(copied) == 1 and place != "./" else source / name)
        elif found.name == "RUN":
            run(found.words.replace("/opt/gpusched", str(target)), source, **dict([epoch.split("=")]))

    shutil.rmtree(source)
    assert "--role [all|webhook|extender]" in run(f"{target}/bin/gpusched serve --help", tmp_path)
    assert run(f"{target}/bin/gpusched --version", tmp_path) == f"gpusched, version {__version__}\n"
    locked = re.findall(r"^([\w.-]+)==", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE)
    there = {name.lower().replace("_", "-") for name in installed(target)}
    assert there == ({name.lower().replace("_", "-") for name in locked} - build_only()) | {"gpusched"}


def copy(source, target):
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copyfile(source, target)


def installed(target):
    return [path.name.split("-")[0] for path in target.glob("lib/python*/site-packages/*.dist-info")]
