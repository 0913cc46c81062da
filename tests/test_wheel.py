"""A wheel has everything that an installed gpusched needs."""

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parent.parent
BUILD = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"


def test_a_wheel_runs_the_offline_demo_by_itself(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", BUILD, str(tmp_path)], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    unpacked = tmp_path / "unpacked"
    with ZipFile(wheel) as archive:
        archive.extractall(unpacked)

    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from gpusched.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, str(unpacked), "demo", "--offline"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "-f unpacked/gpusched/_manifests/samples/workloads.yaml" in done.stdout
    assert done.stdout.endswith("16 pods: 11 placed, 3 refused, 1 unschedulable, 1 gated\n")
    for folder in ("local/go", "local"):
        there = {path.name for path in (ROOT / "gpusched" / folder).iterdir() if path.is_file()}
        assert there <= {path.name for path in (unpacked / "gpusched" / folder).iterdir()}
