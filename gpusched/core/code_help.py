"""What every code means to the person who meets it: the cause, what to do, and an example that would pass or fit."""

from collections.abc import Mapping
from typing import Final

import msgspec

from gpusched.core.codes import Code, Reason


class Help(msgspec.Struct, frozen=True):
    """`cause` and `fix` are sentences; `example` is a fragment of a manifest or a command."""

    cause: str
    fix: str
    example: str


CODE_HELP: Final[Mapping[Code, Help]] = {
    Code.QUANTITY: Help(
        "A GPU resource is asked for in a number that is negative, fractional or no number. Devices are counted whole.",
        "Ask for a whole number; for a part of a GPU ask for 1 and claim memory.",
        "resources: {limits: {nvidia.com/gpu: 1}}  # and the annotation gpusched.io/gpu-memory: 8Gi",
    ),
    Code.LIMIT_REQUIRED: Help(
        "A GPU resource stands under requests alone. Kubernetes wants extended resources as limits.",
        "Put it under resources.limits; requests then follow by themselves.",
        "resources: {limits: {nvidia.com/gpu: 1}}",
    ),
    Code.REQUEST_EQUALS_LIMIT: Help(
        "Request and limit of a GPU resource differ. Kubernetes does not overcommit extended resources.",
        "Leave the request out, or make both equal.",
        "resources: {limits: {nvidia.com/gpu: 2}}",
    ),
    Code.UNKNOWN_RESOURCE: Help(
        "The name of the resource is not one that a device plugin offers, but close to it.",
        "Use the name that the message gives; `gpusched nodes -o wide` lists those that nodes offer.",
        "resources: {limits: {nvidia.com/gpu: 1}}  # not gpu: 1 or nvidia.com/gpus: 1",
    ),
    Code.SHARED_SINGLE: Help(
        "A container asks for several slots where GPUs are shared: they may turn out to be the same device.",
        "Ask for one slot, or for nodes whose GPUs are not shared.",
        "metadata: {annotations: {gpusched.io/sharing: none}}",
    ),
    Code.MIXED_RESOURCES: Help(
        "One pod asks for GPU resources that no present node offers together.",
        "Split the pod, or ask for one of the resources.",
        "resources: {limits: {nvidia.com/gpu: 1}}  # without nvidia.com/mig-1g.10gb beside it",
    ),
    Code.UNSPECIFIC: Help(
        "The cluster has very unequal GPUs and the pod says nothing about which it needs.",
        "Name the memory or the families that the program needs.",
        "metadata: {annotations: {gpusched.io/min-gpu-memory: 20Gi}}",
    ),
    Code.CLAIM: Help(
        "The claim of GPU memory cannot be read, stands on a pod without a GPU, or is more than any slot can give.",
        "Write a quantity with a binary unit, per slot, no larger than the message says.",
        "metadata: {annotations: {gpusched.io/gpu-memory: 6Gi}}",
    ),
    Code.POLICY_FAMILY: Help(
        "The pod asks for a GPU family that the policy of its namespace does not allow.",
        "Ask for an allowed family, or ask an administrator to widen gpusched.io/families of the namespace.",
        "metadata: {annotations: {gpusched.io/families: ampere}}",
    ),
    Code.POLICY_PRODUCT: Help(
        "The pod asks for a GPU model that the policy of its namespace does not allow.",
        "Ask for an allowed product, or take the pod's own rule off.",
        "metadata: {annotations: {gpusched.io/products: a100}}",
    ),
    Code.POLICY_MEMORY: Help(
        "The memory bounds of pod and policy exclude each other, or the resource itself is too small for the policy.",
        "Ask for memory within the bounds of the namespace, or for a larger MIG profile.",
        "metadata: {annotations: {gpusched.io/min-gpu-memory: 20Gi}}",
    ),
    Code.POLICY_SHARING: Help(
        "The pod asks for a kind of sharing that the policy of its namespace does not allow.",
        "Ask for an allowed kind: none, time-slicing, mps or mig.",
        "metadata: {annotations: {gpusched.io/sharing: mig}}",
    ),
    Code.POLICY_VERSION: Help(
        "The pod asks for GPUs that never have the CUDA version which the policy of its namespace demands.",
        "Ask for GPUs of NVIDIA, or ask an administrator to take gpusched.io/min-cuda-version off the namespace.",
        "resources: {limits: {nvidia.com/gpu: 1}}  # not amd.com/gpu: 1",
    ),
    Code.POLICY_MAX_GPUS: Help(
        "The containers of the pod together ask for more GPUs than the policy allows one pod.",
        "Ask for fewer, or split the pod.",
        "resources: {limits: {nvidia.com/gpu: 4}}",
    ),
    Code.NODE_NAME: Help(
        "spec.nodeName puts the pod on a node without the scheduler: nobody checks that its GPUs are free.",
        "Select the node instead.",
        "spec: {nodeSelector: {kubernetes.io/hostname: gpu-07}}",
    ),
    Code.VISIBLE_DEVICES: Help(
        "The pod sets NVIDIA_VISIBLE_DEVICES itself and would see GPUs that it was not given.",
        "Remove the variable; the device plugin sets it. `void` and `none` may stay.",
        "env: []  # without NVIDIA_VISIBLE_DEVICES: all",
    ),
    Code.RUNTIME_CLASS_MISSING: Help(
        "Pod, policy or configuration names a RuntimeClass that is not there.",
        "Create it, or configure that none is needed.",
        'runtimeClasses: {nvidia: ""}  # in the configuration of gpusched',
    ),
    Code.POLICY_MALFORMED: Help(
        "An annotation under gpusched.io/, or the policy of the namespace, cannot be read.",
        "Write the value as the message says; without unit, with a wrong one, or misspelt it is never guessed.",
        "kubectl annotate namespace team-a --overwrite gpusched.io/min-gpu-memory=20Gi",
    ),
    Code.NO_NODE: Help(
        "No present node could ever serve the pod under the rules that hold. Nodes of an autoscaler may.",
        "Widen the pod's own rules, or see what each node lacks.",
        "gpusched why -n team-a my-pod",
    ),
}

