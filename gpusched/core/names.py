"""Names of the domain: prefixes and keys that users type, and those that gpusched itself writes."""

from typing import Final

#: Prefix of every annotation that users and administrators write.
PREFIX: Final = "gpusched.io/"
#: Prefix of the annotations that only gpusched writes on pods.
STATUS_PREFIX: Final = "status.gpusched.io/"

#: Written by bind: the node the pod was bound to. Counts only if equal to spec.nodeName.
BOUND_ANNOTATION: Final = STATUS_PREFIX + "bound"
#: Written by mutate: which constraints became node affinity, for people.
LOWERED_ANNOTATION: Final = STATUS_PREFIX + "lowered"
#: Written by mutate: fingerprint of the constraints that were lowered.
POLICY_HASH_ANNOTATION: Final = STATUS_PREFIX + "policy-hash"
#: Written by the kubelet on the pods that show its static ones (core/v1 MirrorPodAnnotationKey).
MIRROR_ANNOTATION: Final = "kubernetes.io/config.mirror"
#: The scheduling gate that quota puts on pods.
QUOTA_GATE: Final = "gpusched.io/quota"
#: Where gpusched itself is installed, unless told otherwise.
OWN_NAMESPACE: Final = "gpusched-system"
#: The scheduler of pods that name none (core/v1 defaults, DefaultSchedulerName).
DEFAULT_SCHEDULER: Final = "default-scheduler"
#: Namespace label, `true`: pods of this namespace are never judged nor completed.
EXEMPT_LABEL: Final = PREFIX + "exempt"
#: Namespace label, `true`: pods without a GPU are sent to gpusched too, for `visible-devices`.
GPU_LESS_LABEL: Final = PREFIX + "gpu-less-pods"
#: Node annotation by which an administrator settles facts.
FACTS_ANNOTATION: Final = PREFIX + "facts"
