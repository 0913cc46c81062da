"""The container image, as far as it can be judged without building it."""

import json
import re
import tomllib

import yaml

from gpusched import __version__
from tests.manifests.dockerfile import ROOT, instructions, words_of


def build_only() -> set[str]:
    """Packages of the lock file that nothing but the build of the wheel asks for."""
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    wanted_by: dict[str, set[str]] = {}
    for block in re.split(r"^(?=\w)", text, flags=re.MULTILINE):
        name = re.match(r"[\w.-]+", block)
        reasons = block.partition("# via")[2].replace("#", " ").replace(" (", "(")
        if name:
            wanted_by[name[0]] = set(reasons.split())
    found = {name for name, reasons in wanted_by.items() if reasons == {"gpusched(pyproject.toml:build)"}}
    while more := {name for name, reasons in wanted_by.items() if reasons <= found} - found:
        found |= more
    return found


def test_the_base_is_one_exact_release_of_the_oldest_supported_python():
    (argument,) = words_of("ARG")
    oldest = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"]

    assert re.fullmatch(rf"PYTHON=python:{oldest.removeprefix('>=')}\.\d+-slim-\w+", argument)
    assert words_of("FROM") == ["${PYTHON} AS build", "${PYTHON}"]


def test_everything_that_is_copied_is_there_and_not_ignored():
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    sources = [source for words in words_of("COPY") if "--from" not in words for source in words.split()[:-1]]

    assert sources
    assert all((ROOT / source).exists() for source in sources)
    assert [line.removeprefix("!") for line in ignored if line.startswith("!")] == sources
    assert ignored[1] == "*"


def test_the_wheel_finds_its_sources_in_the_image():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {*wheel["packages"], *wheel["force-include"], project["project"]["readme"], "LICENSE"}
    copied = {source for words in words_of("COPY") for source in words.split()[:-1]}

    assert needed <= copied


def test_packages_come_from_the_lock_file_and_are_checked_against_it():
    (install, ours, removal) = (words for words in words_of("RUN") if " -m pip " in words)

    assert "--require-hashes -r requirements.txt" in install
    assert "--no-deps --no-build-isolation ." in ours
    assert set(removal.partition("--yes ")[2].split()) == build_only()
    assert {"hatchling", "editables"} <= build_only()


def test_it_runs_gpusched_as_the_user_of_the_deployment():
    final = instructions()[-7:]
    (pod,) = (
        tree["spec"]["template"]["spec"]
        for tree in yaml.safe_load_all((ROOT / "manifests/base/deployment.yaml").read_text(encoding="utf-8"))
    )
    container, security = pod["containers"][0], pod["securityContext"]

    assert [found.name for found in final] == ["ENV", "COPY", "USER", "WORKDIR", "EXPOSE", "ENTRYPOINT", "CMD"]
    assert words_of("USER") == [f"{security['runAsUser']}:{security['runAsGroup']}"]
    assert [int(port) for port in words_of("EXPOSE")[0].split()] == [
        port["containerPort"] for port in container["ports"]
    ]
    assert json.loads(words_of("ENTRYPOINT")[0]) == ["gpusched"]
    assert container["args"][0] == json.loads(words_of("CMD")[0])[0] == "serve"
    assert "command" not in container


def test_the_manifests_name_this_version():
    (pod,) = (
        tree["spec"]["template"]["spec"]
        for tree in yaml.safe_load_all((ROOT / "manifests/base/deployment.yaml").read_text(encoding="utf-8"))
    )

    assert pod["containers"][0]["image"] == f"gpusched:{__version__}"