REASON_HELP: Final[Mapping[Reason, Help]] = {
    Reason.FAMILY: Help(
        "The node's GPUs are of a family that pod or policy exclude.",
        "Allow the family, or wait for a node of an allowed one.",
        "metadata: {annotations: {gpusched.io/families: 'hopper, ampere'}}",
    ),
    Reason.PRODUCT: Help(
        "The node's GPUs are of a model that pod or policy exclude.",
        "Allow the product: a value matches by its words, a100 means every A100.",
        "metadata: {annotations: {gpusched.io/products: a100}}",
    ),
    Reason.MEMORY: Help(
        "What a container sees of the node's GPUs is less or more than pod or policy allow.",
        "Change the bound; with MIG and MPS a container sees a part of the card.",
        "metadata: {annotations: {gpusched.io/min-gpu-memory: 16Gi}}",
    ),
    Reason.SHARING: Help(
        "The node's GPUs are shared in a way that pod or policy exclude.",
        "Allow that kind, or ask for nodes without sharing.",
        "metadata: {annotations: {gpusched.io/sharing: 'none, mig'}}",
    ),
    Reason.VERSION: Help(
        "The node's driver is older than pod or policy ask.",
        "Lower the bound, or have the driver renewed.",
        'metadata: {annotations: {gpusched.io/min-driver-version: "550.54"}}',
    ),
    Reason.NODE_SELECTOR: Help(
        "The node's labels do not match gpusched.io/node-selector of pod or policy.",
        "Change the selector, or label the node.",
        "kubectl label node gpu-07 rack=7",
    ),
    Reason.FACTS_UNKNOWN: Help(
        "A rule needs a fact about the node's GPUs that nobody tells, such as memory or sharing.",
        "Install GPU Feature Discovery, or write the fact on the node.",
        'kubectl annotate node gpu-07 gpusched.io/facts="family=ampere, gpu-memory=40960Mi"',
    ),
    Reason.RECONFIGURING: Help(
        "The node's GPUs are being partitioned anew.",
        "Wait a few minutes; if it lasts, look at the MIG manager.",
        "kubectl logs -A -l app=nvidia-mig-manager",
    ),
    Reason.SHARED_SINGLE: Help(
        "A container asks for several slots and the node's GPUs are shared: MPS gives one slot to a container.",
        "Ask for one slot, or for GPUs that are not shared.",
        "resources: {limits: {nvidia.com/gpu: 1}}",
    ),
    Reason.FREE_REPLICAS: Help(
        "The node has fewer free GPU slots than the pod asks for.",
        "Wait for a pod to end, or ask for fewer.",
        "gpusched nodes",
    ),
    Reason.MEMORY_CLAIM: Help(
        "The claims on the node's shared GPUs, this one among them, could exceed one device: the kubelet may put the"
        " largest of them together.",
        "Claim less, or wait for a pod with a large claim to end.",
        "metadata: {annotations: {gpusched.io/gpu-memory: 3Gi}}",
    ),
    Reason.QUOTA: Help(
        "The namespace has used up its quota for the node's GPU family, or for memory.",
        "Wait for a pod of the namespace to end, use another family, or have the quota raised.",
        "gpusched quota -n team-a",
    ),
    Reason.NO_RESOURCE: Help(
        "The node has none of the GPU resource at all, in use or not.",
        "Ask for a resource that is offered, or look after the device plugin of the node.",
        "gpusched nodes -o wide",
    ),
    Reason.NATIVE_RESOURCES: Help(
        "kube-scheduler finds too little CPU, memory, pods or GPUs free on the node, or a host port taken there.",
        "Ask for less or another port, or wait for a pod to end.",
        "kubectl describe node gpu-07",
    ),
    Reason.NATIVE_TAINT: Help(
        "The node has a taint that the pod does not tolerate.",
        "Tolerate it, or configure the toleration for all GPU pods.",
        "spec: {tolerations: [{key: team, value: b, effect: NoSchedule}]}",
    ),
    Reason.NATIVE_AFFINITY: Help(
        "The pod's own node selector or node affinity does not match the node.",
        "Change the selector; the message names the entry.",
        "kubectl get nodes --show-labels",
    ),
    Reason.NATIVE_UNSCHEDULABLE: Help(
        "The node is cordoned.",
        "Uncordon it when its maintenance is over.",
        "kubectl uncordon gpu-07",
    ),
    Reason.NATIVE_POD_AFFINITY: Help(
        "Pods on or near the node speak against the pod's affinity or anti-affinity, or against it by theirs.",
        "Relax the rule to a preferred one, or add nodes.",
        "preferredDuringSchedulingIgnoredDuringExecution: [...]",
    ),
    Reason.NATIVE_SPREAD: Help(
        "The pod's topologySpreadConstraints would be broken there.",
        "Use whenUnsatisfiable: ScheduleAnyway, or a larger maxSkew.",
        "topologySpreadConstraints: [{whenUnsatisfiable: ScheduleAnyway, ...}]",
    ),
    Reason.NATIVE_OTHER: Help(
        "The node would do, but the pod waits for something that gpusched does not judge: kube-scheduler says that a"
        " volume or claim is missing, or the pod names a scheduler that gpusched does not serve.",
        "Do what the message says; it is made of the pod's condition PodScheduled.",
        "kubectl describe pod my-pod",
    ),
}


def help_of(text: str) -> tuple[Code | Reason, Help] | None:
    """The entry of a code as it is printed, None for no code. No word is both a code and a reason."""
    if text in set(Code):
        code = Code(text)
        return code, CODE_HELP[code]
    if text in set(Reason):
        reason = Reason(text)
        return reason, REASON_HELP[reason]
    return None
