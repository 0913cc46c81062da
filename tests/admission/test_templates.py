from typing import Any

import pytest

from gpusched.admission.templates import Template, kind_of, templates_of, unknown_templates
from gpusched.core.fault import Fault
from gpusched.core.resources import GpuResources
from tests.admission.workload_trees import POD, workload


@pytest.mark.parametrize(
    "tree",
    [
        workload("v1", "Service"),
        workload("v1", "ConfigMap"),
        workload("example.com/v1", "Deployment", template=POD),
        {"kind": 5, "apiVersion": ["v1"]},
        {},
    ],
)
def test_unknown_kinds_are_none(tree: dict[str, Any]) -> None:
    assert templates_of(tree, []) is None


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ({"apiVersion": "apps/v1", "kind": "Deployment"}, ("apps", "Deployment")),
        ({"apiVersion": "v1", "kind": "Pod"}, ("", "Pod")),
        ({"apiVersion": None}, ("", "")),
    ],
)
def test_kind_of(tree: dict[str, Any], expected: tuple[str, str]) -> None:
    assert kind_of(tree) == expected


def test_a_template_is_the_mapping_as_it_stands() -> None:
    tree = workload("apps/v1", "Deployment", replicas=2, template=POD)
    assert templates_of(tree, []) == (Template("spec.template", POD, 2, ""),)


@pytest.mark.parametrize(
    ("tree", "faults"),
    [
        (
            workload("apps/v1", "Deployment", replicas="three", template=POD),
            [Fault("spec.replicas", 'must be a whole number, not the string "three": write it without quotes')],
        ),
        (
            workload("apps/v1", "Deployment", replicas=-1, template=POD),
            [Fault("spec.replicas", "must not be negative: write 0 or more, not -1")],
        ),
        (
            workload("batch.volcano.sh/v1alpha1", "Job", tasks={"name": "a"}),
            [Fault("spec.tasks", 'must be a list, not a mapping: start every item with "- "')],
        ),
        (
            workload("kubeflow.org/v1", "TFJob", tfReplicaSpecs=["a"]),
            [Fault("spec.tfReplicaSpecs", 'must be a mapping, not a list: write "key: value" lines')],
        ),
        (
            {"apiVersion": "batch/v1", "kind": "Job", "spec": "text"},
            [Fault("spec", 'must be a mapping, not a string: write "key: value" lines')],
        ),
        ({"apiVersion": "batch/v1", "kind": "Job"}, []),
        (workload("argoproj.io/v1alpha1", "Workflow", templates=[None, {}]), []),
        (workload("serving.kserve.io/v1beta1", "InferenceService", predictor=None), []),
    ],
)
def test_bad_shapes_are_faults_and_never_crash(tree: dict[str, Any], faults: list[Fault]) -> None:
    collected: list[Fault] = []
    templates_of(tree, collected)
    assert collected == faults


def only(tree: dict[str, Any]) -> Template:
    templates = templates_of(tree, []) or ()
    assert len(templates) == 1
    return templates[0]


GPU = {"limits": {"nvidia.com/gpu": 1}}


def test_a_kserve_model_becomes_the_container_kserve_makes_of_it() -> None:
    tree = workload(
        "serving.kserve.io/v1beta1",
        "InferenceService",
        predictor={
            "nodeSelector": {"a": "b"},
            "annotations": {"gpusched.io/gpu-memory": "6Gi"},
            "model": {"modelFormat": {"name": "huggingface"}, "resources": GPU},
        },
    )
    tree["metadata"]["annotations"] = {"gpusched.io/families": "hopper"}
    assert only(tree).tree == {
        "metadata": {
            "labels": {},
            "annotations": {"gpusched.io/families": "hopper", "gpusched.io/gpu-memory": "6Gi"},
        },
        "spec": {
            "nodeSelector": {"a": "b"},
            "annotations": {"gpusched.io/gpu-memory": "6Gi"},
            "containers": [{"name": "kserve-container", "resources": GPU}],
        },
    }


