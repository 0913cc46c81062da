"""The documentation: pages show what commands print, what they say to write is accepted, and links lead somewhere."""

import re

import pytest
import yaml

from gpusched.core.codes import REASON_TEXT, Code, Reason
from gpusched.doctor.examine import CHECKS
from gpusched.policy.config import parse_config
from gpusched.policy.keys import CLAIM, FACTS, KEYS
from gpusched.serve.telling.told import EventReason
from tests.cli.commands import run
from tests.docs.page import DOCS, ROOT, Block, anchors, blocks, links, pages, read, steps
from tests.docs.shell import Shell, derived

EVERY = [block for path in pages() for block in blocks(path)]
YAML = [block for block in EVERY if block.language == "yaml"]
DERIVED = [block for block in EVERY if block.language == "console" or block.mark.startswith(("file ", "digest "))]
#: Those that need no cluster.
HERE = [block for block in DERIVED if not block.mark.startswith(("live", "run by "))]
CLUSTER = "manifests/samples/cluster.yaml"
HEAD = "apiVersion: gpusched.io/v1alpha1\nkind: Config\n"


def named(block: Block) -> str:
    return block.name


def trees(text: str) -> list[object]:
    return [tree for tree in yaml.safe_load_all(text) if tree is not None]


@pytest.mark.parametrize("block", HERE, ids=named)
def test_blocks_show_what_is_printed(block: Block) -> None:
    assert derived(block, Shell()) == block.text


@pytest.mark.parametrize("block", EVERY, ids=named)
def test_a_block_says_what_it_is(block: Block) -> None:
    assert block.language in {"console", "sh", "yaml"}
    assert block.mark in {"", "live", "config"} or block.mark.startswith(("file ", "digest ", "run by ", "elsewhere: "))
    if block.language == "console":
        assert steps(block) != []


@pytest.mark.parametrize("block", YAML, ids=named)
def test_yaml_can_be_read(block: Block) -> None:
    assert trees(block.text) != []


@pytest.mark.parametrize("block", [block for block in YAML if block.mark == "config"], ids=named)
def test_fragments_of_the_configuration_are_valid(block: Block) -> None:
    (tree,) = trees(HEAD + block.text)

    assert parse_config(tree)[1] == ()


@pytest.mark.parametrize("path", sorted((DOCS / "examples").rglob("*.yaml")), ids=lambda path: path.stem)
def test_examples_are_judged_as_the_pages_say(path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An example can be read, and what is in it is refused only where a page shows that."""
    monkeypatch.chdir(ROOT)
    name = path.relative_to(ROOT)
    shown = [block.text for block in EVERY if block.language == "console" and str(name) in block.text]
    if any(f"--cluster {name}" in text for text in shown):
        ran = run("nodes", "--cluster", name)
        assert (ran.code, ran.errors) == (0, [])
        return
    whole = any(isinstance(tree, dict) and tree["kind"] == "Config" for tree in trees(read(path)))
    ran = run("config", "check", name) if whole else run("check", "-f", name, "--cluster", CLUSTER)
    if ran.code:
        assert any(word in text for text in shown for word in ("refused", "REFUSED", "error: "))
    assert shown or any(block.mark == f"file {path.relative_to(DOCS)}" for block in EVERY)


@pytest.mark.parametrize("path", [*pages(), *sorted(ROOT.glob("*.md"))], ids=lambda path: path.name)
def test_links_lead_somewhere(path) -> None:
    dead = []
    for target in links(path):
        place, _, fragment = target.partition("#")
        if "://" in target:
            continue
        found = path.parent / place if place else path
        if not found.exists() or (fragment and fragment not in anchors(found)):
            dead.append(target)

    assert dead == []


def test_examples_of_every_policy_key_pass_and_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    headings = anchors(DOCS / "policy.md")

    assert {*KEYS, CLAIM, FACTS} - headings == set()
    for key in (*KEYS, CLAIM):
        found = run("simulate", "-f", f"docs/examples/policy/{key}.yaml", "--cluster", CLUSTER, "-o", "json").json[
            "pods"
        ]
        placed = [view["placement"] is not None for view in found]
        assert True in placed, key
        assert False in placed, key


def test_every_code_has_its_section(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the text of `explain`, and an example in which it is met, but for what only the extender says."""
    monkeypatch.chdir(ROOT)
    page = DOCS / "codes.md"
    sections = dict(re.findall(r"^### (\S+)\n(.*?)(?=^##|\Z)", read(page), re.MULTILINE | re.DOTALL))

    assert list(sections) == [*map(str, Code), *map(str, Reason)]
    for code, section in sections.items():
        assert f"$ gpusched explain {code}\n" in section
        if code != Reason.FREE_REPLICAS:
            _, _, met = section.partition(f"docs/examples/codes/{code}.yaml")
            assert re.search(rf"(^|[ ]){code}[: ]", met, re.MULTILINE), code


def test_texts_of_events_are_those_of_the_extender() -> None:
    shown = dict(re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", read(DOCS / "codes.md"), re.MULTILINE))

    assert shown == {str(code): text for code, text in REASON_TEXT.items() if not code.startswith("native-")}


def test_every_check_of_doctor_is_listed() -> None:
    listed = re.findall(
        r"^\| `([a-z-]+)` \| (\w+) \| (.+?) \| (yes)? ?\|$", read(DOCS / "troubleshooting.md"), re.MULTILINE
    )

    assert listed == [(check.name, check.severity, check.title, "yes" if check.live else "") for check in CHECKS]


def test_every_field_of_the_configuration_has_its_section() -> None:
    sections = set(re.findall(r"^## ([a-z]\w+(?:\.\w+)?)$", read(DOCS / "configuration.md"), re.MULTILINE))
    whole = yaml.safe_load(read(DOCS / "examples" / "config.yaml"))
    nested = {"lowering", "claims", "sharing", "extender", "labels"}
    fields = {f"{key}.{name}" for key in nested for name in whole[key]} | (whole.keys() - nested)
    known = re.findall(
        r"known keys: (.+)$", run("config", "check", "-", stdin=HEAD + "zzzzzzzz: 1\n").err, re.MULTILINE
    )

    assert sections == fields - {"apiVersion", "kind"}
    assert [set(found.split(", ")) for found in known] == [set(whole)]


def test_every_event_is_listed() -> None:
    listed = re.findall(r"^\| `(GPU\w+)` \|", read(DOCS / "troubleshooting.md"), re.MULTILINE)

    assert listed == [str(reason) for reason in EventReason]


def test_what_is_quoted_of_the_product_is_in_its_source() -> None:
    """Metrics, and the texts by which the extender says in events why it does not answer."""
    source = "".join(read(path) for folder in ("gpusched", "webhook") for path in (ROOT / folder).rglob("*.py"))
    text = "".join(read(path) for path in pages())
    metrics = {name.removesuffix("_total") for name in re.findall(r"`(gpusched_[a-z_]+)", text)}
    told = {
        part
        for found in re.findall(r"^\| `(gpusched: .+?|node is .+?)` \|", text, re.MULTILINE)
        for part in found.split("…")
    }

    assert metrics
    assert told
    assert [name for name in metrics if f'"{name}"' not in source] == []
    assert [part for part in told if part.removeprefix("gpusched: ").split(" 180")[0].strip() not in source] == []
