"""How what stands at the place of a template becomes a pod template, for kinds that keep it in a form of their own.

Each function takes the scope and the template's path, and answers a mapping with `metadata` and `spec`, None where
no pod comes of it.
"""

from collections.abc import Callable
from typing import Final

from gpusched.admission.template_scope import Scope, Tree

ARGO_NOTE: Final = "counted once: steps may run it more often"
TRAINER_NOTE: Final = "the rest of the pod comes from the training runtime"

#: Fields of a KServe component that are no fields of a pod spec but hold a container of one.
_KSERVE_FRAMEWORKS: Final = (
    "model",
    "sklearn",
    "xgboost",
    "tensorflow",
    "pytorch",
    "triton",
    "onnx",
    "huggingface",
    "pmml",
    "lightgbm",
    "paddle",
    "art",
)
_KSERVE_CONTAINER: Final = "kserve-container"
_CONTAINER_FIELDS: Final = ("name", "image", "env", "envFrom", "resources", "volumeMounts", "ports", "restartPolicy")
_TASK_FIELDS: Final = ("nodeSelector", "tolerations", "affinity", "schedulerName", "priorityClassName")
_NOTEBOOK_SKIPS: Final = ("kubectl", "notebook")


def template(scope: Scope, path: str) -> Tree | None:
    """A PodTemplateSpec, as it stands."""
    field = scope.at(path)
    return scope.mapping(path) if field.present else None


def pod_spec(scope: Scope, path: str) -> Tree | None:
    """A pod spec that stands by itself, with the labels and annotations of its pods beside the containers."""
    if not scope.at(path).present:
        return None
    spec = scope.mapping(path)
    metadata = {key: spec.pop(key) for key in ("labels", "annotations") if key in spec}
    return {"metadata": metadata, "spec": spec}


def notebook(scope: Scope, path: str) -> Tree | None:
    """Kubeflow's notebook controller copies the object's labels and annotations to its pod (generateStatefulSet)."""
    tree = template(scope, path)
    if tree is None:
        return None
    annotations = scope.mapping("metadata.annotations")
    copied = {key: value for key, value in annotations.items() if not any(word in key for word in _NOTEBOOK_SKIPS)}
    own = scope.mapping(f"{path}.metadata")
    metadata = {
        **own,
        "labels": {**scope.mapping(f"{path}.metadata.labels"), **scope.mapping("metadata.labels")},
        "annotations": {**scope.mapping(f"{path}.metadata.annotations"), **copied},
    }
    return {**tree, "metadata": metadata}


def volcano_task(scope: Scope, path: str) -> Tree | None:
    """Volcano writes the job's scheduler into its pods; the default of the job is `volcano`."""
    tree = template(scope, path)
    if tree is None:
        return None
    scheduler = scope.at("spec.schedulerName").text("volcano")
    return {**tree, "spec": {"schedulerName": scheduler, **scope.mapping(f"{path}.spec")}}


def trainer(scope: Scope, path: str) -> Tree | None:
    """Kubeflow TrainJob: the resources of a node and what the job overrides; the runtime has the rest."""
    if not scope.at(f"{path}.resourcesPerNode").present:
        return None
    container: dict[str, object] = {"name": "node", "resources": scope.mapping(f"{path}.resourcesPerNode")}
    env = scope.at(f"{path}.env").value
    if env is not None:
        container["env"] = env
    metadata: Tree = {}
    spec: dict[str, object] = {}
    for override in scope.find("spec.podTemplateOverrides[*]"):
        base = "spec.podTemplateOverrides[*]"
        targets = [item.get("name").text() for item in override.at(f"{base}.targetJobs").items()]
        if not targets or "node" in targets:
            metadata = override.mapping(f"{base}.metadata") or metadata
            spec |= _task_fields(override.mapping(f"{base}.spec"))
    return {"metadata": metadata, "spec": {**spec, "containers": [container]}}


def kserve_component(scope: Scope, path: str) -> Tree | None:
    """A KServe predictor, transformer or explainer: pod spec, scaling and one container per framework in one mapping.

    Labels and annotations of the service and of the component are copied to its pods.
    """
    if not scope.at(path).present:
        return None
    component = scope.mapping(path)
    frameworks = [name for name in _KSERVE_FRAMEWORKS if component.get(name) is not None]
    spec = {key: value for key, value in component.items() if key not in (*_KSERVE_FRAMEWORKS, "workerSpec")}
    own = [_container(scope.mapping(f"{path}.{name}"), _KSERVE_CONTAINER) for name in frameworks]
    containers = [*_values(scope, f"{path}.containers"), *own]
    metadata = {
        key: {**scope.mapping(f"metadata.{key}"), **scope.mapping(f"{path}.{key}")} for key in ("labels", "annotations")
    }
    return {"metadata": metadata, "spec": {**spec, "containers": containers}}


def argo_template(workflow: str) -> Callable[[Scope, str], Tree | None]:
    """The pod of one Argo template: its main containers and sidecars, what it lacks taken from the workflow's spec.

    Templates that run others (steps, dag) or no container of the user's make no pod of interest.
    """

    def shape(scope: Scope, path: str) -> Tree | None:
        containers = _argo_containers(scope, path)
        if not containers:
            return None
        spec = _task_fields(scope.mapping(workflow)) | _task_fields(scope.mapping(path))
        spec["containers"] = [*containers, *_values(scope, f"{path}.sidecars")]
        spec["initContainers"] = _values(scope, f"{path}.initContainers")
        metadata = {
            key: {**scope.mapping(f"{workflow}.podMetadata.{key}"), **scope.mapping(f"{path}.metadata.{key}")}
            for key in ("labels", "annotations")
        }
        return {"metadata": metadata, "spec": spec}

    return shape


def _argo_containers(scope: Scope, path: str) -> list[object]:
    single = [f"{path}.{kind}" for kind in ("container", "script") if scope.at(f"{path}.{kind}").present]
    own: list[object] = [_container(scope.mapping(place), "main") for place in single]
    return own + _values(scope, f"{path}.containerSet.containers")


def _values(scope: Scope, path: str) -> list[object]:
    return [item.value for item in scope.at(path).items()]


def _task_fields(fields: Tree) -> dict[str, object]:
    return {key: value for key, value in fields.items() if key in _TASK_FIELDS and value is not None}


def _container(fields: Tree, name: str) -> dict[str, object]:
    return {"name": name, **{key: value for key, value in fields.items() if key in _CONTAINER_FIELDS}}
