import re

import pytest

from gpusched.local.errors import LocalError
from gpusched.local.toolchain import REQUIREMENT
from gpusched.local.versions import SOURCES, VARIABLE, VERSIONS, select


@pytest.mark.parametrize(
    ("text", "environment", "release"),
    [
        (None, {}, "1.37.2"),
        (None, {VARIABLE: "1.34"}, "1.34.4"),
        ("1.35", {VARIABLE: "1.34"}, "1.35.4"),
        ("v1.35.4", {}, "1.35.4"),
        ("", {VARIABLE: ""}, "1.37.2"),
    ],
)
def test_argument_then_variable_then_newest(text, environment, release):
    assert select(text, environment).release == release


@pytest.mark.parametrize("text", ["1.36", "1.37.1", "latest"])
def test_version_without_pins_is_refused_with_those_that_have_them(text):
    with pytest.raises(LocalError, match=rf"'{text}'.*1\.37 \(1\.37\.2\), 1\.35 \(1\.35\.4\), 1\.34 \(1\.34\.4\)"):
        select(text, {})


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_module_files_pin_exactly_this_release(version):
    module, sums = (path.read_text(encoding="utf-8") for path in version.module_files)
    staging = version.release.replace("1.", "v0.", 1)

    assert f"\tk8s.io/kubernetes v{version.release}\n" in module
    assert set(re.findall(r"^\tk8s\.io/\S+ => k8s\.io/\S+ (\S+)$", module, re.MULTILINE)) == {staging}
    assert f"\ngo {version.go[0]}.{version.go[1]}" in module
    assert f"k8s.io/kubernetes v{version.release} h1:" in sums


def test_module_files_and_toolchain_name_no_host_to_get_them_from():
    texts = [path.read_text(encoding="utf-8") for path in SOURCES.iterdir() if path.suffix in {".mod", ".sum", ".txt"}]

    # `k8s` and `node` of each version, and what is pinned once.
    assert len(texts) == 2 * (2 * len(VERSIONS) + len(("karpenter", "kubectl", "kustomize", "kwok"))) + 1
    assert not any("://" in text for text in texts)
    assert REQUIREMENT.read_text(encoding="utf-8").count("--hash=sha256:") >= 4
