"""What the documents tell people to type can be typed, and the files they name are there."""

import re
import subprocess

import click
import pytest
import yaml

from gpusched.cli.main import gpusched
from tests.docs import page
from tests.manifests.overlays import MANIFESTS

ROOT = MANIFESTS.parent
DOCUMENTS = page.guides()
SCRIPTS = sorted(MANIFESTS.rglob("*.sh"))


def blocks(path, language):
    return [block.text for block in page.blocks(path, language)]


def name(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if blocks(path, "sh")], ids=name)
def test_commands_are_shell(path):
    for block in blocks(path, "sh"):
        subprocess.run(["/bin/bash", "-n"], input=block, text=True, check=True)


@pytest.mark.parametrize("path", SCRIPTS, ids=name)
def test_scripts_are_shell_and_may_be_run(path):
    subprocess.run(["/bin/bash", "-n", str(path)], check=True)
    assert path.stat().st_mode & 0o111


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if blocks(path, "yaml")], ids=name)
def test_examples_are_yaml(path):
    assert all(tree for block in blocks(path, "yaml") for tree in yaml.safe_load_all(block))


@pytest.mark.parametrize("path", [*DOCUMENTS, *SCRIPTS], ids=name)
def test_files_that_are_named_are_there(path):
    text = path.read_text(encoding="utf-8")
    named = set(re.findall(r"(?<![\w./])manifests/[\w./-]*\w", text))
    linked = {target for target in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in target}

    assert [each for each in sorted(named) if not (ROOT / each).exists()] == []
    assert [each for each in sorted(linked) if not (path.parent / each).exists()] == []


@pytest.mark.parametrize("path", [*DOCUMENTS, *SCRIPTS], ids=name)
def test_commands_of_gpusched_have_the_options_they_are_given(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        text = "\n".join([*blocks(path, "sh"), *re.findall(r"`(gpusched [^`]+)`", text)])
    for line in re.findall(r"^\s*gpusched (\w.*)$", text, re.MULTILINE):
        words = line.split()
        command: click.Command = gpusched
        while isinstance(command, click.Group) and words:
            context = click.Context(command)
            found = command.get_command(context, words.pop(0))
            assert found is not None, line
            command = found
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known, line
