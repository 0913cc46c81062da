"""A pod under review as far as admission reads it: pods that agree in that are answered alike.

The pods of one controller agree in it, though no two are equal: each has a name of its own, a volume for its token that
the API server names anew, and often an index in its labels, annotations, environment or hostname. So do pods of many
templates that ask for the same GPUs, but for what their containers are called.
"""

from typing import Final, NamedTuple

import msgspec

from gpusched.admission.mps import VARIABLE as MEMORY_LIMIT
from gpusched.admission.rules.astray import misspelt_prefix
from gpusched.admission.visible_devices import VARIABLE as VISIBLE_DEVICES
from gpusched.core.names import MIRROR_ANNOTATION, PREFIX, STATUS_PREFIX
from gpusched.core.workload import workload_by_name
from gpusched.wire.admission import Asked, Envelope

_ABSENT: Final = msgspec.Raw()
_PREFIXES: Final = (PREFIX, STATUS_PREFIX, MIRROR_ANNOTATION)
#: Variables of containers whose values are read; of the others nothing is.
_VARIABLES: Final = frozenset({VISIBLE_DEVICES, MEMORY_LIMIT})
#: Resources of containers of which nothing is read: no GPU goes by these names, nor is meant by one.
_NATIVE: Final = frozenset({"cpu", "memory", "ephemeral-storage"})


class _Part(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    """Fields not named are left out; null is written as absent, which is the same to Kubernetes."""


class _Owner(_Part):
    kind: msgspec.Raw = _ABSENT
    name: str | None = None
    controller: msgspec.Raw = _ABSENT


class _Metadata(_Part):
    name: str | None = None
    generate_name: str | None = None
    uid: str | None = None
    namespace: msgspec.Raw = _ABSENT
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[_Owner] | None = None


class _Variable(_Part):
    name: str | None = None
    value: msgspec.Raw = _ABSENT
    value_from: msgspec.Raw = _ABSENT


class _Resources(_Part):
    limits: dict[str, msgspec.Raw] | None = None
    requests: dict[str, msgspec.Raw] | None = None


class _Container(_Part):
    name: str | None = None
    resources: _Resources | None = None
    restart_policy: msgspec.Raw = _ABSENT
    env: list[_Variable] | None = None


class _Affinity(_Part):
    node_affinity: msgspec.Raw = _ABSENT


class _Spec(_Part):
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    affinity: _Affinity | None = None
    node_name: msgspec.Raw = _ABSENT
    node_selector: msgspec.Raw = _ABSENT
    overhead: msgspec.Raw = _ABSENT
    resources: msgspec.Raw = _ABSENT
    runtime_class_name: msgspec.Raw = _ABSENT
    scheduler_name: msgspec.Raw = _ABSENT
    scheduling_gates: msgspec.Raw = _ABSENT
    tolerations: msgspec.Raw = _ABSENT


class _Pod(_Part):
    metadata: _Metadata | None = None
    spec: _Spec | None = None


class ReviewedPod(NamedTuple):
    """What is asked of a pod; its name, or generateName before there is one, and UID, empty before there is one; kind
    and name of its workload, empty for none; and `part`, the JSON of the pod without what is not read and without the
    names of its containers, which are read for what is said of them alone.
    """

    asked: Asked
    name: str
    uid: str
    workload: str
    part: bytes
    pod: _Pod
    containers: list[str | None]

    def named_part(self) -> bytes:
        """`part` with the names of the containers."""
        for container, name in zip(_containers(self.pod.spec), self.containers, strict=True):
            container.name = name
        return msgspec.json.encode(self.pod)


class _PodRequest(Asked):
    pod: _Pod | None = msgspec.field(name="object", default=None)


class _PodReview(Envelope):
    request: _PodRequest | None = None


_DECODER: Final = msgspec.json.Decoder(_PodReview)


def read_reviewed_pod(body: bytes) -> ReviewedPod | None:
    """The pod of an AdmissionReview; None when there is none, or none of the shape of a pod.

    Labels and annotations that have nothing to do with gpusched are left out.
    """
    try:
        review = _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    asked = review.request
    if not review.known or asked is None or not asked.uid or not asked.of_pod or asked.pod is None:
        return None
    metadata = asked.pod.metadata or _Metadata()
    name, uid = metadata.name or metadata.generate_name or "", metadata.uid or ""
    metadata.name = metadata.generate_name = metadata.uid = None
    workload = _workload(metadata)
    if metadata.labels:
        metadata.labels = {key: "" for key in metadata.labels if key.startswith(PREFIX)}
    if metadata.annotations:
        metadata.annotations = {key: text for key, text in metadata.annotations.items() if _is_read(key)}
    containers = _containers(asked.pod.spec)
    names = [container.name for container in containers]
    for container in containers:
        _strip(container)
    return ReviewedPod(asked, name, uid, workload, msgspec.json.encode(asked.pod), asked.pod, names)


def _is_read(annotation: str) -> bool:
    return annotation.startswith(_PREFIXES) or misspelt_prefix(annotation) is not None


def _strip(container: _Container) -> None:
    """Leave out what is not read of a container, and its name."""
    container.name = None
    if container.env:
        container.env = [variable for variable in container.env if variable.name in _VARIABLES]
    if container.resources is not None:
        for amounts in filter(None, (container.resources.limits, container.resources.requests)):
            for resource in _NATIVE:
                amounts.pop(resource, None)


def _workload(metadata: _Metadata) -> str:
    """What makes the pod; names of controllers are taken out, since their pods are answered alike."""
    found = ""
    for owner in metadata.owner_references or ():
        if owner.name and not found and bytes(owner.controller) == b"true":
            template_hash = (metadata.labels or {}).get("pod-template-hash", "")
            found = workload_by_name(bytes(owner.kind).decode().strip('"'), owner.name, template_hash)
        owner.name = None
    return found


def _containers(spec: _Spec | None) -> list[_Container]:
    return [] if spec is None else [*(spec.containers or ()), *(spec.init_containers or ())]
