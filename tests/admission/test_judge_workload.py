"""Pod templates: refused where they are applied, and left alone where nothing about GPUs changes."""

from copy import deepcopy
from typing import Any

import pytest

from gpusched.admission.judge_workload import Judge, JudgedTemplate, judge_workload, merged
from gpusched.core.cluster_facts import ClusterFacts
from gpusched.policy.model import Config
from tests.admission.judging import RESOURCES, codes, resolver
from tests.build import Tree, container, pod


def _deployment(kind: str = "Deployment", **spec: Any) -> Tree:
    made = pod("p", "team-a", **spec)
    template = {"metadata": {"annotations": {}}, "spec": made["spec"]}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "d", "namespace": "team-a"},
        "spec": {"replicas": 2, "template": template},
    }


def _judged(tree: Tree, old: Tree | None = None, **policy: str) -> tuple[JudgedTemplate, ...]:
    config = Config()
    named = {key.replace("_", "-"): value for key, value in policy.items()}
    judge = Judge("team-a", ClusterFacts(), config, RESOURCES, resolver(named, config, "team-a"))
    return judge_workload(tree, old, judge)


def _codes(tree: Tree, old: Tree | None = None, **policy: str) -> tuple[list[str], list[str]]:
    return codes(merged(_judged(tree, old, **policy)))


def test_a_template_is_judged_when_created() -> None:
    (entry,) = _judged(_deployment(gpus=8), max_gpus_per_pod="4")
    assert entry.template.path == "spec.template"
    assert entry.admission.message == "pod asks 8 GPUs; team-a allows 4 per pod. Ask for 4."
    assert entry.admission.patch == ()


@pytest.mark.parametrize("tree", [{"kind": "ConfigMap", "apiVersion": "v1"}, {}, {"kind": 3, "apiVersion": []}])
def test_other_kinds_have_no_templates(tree: Tree) -> None:
    assert _judged(tree) == ()


def test_unchanged_gpu_parts_pass_whatever_the_policy() -> None:
    old = _deployment(gpus=8)
    new = deepcopy(old)
    new["spec"]["replicas"] = 5
    new["spec"]["template"]["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"] = "now"
    new["spec"]["template"]["spec"]["containers"][0]["image"] = "other"
    new["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"] = "4"
    new["metadata"]["finalizers"] = []
    assert _judged(new, old, max_gpus_per_pod="4") == ()


def _with_annotation(tree: Tree) -> None:
    tree["spec"]["template"]["metadata"]["annotations"]["gpusched.io/families"] = "hopper"


def _with_node_name(tree: Tree) -> None:
    tree["spec"]["template"]["spec"]["nodeName"] = "n"


def _with_selector(tree: Tree) -> None:
    tree["spec"]["template"]["spec"]["nodeSelector"] = {"nvidia.com/gpu.product": "Tesla-T4"}


def _with_variable(tree: Tree) -> None:
    tree["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]


def _with_misspelling(tree: Tree) -> None:
    tree["spec"]["template"]["spec"]["containers"].append(container("x", gpus=1, resource="gpu"))


@pytest.mark.parametrize(
    "change", [_with_annotation, _with_node_name, _with_selector, _with_variable, _with_misspelling]
)
def test_changed_gpu_parts_are_judged(change: Any) -> None:
    old = _deployment(gpus=8)
    new = deepcopy(old)
    change(new)
    assert "gpu-policy-max-gpus" in _codes(new, old, max_gpus_per_pod="4")[0]


@pytest.mark.parametrize(("webhook", "count"), [(True, 200), (False, 300)])
def test_the_webhook_judges_so_many_templates_that_others_need_not_wait(webhook: bool, count: int) -> None:
    group = {"template": {"spec": pod(gpus=1)["spec"]}}
    tree = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "spec": {"workerGroupSpecs": [group] * 300}}
    judge = Judge("team-a", ClusterFacts(), Config(), RESOURCES, resolver({}, Config(), "team-a"), webhook=webhook)

    assert len(judge_workload(tree, None, judge)) == count


def test_an_object_that_is_being_deleted_passes() -> None:
    tree = _deployment(gpus=8)
    tree["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z"
    assert _judged(tree, _deployment(gpus=1), max_gpus_per_pod="4") == ()


def test_daemon_sets_may_name_their_node() -> None:
    assert _codes(_deployment("DaemonSet", nodeName="n"), mode="enforce") == ([], [])
    assert _codes(_deployment(nodeName="n"), mode="enforce") == (["gpu-node-name"], [])


def test_templates_are_not_hinted_at_a_limit_range() -> None:
    unequal = {"limits": {"nvidia.com/gpu": 3}, "requests": {"nvidia.com/gpu": 1}}
    tree = _deployment()
    tree["spec"]["template"]["spec"]["containers"] = [container("c", resources=unequal)]
    (entry,) = _judged(tree)
    assert entry.admission.message.endswith("Set both to the same number.")
