import sys

import pytest

from gpusched.cli.completion import kubectl_complete
from tests.cli.commands import run


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell):
    ran = run("completion", shell)

    assert (ran.code, ran.err) == (0, "")
    assert f"_GPUSCHED_COMPLETE={shell}_complete" in ran.out


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["no"], ["nodes"]),
        (["nodes", "--by", "n"], ["node", "namespace"]),
        (["explain", "-o", "j"], ["json"]),
        (["why", "--kube"], ["--kubeconfig"]),
        (["explain", "memory"], ["memory", "memory-claim"]),
        (["explain", "gpuq"], ["GPUQuotaWait"]),
    ],
)
def test_words_for_kubectl(words, found, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["kubectl_complete-gpusched", *words])
    kubectl_complete()

    assert capsys.readouterr().out.splitlines() == [*found, ":4"]
