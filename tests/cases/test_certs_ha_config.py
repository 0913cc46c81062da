"""Installations that stopped a cluster or never worked, as met in public trackers."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gpusched.cli.main import gpusched
from gpusched.core.pool import Sharing
from gpusched.policy.config import parse_config
from tests.build import container, namespace, node, pod, t4_node
from tests.cases.trial import NVIDIA_CLASS, cluster_of, command, configured, review, surveyed


def _extender(*arguments: str) -> Any:
    (stanza,) = command("config", "scheduler", "-o", "json", *arguments)["extenders"]
    return stanza


@pytest.mark.parametrize("space", ["kube-system", "kube-node-lease", "gpu-operator", "gpusched-system"])
def test_ha_01_pods_of_the_system_are_let_through(space: str) -> None:
    """topolvm/topolvm#57, Project-HAMi/HAMi#83, open-policy-agent/gatekeeper#3183: a webhook that stops the pods
    which it needs itself. Should such a pod reach it all the same, nothing is refused or patched.
    """
    strict = configured(defaultPolicy={"mode": "enforce", "families": "hopper", "max-gpus-per-pod": 0})
    cluster = cluster_of(t4_node(), NVIDIA_CLASS, namespace(space), config=strict)
    for tree in (pod("cni", space, gpus=None), pod("validator", space, nodeName="t4")):
        answer = review(tree, cluster)
        assert (answer.allowed, answer.warnings, answer.patch) == (True, (), ())
    assert not review(pod("p", "team-a"), cluster).allowed


def test_ha_05_pods_without_gpus_never_need_the_extender() -> None:
    """kubernetes/kubernetes#91489, #60616: the extender's own pods waited for the extender."""
    stanza = _extender()
    managed = {item["name"] for item in stanza["managedResources"]}
    assert {"nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915"} <= managed
    assert not managed & {"cpu", "memory", "ephemeral-storage", "pods"}
    assert not any(item["ignoredByScheduler"] for item in stanza["managedResources"])


def test_cf_02_a_time_sliced_node_without_renaming() -> None:
    """rverchere/gpu-k8s-demo: replicas 4 and renameByDefault false in the device plugin's values.

    That file is not read: what it leads to is, amounts and labels of the node.
    """
    (pool,) = surveyed(t4_node(replicas=4)).pools
    assert (pool.resource, pool.sharing, pool.replicas, pool.slots) == ("nvidia.com/gpu", Sharing.TIME_SLICING, 4, 4)


def test_cf_04_an_extender_that_binds_is_never_ignorable() -> None:
    """kubernetes/kubernetes#122494: ignorable does not cover bind. It binds here, so that no slot is promised twice;
    the break-glass form is ignorable and does not bind.
    """
    usual, emergency = _extender(), _extender("--break-glass")
    assert (usual["bindVerb"], usual["ignorable"]) == ("bind", False)
    assert ("bindVerb" in emergency, emergency["ignorable"]) == (False, True)
    assert usual["httpTimeout"] == emergency["httpTimeout"] == "1000ms"


def test_cf_04_a_timeout_of_zero_is_refused() -> None:
    """The same thread: the sample had httpTimeout 0s."""
    tree = {"apiVersion": "gpusched.io/v1alpha1", "kind": "Config", "extender": {"httpTimeout": "0s"}}
    _, faults = parse_config(tree)
    assert [fault.path for fault in faults] == ["extender.httpTimeout"]


def test_cf_04_a_second_extender_that_binds_is_refused(tmp_path: Path) -> None:
    """The same thread: kube-scheduler takes one extender with a bind verb."""
    file = tmp_path / "scheduler.json"
    existing = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [{"urlPrefix": "http://other", "bindVerb": "bind", "ignorable": True, "httpTimeout": "0s"}],
    }
    file.write_text(json.dumps(existing))
    result = CliRunner().invoke(gpusched, ["config", "scheduler", "--merge", str(file)])
    assert result.exit_code == 2
    assert "extender http://other has a bindVerb too" in result.stderr


def test_cf_06_a_configured_name_that_no_node_offers_is_told() -> None:
    """Project-HAMi/HAMi#661, #137: nvidia.com/vgpu was configured, pods and nodes used nvidia.com/gpu.

    Configured names come in addition to the known ones, so pods of both names are judged.
    """
    config = configured(resources=[{"name": "nvidia.com/vgpu", "vendor": "nvidia"}])
    cluster = cluster_of(t4_node(), NVIDIA_CLASS, config=config)
    usual = review(pod(), cluster)
    assert (usual.warnings, len(usual.patch)) == ((), 1)
    absent = review(pod(resource="nvidia.com/vgpu"), cluster)
    assert absent.warnings == ("gpu-no-node: no present node offers nvidia.com/vgpu. Autoscaled nodes may.",)


def test_cf_06_a_name_that_is_not_configured_is_left_alone(tmp_path: Path) -> None:
    """The same threads: it belongs to another device plugin. Once configured, the scheduler must ask the extender."""
    amounts = {"nvidia.com/vgpu": "4"}
    cluster = cluster_of(node("n", allocatable=amounts), NVIDIA_CLASS)
    answer = review(pod("p", "team-a", container(gpus=1, resource="nvidia.com/vgpu")), cluster)
    assert (answer.allowed, answer.warnings, answer.patch) == (True, (), ())
    file = tmp_path / "config.yaml"
    resources = "resources: [{name: nvidia.com/vgpu, vendor: nvidia}]"
    file.write_text(f"apiVersion: gpusched.io/v1alpha1\nkind: Config\n{resources}\n")
    managed = {item["name"] for item in _extender("--config", str(file))["managedResources"]}
    assert {"nvidia.com/vgpu", "nvidia.com/gpu"} <= managed
    assert "nvidia.com/vgpu" not in {item["name"] for item in _extender()["managedResources"]}


@pytest.mark.parametrize("form", [(), ("--break-glass",)])
def test_cf_10_nodes_are_sent_by_name(form: tuple[str, ...]) -> None:
    """kubernetes/kubernetes#141781: without nodeCacheCapable, plugins of some versions see empty nodes."""
    assert _extender(*form)["nodeCacheCapable"] is True
