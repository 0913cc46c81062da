"""What `check` prints for people."""

from pathlib import Path

import yaml
from click.testing import CliRunner

from gpusched.cli.main import gpusched
from tests.build import Tree, namespace, pod


def text_of(tmp_path: Path, *trees: Tree, cluster: tuple[Tree, ...] = ()) -> str:
    """The table for these manifests."""
    arguments = ["check"]
    for option, objects in (("-f", trees), ("--cluster", cluster)):
        if objects:
            file = tmp_path / f"{option.strip('-')}.yaml"
            file.write_text(yaml.safe_dump_all(objects))
            arguments += [option, str(file)]
    return CliRunner().invoke(gpusched, arguments, catch_exceptions=False).stdout


def test_warnings_follow_their_object(tmp_path: Path) -> None:
    standing = namespace("team-a", famlies="hopper")
    assert text_of(tmp_path, namespace("team-a", famlies="hopper"), pod("p", gpus=-1), cluster=(standing,)) == (
        "NAMESPACE  OBJECT            RESULT   MESSAGE\n"
        "-          namespace/team-a  allowed  -\n"
        "                                      warning policy-malformed: gpusched.io/famlies, which is no\n"
        "                                      known key; write gpusched.io/families\n"
        "team-a     pod/p             refused  gpu-quantity: container main asks nvidia.com/gpu: -1; a number\n"
        "                                      of GPUs cannot be negative. Write 0, 1 or more.\n"
        "\n"
        "2 objects judged, 1 refused\n"
    )
