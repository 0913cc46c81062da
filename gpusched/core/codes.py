"""The stable vocabulary of refusals: admission codes, and reasons why a node does not take a pod.

The words in this module are part of the product: they stand in messages, metrics, JSON and documentation.
"""

from enum import StrEnum
from typing import Final

import msgspec


class Code(StrEnum):
    """Codes of admission refusals and warnings."""

    QUANTITY = "gpu-quantity"
    LIMIT_REQUIRED = "gpu-limit-required"
    REQUEST_EQUALS_LIMIT = "gpu-request-equals-limit"
    UNKNOWN_RESOURCE = "gpu-unknown-resource"
    SHARED_SINGLE = "gpu-shared-single"
    MIXED_RESOURCES = "gpu-mixed-resources"
    UNSPECIFIC = "gpu-unspecific"
    CLAIM = "gpu-claim"
    POLICY_FAMILY = "gpu-policy-family"
    POLICY_PRODUCT = "gpu-policy-product"
    POLICY_MEMORY = "gpu-policy-memory"
    POLICY_SHARING = "gpu-policy-sharing"
    POLICY_VERSION = "gpu-policy-version"
    POLICY_MAX_GPUS = "gpu-policy-max-gpus"
    NODE_NAME = "gpu-node-name"
    VISIBLE_DEVICES = "gpu-visible-devices"
    RUNTIME_CLASS_MISSING = "runtime-class-missing"
    POLICY_MALFORMED = "policy-malformed"
    NO_NODE = "gpu-no-node"


class Reason(StrEnum):
    """Why a node does not take a pod. The `native-` ones are kube-scheduler's own refusals, named by `simulate`."""

    FAMILY = "family"
    PRODUCT = "product"
    MEMORY = "memory"
    SHARING = "sharing"
    VERSION = "version"
    NODE_SELECTOR = "node-selector"
    FACTS_UNKNOWN = "facts-unknown"
    RECONFIGURING = "reconfiguring"
    SHARED_SINGLE = "shared-single"
    FREE_REPLICAS = "free-replicas"
    MEMORY_CLAIM = "memory-claim"
    QUOTA = "quota"
    NO_RESOURCE = "no-resource"
    NATIVE_RESOURCES = "native-resources"
    NATIVE_TAINT = "native-taint"
    NATIVE_AFFINITY = "native-affinity"
    NATIVE_UNSCHEDULABLE = "native-unschedulable"
    NATIVE_POD_AFFINITY = "native-pod-affinity"
    NATIVE_SPREAD = "native-spread"
    NATIVE_OTHER = "native-other"

    # Enum's own goes through Python code, once for every node that an answer names.
    __hash__ = str.__hash__


#: What kube-scheduler prints beside the number of nodes. Constant in time, no numbers, no comma, no final period:
#: a text that varies makes the scheduler retry the pod without end.
REASON_TEXT: Final[dict[Reason, str]] = {
    Reason.FAMILY: "GPU family not allowed",
    Reason.PRODUCT: "GPU product not allowed",
    Reason.MEMORY: "GPU memory outside the allowed bounds",
    Reason.SHARING: "GPU sharing kind not allowed",
    Reason.VERSION: "GPU driver or CUDA version too old",
    Reason.NODE_SELECTOR: "node labels do not match the GPU node-selector",
    Reason.FACTS_UNKNOWN: "GPU facts needed by a rule are unknown",
    Reason.RECONFIGURING: "GPUs are being reconfigured",
    Reason.SHARED_SINGLE: "shared GPUs give one slot per container",
    Reason.FREE_REPLICAS: "not enough free GPU slots",
    Reason.MEMORY_CLAIM: "not enough unclaimed GPU memory",
    Reason.QUOTA: "GPU quota of the namespace is used up",
    Reason.NO_RESOURCE: "node does not offer the GPU resource",
    Reason.NATIVE_RESOURCES: "not enough of a requested resource",
    Reason.NATIVE_TAINT: "untolerated taint",
    Reason.NATIVE_AFFINITY: "node affinity or node selector of the pod does not match",
    Reason.NATIVE_UNSCHEDULABLE: "node is unschedulable",
    Reason.NATIVE_POD_AFFINITY: "pod affinity or anti-affinity rules do not match",
    Reason.NATIVE_SPREAD: "topology spread constraints do not match",
    Reason.NATIVE_OTHER: "the scheduler asks for something besides",
}


class Finding(msgspec.Struct, frozen=True, gc=False):
    """A refusal or a warning: a stable code and one sentence that says what to change.

    A warning may speak of what makes no node take pods.
    """

    code: Code | Reason
    message: str