def test_an_argo_template_takes_what_it_lacks_from_the_workflow() -> None:
    tree = workload(
        "argoproj.io/v1alpha1",
        "Workflow",
        nodeSelector={"pool": "gpu"},
        schedulerName="volcano",
        podMetadata={"annotations": {"gpusched.io/families": "hopper"}},
        templates=[
            {
                "name": "train",
                "schedulerName": "default-scheduler",
                "metadata": {"annotations": {"gpusched.io/gpu-memory": "6Gi"}},
                "container": {"image": "x", "resources": GPU, "command": ["run"]},
                "sidecars": [{"name": "log"}],
                "initContainers": [{"name": "warm", "resources": GPU}],
            }
        ],
    )
    template = only(tree)
    assert template.note == "counted once: steps may run it more often"
    assert template.tree == {
        "metadata": {
            "labels": {},
            "annotations": {"gpusched.io/families": "hopper", "gpusched.io/gpu-memory": "6Gi"},
        },
        "spec": {
            "nodeSelector": {"pool": "gpu"},
            "schedulerName": "default-scheduler",
            "containers": [{"name": "main", "image": "x", "resources": GPU}, {"name": "log"}],
            "initContainers": [{"name": "warm", "resources": GPU}],
        },
    }


def test_a_train_job_reports_the_resources_of_a_node_and_its_overrides() -> None:
    tree = workload(
        "trainer.kubeflow.org/v1alpha1",
        "TrainJob",
        trainer={"numNodes": 2, "resourcesPerNode": GPU},
        podTemplateOverrides=[
            {"targetJobs": [{"name": "launcher"}], "spec": {"nodeSelector": {"x": "y"}}},
            {
                "targetJobs": [{"name": "node"}],
                "metadata": {"annotations": {"gpusched.io/families": "hopper"}},
                "spec": {"tolerations": [{"operator": "Exists"}], "serviceAccountName": "x"},
            },
        ],
    )
    assert only(tree) == Template(
        "spec.trainer",
        {
            "metadata": {"annotations": {"gpusched.io/families": "hopper"}},
            "spec": {"tolerations": [{"operator": "Exists"}], "containers": [{"name": "node", "resources": GPU}]},
        },
        2,
        "node",
        "the rest of the pod comes from the training runtime",
    )


def test_a_notebooks_own_annotations_reach_its_pod() -> None:
    tree = workload("kubeflow.org/v1", "Notebook", template=POD)
    tree["metadata"]["annotations"] = {
        "gpusched.io/gpu-memory": "6Gi",
        "notebooks.kubeflow.org/last-activity": "x",
        "kubectl.kubernetes.io/last-applied-configuration": "x",
    }
    assert only(tree).tree == {
        "metadata": {"labels": {"a": "b"}, "annotations": {"gpusched.io/gpu-memory": "6Gi"}},
        "spec": POD["spec"],
    }


def test_volcano_tasks_have_its_scheduler() -> None:
    tree = workload("batch.volcano.sh/v1alpha1", "Job", tasks=[{"template": POD}])
    assert only(tree).tree["spec"] == {"schedulerName": "volcano", "containers": [{"name": "main"}]}
    tree["spec"]["schedulerName"] = "default-scheduler"
    assert only(tree).tree["spec"] == {"schedulerName": "default-scheduler", "containers": [{"name": "main"}]}


def test_gpu_containers_of_unknown_kinds_are_found_by_shape() -> None:
    tree = workload(
        "example.com/v1",
        "Trainer",
        worker={"template": {"spec": {"containers": [{"resources": {"limits": {"cpu": 1}}}, {"resources": GPU}]}}},
        zero={"resources": {"limits": {"nvidia.com/gpu": 0}}},
        other={"resources": {"requests": {"nvidia.com/gpumem": 1}}, "strange": {"resources": ["x"]}},
    )
    assert unknown_templates(tree, GpuResources()) == ("spec.worker.template.spec.containers[1]",)


def test_deep_documents_do_not_exhaust_the_stack() -> None:
    tree: dict[str, Any] = {"resources": GPU}
    for _ in range(5000):
        tree = {"a": tree}
    assert len(unknown_templates(tree, GpuResources())) == 1
