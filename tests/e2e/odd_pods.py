"""Pods that people really write, valid and not, for questions whose answer must not depend on gpusched being there."""

from tests.build import Tree, container, pod

GPU = "nvidia.com/gpu"
VISIBLE = {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}


def asking(limits: Tree | None = None, requests: Tree | None = None) -> Tree:
    resources = {key: value for key, value in (("limits", limits), ("requests", requests)) if value is not None}
    return {"containers": [container(resources=resources)]}


#: By what is odd about it: the arguments of `pod`.
SPECS: dict[str, Tree] = {
    "plain": {},
    "none": {"gpus": 0},
    "nothing": {"gpus": None},
    "many": {"gpus": 1000},
    "more than a number holds": {"gpus": "99999999999999999999"},
    "float that is whole": {"gpus": "1.0"},
    "thousandths": {"gpus": "1000m"},
    "exponent": {"gpus": "1e0"},
    "thousand": {"gpus": "1k"},
    "fraction": {"gpus": "0.5"},
    "negative": {"gpus": -1},
    "word": {"gpus": "one"},
    "empty": {"gpus": ""},
    "requests alone": asking(requests={GPU: 1}),
    "more limit than request": asking({GPU: 2}, {GPU: 1}),
    "limit none, request one": asking({GPU: 0}, {GPU: 1}),
    "null": asking({GPU: None}),
    "bare name": {"resource": "gpu"},
    "dotted name": {"resource": "nvidia.com.gpu"},
    "plural": {"resource": "nvidia.com/gpus"},
    "capitals": {"resource": "nvidia.com/GPU"},
    "shared": {"resource": "nvidia.com/gpu.shared"},
    "slice": {"resource": "nvidia.com/mig-1g.10gb"},
    "slice that no card has": {"resource": "nvidia.com/mig-9g.999gb"},
    "of another vendor": {"resource": "amd.com/gpu"},
    "of two vendors": asking({GPU: 1, "amd.com/gpu": 1}),
    "whole and slice": asking({GPU: 1, "nvidia.com/mig-1g.10gb": 1}),
    "two containers": {"containers": [container("a", gpus=1), container("b", gpus=2)]},
    "init container": {"initContainers": [container("init", gpus=2)]},
    "init container alone": {"gpus": None, "initContainers": [container("init", gpus=1)]},
    "sidecar": {"initContainers": [container("side", gpus=1, restartPolicy="Always")]},
    "pod-level": {"gpus": None, "resources": {"limits": {GPU: 1}}},
    "all devices": {"gpus": None, "containers": [container(env=[VISIBLE])]},
    "all devices and one": {"containers": [container(gpus=1, env=[VISIBLE])]},
    "node name": {"nodeName": "ro-t4"},
    "node name of nobody": {"nodeName": "ro-nobody"},
    "node selector of nobody": {"nodeSelector": {"no": "node"}},
    "affinity that matches nothing": {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]}}}
    },
    "gate of somebody": {"schedulingGates": [{"name": "example.com/wait"}]},
    "runtime class": {"runtimeClassName": "nvidia"},
    "runtime class of nobody": {"runtimeClassName": "nobody"},
    "other scheduler": {"schedulerName": "volcano"},
    "tolerates all": {"tolerations": [{"operator": "Exists"}]},
    "host network and privileged": {
        "hostNetwork": True,
        "hostPID": True,
        "containers": [container(gpus=1, securityContext={"privileged": True})],
    },
    "claims": {
        "gpus": None,
        "containers": [container(resources={"claims": [{"name": "gpu"}]})],
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}],
    },
}


def odd_pods(namespace: str) -> dict[str, Tree]:
    """The pods by what is odd about them."""
    return {name: pod(f"odd-{index:02}", namespace, **spec) for index, (name, spec) in enumerate(SPECS.items())}


def templates(trees: dict[str, Tree]) -> dict[str, Tree]:
    """Deployments and Jobs with the same pods as templates."""
    found: dict[str, Tree] = {}
    for name, tree in trees.items():
        metadata, labels = tree["metadata"], {"app": tree["metadata"]["name"]}
        template = {"metadata": {"labels": labels}, "spec": tree["spec"]}
        found[f"Deployment: {name}"] = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata,
            "spec": {"selector": {"matchLabels": labels}, "template": template},
        }
        found[f"Job: {name}"] = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": metadata,
            "spec": {"template": {"spec": {**tree["spec"], "restartPolicy": "Never"}}},
        }
    return found


def operator_pods(namespace: str, node: str) -> list[Tree]:
    """Pods as NVIDIA's GPU Operator makes them on a node: validators name it, and belong to a DaemonSet."""
    owner = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "name": "nvidia-operator-validator",
        "uid": "00000000-0000-4000-8000-000000000001",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    common: Tree = {
        "nodeName": node,
        "restartPolicy": "OnFailure",
        "runtimeClassName": "nvidia",
        "serviceAccountName": "nvidia-operator-validator",
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
    }
    plugin = pod(
        "nvidia-device-plugin-validator-x",
        namespace,
        initContainers=[container("plugin-validation", gpus=1, securityContext={"allowPrivilegeEscalation": False})],
        gpus=None,
        **common,
    )
    cuda = pod(
        "nvidia-cuda-validator-x",
        namespace,
        container("nvidia-cuda-validator", env=[VISIBLE]),
        initContainers=[container("cuda-validation", env=[VISIBLE], securityContext={"privileged": True})],
        **common,
    )
    daemon = pod(
        "nvidia-dcgm-exporter-x",
        namespace,
        container("exporter", env=[VISIBLE], securityContext={"privileged": True}),
        runtimeClassName="nvidia",
        priorityClassName="system-node-critical",
        tolerations=[{"operator": "Exists"}],
        affinity={
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
                    ]
                }
            }
        },
    )
    trees = [plugin, cuda, daemon]
    for tree in trees:
        tree["metadata"]["ownerReferences"] = [dict(owner)]
    return trees
