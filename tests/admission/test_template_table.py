from typing import Any

import pytest

from tests.admission.workload_trees import POD, found, workload


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (workload("v1", "Pod", containers=[]), [("", 1, "")]),
        ({"apiVersion": "v1", "kind": "PodTemplate", "template": POD}, [("template", 0, "")]),
        (workload("v1", "ReplicationController", replicas=2, template=POD), [("spec.template", 2, "")]),
        (workload("apps/v1", "ReplicaSet", template=POD), [("spec.template", 1, "")]),
        (workload("apps/v1", "Deployment", replicas=3, template=POD), [("spec.template", 3, "")]),
        (workload("apps/v1", "Deployment", replicas=0, template=POD), [("spec.template", 0, "")]),
        (workload("apps/v1", "Deployment", replicas=None, template=POD), [("spec.template", 1, "")]),
        (workload("apps/v1", "StatefulSet", replicas=3, template=POD), [("spec.template", 3, "")]),
        (workload("apps/v1", "DaemonSet", template=POD), [("spec.template", None, "")]),
        (workload("batch/v1", "Job", template=POD), [("spec.template", 1, "")]),
        (workload("batch/v1", "Job", parallelism=4, template=POD), [("spec.template", 4, "")]),
        (workload("batch/v1", "Job", parallelism=4, completions=2, template=POD), [("spec.template", 2, "")]),
        (workload("batch/v1", "Job", parallelism=4, completions=9, template=POD), [("spec.template", 4, "")]),
        (
            workload("batch/v1", "CronJob", jobTemplate={"spec": {"parallelism": 2, "template": POD}}),
            [("spec.jobTemplate.spec.template", 2, "")],
        ),
        (
            workload(
                "kubeflow.org/v1",
                "PyTorchJob",
                pytorchReplicaSpecs={"Master": {"template": POD}, "Worker": {"replicas": 3, "template": POD}},
            ),
            [
                ("spec.pytorchReplicaSpecs.Master.template", 1, "master"),
                ("spec.pytorchReplicaSpecs.Worker.template", 3, "worker"),
            ],
        ),
        *(
            (
                workload(f"kubeflow.org/{version}", kind, **{field: {"Worker": {"replicas": 2, "template": POD}}}),
                [(f"spec.{field}.Worker.template", 2, "worker")],
            )
            for version, kind, field in [
                ("v1", "TFJob", "tfReplicaSpecs"),
                ("v1", "MPIJob", "mpiReplicaSpecs"),
                ("v2beta1", "MPIJob", "mpiReplicaSpecs"),
                ("v1", "XGBoostJob", "xgbReplicaSpecs"),
                ("v1", "PaddleJob", "paddleReplicaSpecs"),
                ("v1", "JAXJob", "jaxReplicaSpecs"),
            ]
        ),
        (workload("kubeflow.org/v1", "Notebook", template=POD), [("spec.template", 1, "")]),
        (
            workload("trainer.kubeflow.org/v1alpha1", "TrainJob", trainer={"numNodes": 4, "resourcesPerNode": {}}),
            [("spec.trainer", 4, "node")],
        ),
        (workload("trainer.kubeflow.org/v1alpha1", "TrainJob", runtimeRef={"name": "x"}), []),
        *(
            (
                workload(
                    "trainer.kubeflow.org/v1alpha1",
                    kind,
                    template={"spec": {"replicatedJobs": [{"name": "Node", "template": {"spec": {"template": POD}}}]}},
                ),
                [("spec.template.spec.replicatedJobs[0].template.spec.template", 0, "node")],
            )
            for kind in ("TrainingRuntime", "ClusterTrainingRuntime")
        ),
        (
            workload(
                "ray.io/v1",
                "RayCluster",
                headGroupSpec={"template": POD},
                workerGroupSpecs=[
                    {"groupName": "small", "replicas": 2, "minReplicas": 1, "maxReplicas": 5, "template": POD},
                    {"groupName": "hosts", "replicas": 2, "numOfHosts": 4, "template": POD},
                    {"groupName": "least", "minReplicas": 3, "template": POD},
                    {"groupName": "most", "replicas": 9, "maxReplicas": 2, "template": POD},
                    {"groupName": "idle", "template": POD},
                    {"groupName": "off", "replicas": 2, "suspend": True, "template": POD},
                ],
            ),
            [
                ("spec.headGroupSpec.template", 1, "head"),
                ("spec.workerGroupSpecs[0].template", 2, "small"),
                ("spec.workerGroupSpecs[1].template", 8, "hosts"),
                ("spec.workerGroupSpecs[2].template", 3, "least"),
                ("spec.workerGroupSpecs[3].template", 2, "most"),
                ("spec.workerGroupSpecs[4].template", 0, "idle"),
                ("spec.workerGroupSpecs[5].template", 0, "off"),
            ],
        ),
        (
            workload(
                "ray.io/v1",
                "RayJob",
                rayClusterSpec={"headGroupSpec": {"template": POD}},
                submitterPodTemplate=POD,
            ),
            [("spec.rayClusterSpec.headGroupSpec.template", 1, "head"), ("spec.submitterPodTemplate", 1, "submitter")],
        ),
        (
            workload(
                "ray.io/v1", "RayService", rayClusterConfig={"workerGroupSpecs": [{"replicas": 1, "template": POD}]}
            ),
            [("spec.rayClusterConfig.workerGroupSpecs[0].template", 1, "0")],
        ),
        (
            workload(
                "jobset.x-k8s.io/v1alpha2",
                "JobSet",
                replicatedJobs=[
                    {"name": "driver", "template": {"spec": {"template": POD}}},
                    {"name": "workers", "replicas": 2, "template": {"spec": {"parallelism": 4, "template": POD}}},
                ],
            ),
            [
                ("spec.replicatedJobs[0].template.spec.template", 1, "driver"),
                ("spec.replicatedJobs[1].template.spec.template", 8, "workers"),
            ],
        ),
        (
            workload(
                "leaderworkerset.x-k8s.io/v1",
                "LeaderWorkerSet",
                replicas=2,
                leaderWorkerTemplate={"size": 4, "leaderTemplate": POD, "workerTemplate": POD},
            ),
            [
                ("spec.leaderWorkerTemplate.leaderTemplate", 2, "leader"),
                ("spec.leaderWorkerTemplate.workerTemplate", 6, "worker"),
            ],
        ),
        (
            workload(
                "leaderworkerset.x-k8s.io/v1",
                "LeaderWorkerSet",
                replicas=2,
                leaderWorkerTemplate={"size": 4, "workerTemplate": POD},
            ),
            [("spec.leaderWorkerTemplate.workerTemplate", 8, "worker")],
        ),
        (
            workload(
                "serving.kserve.io/v1beta1",
                "InferenceService",
                predictor={"minReplicas": 2, "model": {}, "workerSpec": {"pipelineParallelSize": 3}},
                transformer={"minReplicas": 0, "containers": []},
            ),
            [
                ("spec.predictor", 2, "predictor"),
                ("spec.predictor.workerSpec", 2, "worker"),
                ("spec.transformer", 1, "transformer"),
            ],
        ),
        (workload("serving.kserve.io/v1alpha1", "ServingRuntime", containers=[]), [("spec", 0, "")]),
        (workload("serving.kserve.io/v1alpha1", "ClusterServingRuntime", containers=[]), [("spec", 0, "")]),
        (
            workload(
                "argoproj.io/v1alpha1",
                "Workflow",
                templates=[
                    {"name": "main", "steps": [[{"name": "s", "template": "train"}]]},
                    {"name": "train", "container": {"image": "x"}},
                    {"name": "many", "containerSet": {"containers": [{"name": "a"}]}},
                    {"name": "wait", "suspend": {}},
                ],
            ),
            [("spec.templates[1]", 1, "train"), ("spec.templates[2]", 1, "many")],
        ),
        (
            workload(
                "argoproj.io/v1alpha1",
                "CronWorkflow",
                workflowSpec={"templates": [{"name": "t", "script": {"source": "x"}}]},
            ),
            [("spec.workflowSpec.templates[0]", 1, "t")],
        ),
        *(
            (
                workload("argoproj.io/v1alpha1", kind, templates=[{"name": "t", "container": {"image": "x"}}]),
                [("spec.templates[0]", 0, "t")],
            )
            for kind in ("WorkflowTemplate", "ClusterWorkflowTemplate")
        ),
        (workload("argoproj.io/v1alpha1", "Rollout", replicas=2, template=POD), [("spec.template", 2, "")]),
        (workload("serving.knative.dev/v1", "Service", template=POD), [("spec.template", 1, "")]),
        (
            workload(
                "serving.knative.dev/v1",
                "Service",
                template={"metadata": {"annotations": {"autoscaling.knative.dev/min-scale": "3"}}, "spec": {}},
            ),
            [("spec.template", 3, "")],
        ),
        (
            workload(
                "batch.volcano.sh/v1alpha1",
                "Job",
                tasks=[{"name": "ps", "replicas": 2, "template": POD}, {"name": "Worker", "template": POD}],
            ),
            [("spec.tasks[0].template", 2, "ps"), ("spec.tasks[1].template", 1, "worker")],
        ),
    ],
)
def test_every_kind_of_the_table(tree: dict[str, Any], expected: list[tuple[str, int | None, str]]) -> None:
    assert found(tree) == expected
