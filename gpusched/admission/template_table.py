"""Where each workload kind keeps its pod templates, and how many pods it makes of each: the one table of them."""

from collections.abc import Callable
from typing import Final

import msgspec

from gpusched.admission import template_shapes as shapes
from gpusched.admission.template_scope import Scope, Tree

Count = Callable[[Scope], int | None]
Shape = Callable[[Scope, str], Tree | None]


class Entry(msgspec.Struct, frozen=True):
    """One template of a kind.

    `path` is where it stands; `[*]` goes over a list, `{*}` over a map. `count` says how many pods are made of it,
    None for one per node. `shape` turns what stands there into a pod template. `label` tells the pods of several
    templates apart; without it the names of the items passed on the way do.
    """

    path: str
    count: Count
    shape: Shape = shapes.template
    label: str | None = None
    note: str | None = None


def one(_: Scope) -> int:
    """Exactly one pod."""
    return 1


def none(_: Scope) -> int:
    """No pod: other objects refer to the template."""
    return 0


def per_node(_: Scope) -> int | None:
    """One pod for each node that matches."""
    return None


def times(*paths: str) -> Count:
    """The product of the numbers at these paths, each 1 where it is absent."""

    def count(scope: Scope) -> int:
        product = 1
        for path in paths:
            product *= scope.count(path)
        return product

    return count


def job(spec: str) -> Count:
    """Pods of a batch/v1 JobSpec that run at once: parallelism, but never more than completions."""

    def count(scope: Scope) -> int:
        parallelism = scope.count(f"{spec}.parallelism")
        return min(parallelism, scope.count(f"{spec}.completions", parallelism))

    return count


def group_workers(scope: Scope) -> int:
    """LeaderWorkerSet: every replica has `size` pods, of which one is made of the leader template if there is one."""
    size = scope.count("spec.leaderWorkerTemplate.size")
    leader = 1 if scope.at("spec.leaderWorkerTemplate.leaderTemplate").present else 0
    return scope.count("spec.replicas") * max(size - leader, 0)


def ray_workers(group: str) -> Count:
    """KubeRay's GetWorkerGroupDesiredReplicas: replicas within their bounds, times hosts; none when suspended."""

    def count(scope: Scope) -> int:
        if scope.at(f"{group}.suspend").boolean():
            return 0
        least = scope.count(f"{group}.minReplicas", 0)
        wanted = max(scope.count(f"{group}.replicas", least), least)
        most = scope.count(f"{group}.maxReplicas", wanted)
        return min(wanted, most) * scope.count(f"{group}.numOfHosts")

    return count


def at_least_one(path: str) -> Count:
    """Serving components that scale from zero: one pod at first, or the stated minimum."""

    def count(scope: Scope) -> int:
        return max(1, scope.count(path))

    return count


def knative(scope: Scope) -> int:
    """Knative starts one pod of a revision, or as many as its annotation min-scale says."""
    annotations = scope.at("spec.template.metadata.annotations").strings()
    stated = annotations.get("autoscaling.knative.dev/min-scale") or annotations.get("autoscaling.knative.dev/minScale")
    return max(1, int(stated)) if stated and stated.isascii() and stated.isdigit() and len(stated) < 10 else 1


def _replicated() -> tuple[Entry, ...]:
    return (Entry("spec.template", times("spec.replicas"), label=""),)


def _kubeflow(field: str) -> tuple[Entry, ...]:
    return (Entry(f"spec.{field}{{*}}.template", times(f"spec.{field}{{*}}.replicas")),)


def _ray(spec: str, *further: Entry) -> tuple[Entry, ...]:
    group = f"{spec}.workerGroupSpecs[*]"
    head = Entry(f"{spec}.headGroupSpec.template", one, label="head")
    return (head, Entry(f"{group}.template", ray_workers(group)), *further)


def _argo(spec: str, count: Count) -> tuple[Entry, ...]:
    return (Entry(f"{spec}.templates[*]", count, shapes.argo_template(spec), note=shapes.ARGO_NOTE),)


def _runtime() -> tuple[Entry, ...]:
    return (Entry("spec.template.spec.replicatedJobs[*].template.spec.template", none, note="made by a TrainJob"),)


