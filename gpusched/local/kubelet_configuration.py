"""The KubeletConfiguration of a node whose containers are pretended: it takes and changes nothing of its host."""

from pathlib import Path

from gpusched.local.ports import LOOPBACK


def configuration(folder: Path, runtime: Path, port: int, *, user_namespace: bool) -> dict[str, object]:
    """Files below `folder`, the runtime's socket at `runtime`, the kubelet's own server on `port`.

    Without control groups of its own, as there is nothing to limit; `user_namespace` where it is not really root.
    """
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "address": LOOPBACK,
        "port": port,
        "healthzPort": 0,
        "containerRuntimeEndpoint": f"unix://{runtime}",
        "cgroupDriver": "cgroupfs",
        "cgroupsPerQOS": False,
        "enforceNodeAllocatable": [],
        "failCgroupV1": False,
        "failSwapOn": False,
        "makeIPTablesUtilChains": False,
        "resolvConf": "",
        "podLogsDir": str(folder / "pods"),
        "volumePluginDir": str(folder / "plugins"),
        # The disk of a test machine may be nearly full; nothing is written here.
        "evictionHard": {"memory.available": "1Mi", "nodefs.available": "0%", "imagefs.available": "0%"},
        "imageGCHighThresholdPercent": 100,
        "nodeStatusUpdateFrequency": "1s",
        "featureGates": {"KubeletInUserNamespace": user_namespace},
    }
