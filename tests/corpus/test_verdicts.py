"""Verdicts on public manifests that were reviewed by hand: each changes only when the reason beside it does."""

import pytest

from tests.corpus.workloads import WORKLOADS, needs_corpus, run

pytestmark = needs_corpus

GKE = "GoogleCloudPlatform+kubernetes-engine-samples/"
KUEUE = "kubernetes-sigs+kueue/site__static__examples__serving-workloads__"
RAY = "ray-project+kuberay/ray-operator__config__samples__"
DEMO = "rverchere+gpu-k8s-demo/"
ACCELERATOR = "cloud.google.com/gke-accelerator"

#: Per file: pods placed, denied, unschedulable and gated on gke, onprem and eks.
VERDICTS = {
    # A head and two workers of two L4 each; elsewhere no node has GKE's label, though EKS has an L4 by another name.
    GKE + "ai-ml__gke-ray__rayserve__llm__model-composition__ray-service.yaml": (
        (3, 0, 0, 0),
        (1, 0, 2, 0),
        (1, 0, 2, 0),
    ),
    # Leader and worker want eight H100 each: GKE has one such node; the EKS namespace allows neither hopper nor eight.
    GKE + "ai-ml__llm-multihost-gpus__vllm-deepseek-r1-A3.yaml": ((1, 0, 1, 0), (0, 0, 2, 0), (0, 2, 0, 0)),
    # The same without a word about the model: one pod goes to L4s (GKE), or to shares of T4s, the only eight untainted.
    GKE + "ai-ml__llm-multihost-gpus__vllm-llama3-405b-A3-HDML.yaml": ((2, 0, 0, 0), (1, 0, 1, 0), (0, 2, 0, 0)),
    # H100 by a compute class that the GKE nodes do not belong to.
    GKE + "ai-ml__llm-serving-gemma__vllm__vllm-2b-it-h100-80gb.yaml": ((0, 0, 1, 0), (0, 0, 1, 0), (0, 1, 0, 0)),
    # The amount is a variable that nobody has filled in.
    GKE + "autoscaling__custom-compute-classes__reservations__deployment-gpu.yaml": (
        (0, 1, 0, 0),
        (0, 1, 0, 0),
        (0, 1, 0, 0),
    ),
    # Three at once on four shares of a T4, in a namespace without policy; suspended until Kueue lets them go.
    GKE + "batch__kueue-intro__job-team-a.yaml": ((3, 0, 0, 0), (0, 0, 3, 0), (0, 0, 3, 0)),
    # Asks by GFD's product label, which GKE's nodes lack; turing is outside the policy on EKS.
    "NVIDIA+gpu-operator/tests__plugin-test.yaml": ((0, 0, 5, 0), (5, 0, 0, 0), (0, 5, 0, 0)),
    # AMD and Intel: only the own machines have them, and the policy on EKS names families of NVIDIA.
    "ROCm+k8s-device-plugin/example__vllm-serve__deployment.yaml": ((0, 0, 1, 0), (1, 0, 0, 0), (0, 1, 0, 0)),
    "intel+intel-device-plugins-for-kubernetes/demo__intelgpu-job.yaml": ((0, 0, 1, 0), (1, 0, 0, 0), (0, 1, 0, 0)),
    # Intel's plugin on Windows registers a resource of its own.
    "intel+intel-device-plugins-for-kubernetes/demo__intelgpu-job-wsl.yaml": (
        (0, 0, 1, 0),
        (0, 0, 1, 0),
        (0, 1, 0, 0),
    ),
    # A runtime makes no pods: a TrainJob does.
    "kubeflow+trainer/manifests__base__runtimes__torchtune__llama3_2__llama3_2_1B.yaml": (
        (0, 0, 0, 0),
        (0, 0, 0, 0),
        (0, 0, 0, 0),
    ),
    # Resources of HAMi's own device plugin beside the GPU, which no node here offers.
    KUEUE + "sample-hami.yaml": ((0, 0, 1, 0), (0, 0, 1, 0), (0, 0, 1, 0)),
    # Two groups of three, whose workers request GPUs without a limit: the API server refuses such pods.
    KUEUE + "sample-leaderworkerset-tas.yaml": ((0, 6, 0, 0), (0, 6, 0, 0), (0, 6, 0, 0)),
    # Two workers of eight GPUs and a head that is too large for GKE's nodes without GPUs.
    RAY + "ray-service.deepseek.yaml": ((1, 0, 2, 0), (1, 0, 2, 0), (0, 3, 0, 0)),
    # A head and four workers of one L4 each, by GKE's label.
    RAY + "ray-service.high-throughput-llm.yaml": ((5, 0, 0, 0), (1, 0, 4, 0), (1, 0, 4, 0)),
    # A head and four workers of any one GPU.
    RAY + "pytorch-resnet-image-classifier__ray-job.pytorch-image-classifier.yaml": (
        (5, 0, 0, 0),
        (5, 0, 0, 0),
        (5, 0, 0, 0),
    ),
    # Bound by spec.nodeName to a node that is in no cluster: nobody is asked, and a note says so.
    "run-ai+fake-gpu-operator/design__samples__2.17__fractional_pod_reservation.yaml": (
        (1, 0, 0, 0),
        (1, 0, 0, 0),
        (1, 0, 0, 0),
    ),
    # A MIG profile that the own machines offer, behind a label of another cloud.
    DEMO + "app-1__deployment-3.yaml": ((0, 0, 1, 0), (0, 0, 1, 0), (0, 0, 1, 0)),
    # Names a RuntimeClass that GKE lacks.
    DEMO + "manifests__mps-pod.yaml": ((0, 1, 0, 0), (1, 0, 0, 0), (1, 0, 0, 0)),
    # In an exempt namespace, so that nobody adds the toleration for tainted GPU nodes.
    DEMO + "manifests__pod-ubuntu.yml": ((0, 0, 1, 0), (1, 0, 0, 0), (0, 0, 1, 0)),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_verdicts(name: str) -> None:
    found = []
    for cluster in ("gke", "onprem", "eks"):
        summary = run("simulate", WORKLOADS / name, cluster=cluster).result["summary"]
        found.append(tuple(summary[verdict] for verdict in ("placed", "denied", "unschedulable", "gated")))
    assert tuple(found) == VERDICTS[name]


#: What is said of some of them: the file, the cluster, and a message or suggestion.
SAYINGS = [
    (
        GKE + "ai-ml__llm-multihost-gpus__vllm-deepseek-r1-A3.yaml",
        "gke",
        "Wait: pod default/vllm-leader-0 on gke-h100-1 holds it",
    ),
    (
        GKE + "ai-ml__gke-online-serving-single-gpu__src__gke-config__deployment-tfserve.yaml",
        "eks",
        f"Replace {ACCELERATOR}: nvidia-l4 in spec.nodeSelector by the annotation gpusched.io/products: l4",
    ),
    (
        GKE + "ai-ml__gke-online-serving-single-gpu__src__gke-config__deployment-tfserve.yaml",
        "eks",
        f"nodeSelector {ACCELERATOR}=nvidia-l4 does not match: {ACCELERATOR} is not set",
    ),
    (
        "ROCm+k8s-device-plugin/example__vllm-serve__deployment.yaml",
        "gke",
        "No small change fits; add a node that offers amd.com/gpu: 1 and meets the pod's rules",
    ),
    (RAY + "ray-service.deepseek.yaml", "gke", "Ask for memory: 28Gi in container ray-head"),
    (
        GKE + "batch__kueue-intro__job-team-a.yaml",
        "gke",
        "its pods come later: suspended until spec.suspend is false, which a queue such as Kueue sees to",
    ),
    (
        "run-ai+fake-gpu-operator/design__samples__2.17__fractional_pod_reservation.yaml",
        "onprem",
        "node i-0b498db53280b86a6 is not in the dump",
    ),
    (DEMO + "manifests__pod-ubuntu.yml", "gke", "namespace gpu-operator is exempt: gpusched adds nothing to its pods"),
]


@pytest.mark.parametrize(("name", "cluster", "said"), SAYINGS)
def test_sayings(name: str, cluster: str, said: str) -> None:
    told: set[str] = set()
    for view in run("simulate", WORKLOADS / name, cluster=cluster).result["pods"]:
        told.update(view["notes"])
        if view["unschedulable"]:
            told.add(view["unschedulable"]["suggestion"])
            told.update(reason["message"] for reason in view["unschedulable"]["reasons"])
    assert said in told