def kserve_workers(scope: Scope) -> int:
    """KServe over several nodes: the head is the predictor, a worker runs each further pipeline stage."""
    return max(scope.count("spec.predictor.workerSpec.pipelineParallelSize") - 1, 0)


def _component(name: str) -> Entry:
    return Entry(f"spec.{name}", at_least_one(f"spec.{name}.minReplicas"), shapes.kserve_component, label=name)


#: By API group and kind. Versions are not told apart: none of these kinds moved its templates between versions.
TABLE: Final[dict[tuple[str, str], tuple[Entry, ...]]] = {
    ("", "Pod"): (Entry("", one, label=""),),
    ("", "PodTemplate"): (Entry("template", none, label=""),),
    ("", "ReplicationController"): _replicated(),
    ("apps", "ReplicaSet"): _replicated(),
    ("apps", "Deployment"): _replicated(),
    ("apps", "StatefulSet"): _replicated(),
    ("apps", "DaemonSet"): (Entry("spec.template", per_node, label=""),),
    ("batch", "Job"): (Entry("spec.template", job("spec"), label=""),),
    ("batch", "CronJob"): (Entry("spec.jobTemplate.spec.template", job("spec.jobTemplate.spec"), label=""),),
    ("kubeflow.org", "PyTorchJob"): _kubeflow("pytorchReplicaSpecs"),
    ("kubeflow.org", "TFJob"): _kubeflow("tfReplicaSpecs"),
    ("kubeflow.org", "MPIJob"): _kubeflow("mpiReplicaSpecs"),
    ("kubeflow.org", "XGBoostJob"): _kubeflow("xgbReplicaSpecs"),
    ("kubeflow.org", "PaddleJob"): _kubeflow("paddleReplicaSpecs"),
    ("kubeflow.org", "JAXJob"): _kubeflow("jaxReplicaSpecs"),
    ("kubeflow.org", "Notebook"): (Entry("spec.template", one, shapes.notebook, label=""),),
    ("trainer.kubeflow.org", "TrainJob"): (
        Entry("spec.trainer", times("spec.trainer.numNodes"), shapes.trainer, label="node", note=shapes.TRAINER_NOTE),
    ),
    ("trainer.kubeflow.org", "TrainingRuntime"): _runtime(),
    ("trainer.kubeflow.org", "ClusterTrainingRuntime"): _runtime(),
    ("ray.io", "RayCluster"): _ray("spec"),
    ("ray.io", "RayJob"): _ray("spec.rayClusterSpec", Entry("spec.submitterPodTemplate", one, label="submitter")),
    ("ray.io", "RayService"): _ray("spec.rayClusterConfig"),
    ("jobset.x-k8s.io", "JobSet"): (
        Entry(
            "spec.replicatedJobs[*].template.spec.template",
            times("spec.replicatedJobs[*].replicas", "spec.replicatedJobs[*].template.spec.parallelism"),
        ),
    ),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): (
        Entry("spec.leaderWorkerTemplate.leaderTemplate", times("spec.replicas"), label="leader"),
        Entry("spec.leaderWorkerTemplate.workerTemplate", group_workers, label="worker"),
    ),
    ("serving.kserve.io", "InferenceService"): (
        _component("predictor"),
        Entry("spec.predictor.workerSpec", kserve_workers, shapes.kserve_component, label="worker"),
        _component("transformer"),
        _component("explainer"),
    ),
    ("serving.kserve.io", "ServingRuntime"): (Entry("spec", none, shapes.pod_spec, label=""),),
    ("serving.kserve.io", "ClusterServingRuntime"): (Entry("spec", none, shapes.pod_spec, label=""),),
    ("argoproj.io", "Workflow"): _argo("spec", one),
    ("argoproj.io", "CronWorkflow"): _argo("spec.workflowSpec", one),
    ("argoproj.io", "WorkflowTemplate"): _argo("spec", none),
    ("argoproj.io", "ClusterWorkflowTemplate"): _argo("spec", none),
    ("argoproj.io", "Rollout"): _replicated(),
    ("serving.knative.dev", "Service"): (Entry("spec.template", knative, label=""),),
    ("batch.volcano.sh", "Job"): (
        Entry("spec.tasks[*].template", times("spec.tasks[*].replicas"), shapes.volcano_task),
    ),
}
