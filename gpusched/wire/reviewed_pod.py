"""A pod under review as far as admission reads it: pods that agree in that are answered alike.

The pods of one controller agree in it, though no two are equal: each has a name of its own, a volume for its token that
the API server names anew, and often an index in its labels, annotations, environment or hostname.
"""

from typing import Final, NamedTuple

import msgspec

from gpusched.admission.mps import VARIABLE as MEMORY_LIMIT
from gpusched.admission.visible_devices import VARIABLE as VISIBLE_DEVICES
from gpusched.core.names import PREFIX, STATUS_PREFIX
from gpusched.core.workload import workload_by_name
from gpusched.wire.admission import Asked, Envelope

_ABSENT: Final = msgspec.Raw()
_PREFIXES: Final = (PREFIX, STATUS_PREFIX)
#: Variables of containers whose values are read; of the others nothing is.
_VARIABLES: Final = frozenset({VISIBLE_DEVICES, MEMORY_LIMIT})


class ReviewedPod(NamedTuple):
    """What is asked of a pod; its name, or generateName before there is one, and UID, empty before there is one; kind
    and name of its workload, empty for none; and `part`, the JSON of the pod without what is not read.
    """

    asked: Asked
    name: str
    uid: str
    workload: str
    part: bytes


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


class _Container(_Part):
    name: msgspec.Raw = _ABSENT
    resources: msgspec.Raw = _ABSENT
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


class _PodRequest(Asked):
    pod: _Pod | None = msgspec.field(name="object", default=None)


class _PodReview(Envelope):
    request: _PodRequest | None = None


_DECODER: Final = msgspec.json.Decoder(_PodReview)


def read_reviewed_pod(body: bytes) -> ReviewedPod | None:
    """The pod of an AdmissionReview; None when there is none, or none of the shape of a pod.

    Labels keep their names alone, and so do annotations that are not gpusched's.
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
        metadata.labels = dict.fromkeys(metadata.labels, "")
    if metadata.annotations:
        metadata.annotations = {
            key: text if key.startswith(_PREFIXES) else "" for key, text in metadata.annotations.items()
        }
    for container in _containers(asked.pod.spec):
        if container.env:
            container.env = [variable for variable in container.env if variable.name in _VARIABLES]
    return ReviewedPod(asked, name, uid, workload, msgspec.json.encode(asked.pod))


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
