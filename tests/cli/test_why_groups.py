import json

import pytest

from tests.build import Tree, bound, h100_node, namespace, pod, t4_node
from tests.cli.commands import Folder, run
from tests.placement.scene import gated
from tests.simulate.scene import cpu_node, owned, workload

FULL = [t4_node("t", gpus=2), bound(pod("old", gpus=2), "t")]


def made(owner: str, number: int, created: str = "", **extra: object) -> Tree:
    """A pod of a Job, with kube-scheduler's word on it."""
    tree = owned(pod(f"{owner}-{number}", **extra), "Job", owner)
    tree["metadata"] |= {"uid": f"{owner}-{number}", "creationTimestamp": created}
    said = f"0/{number + 1} nodes are available: {number + 1} Insufficient nvidia.com/gpu."
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": said}
    tree["status"] = {"phase": "Pending", "conditions": [condition]}
    return tree


def test_pods_of_one_workload_are_told_together(folder: Folder) -> None:
    pods = [made("train", number) for number in range(5)]
    ran = run("why", "-A", "--cluster", folder.documents("c.yaml", *FULL, made("lone", 0, gpus=9), *pods))

    assert ran.code == 1
    assert ran.out == (
        "5 pods of Job/train in team-a  PENDING  1 nvidia.com/gpu\n"
        "  train-0, train-1, train-2 and 2 more\n"
        "    1 node   native-resources  not enough nvidia.com/gpu: asks for 1, none free (t)\n"
        "Nearest  t: not enough nvidia.com/gpu: asks for 1, none free\n"
        "Change   Wait: pod team-a/old on t holds it\n"
        "Note     kube-scheduler says: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu.\n"
        "\n"
        "pod team-a/lone-0 of Job/lone  PENDING  9 nvidia.com/gpu\n"
        "    1 node   native-resources  not enough nvidia.com/gpu: asks for 9, none free (t)\n"
        "Nearest  t: not enough nvidia.com/gpu: asks for 9, none free\n"
        "Change   Ask for nvidia.com/gpu: 2 in container main and wait: pod team-a/old on t holds it\n"
        "Note     change it in the pod template: Job/lone made this pod and would make the same again\n"
        "Note     kube-scheduler says: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu.\n"
    )


def test_the_longest_wait_counts(folder: Folder) -> None:
    pods = [made("train", number, f"202{number}-01-01T00:00:00Z") for number in (6, 0)]
    ran = run("why", "--cluster", folder.documents("c.yaml", *FULL, *pods))
    alone = run("why", "--cluster", folder.documents("d.yaml", *FULL, pods[1]))

    age = alone.out.splitlines()[0].split("PENDING ")[1]
    assert ran.out.splitlines()[0] == f"2 pods of Job/train in team-a  PENDING {age}"


def test_pods_without_an_owner(folder: Folder) -> None:
    ran = run("why", "--cluster", folder.documents("c.yaml", *FULL, pod("a"), pod("b"), pod("c", "team-b")))

    assert [line for line in ran.out.splitlines() if "PENDING" in line] == [
        "2 pods in team-a  PENDING  1 nvidia.com/gpu",
        "pod team-b/c  PENDING  1 nvidia.com/gpu",
    ]


def test_pods_on_nodes_with_the_nodes(folder: Folder) -> None:
    cluster = folder.documents("c.yaml", t4_node("t", gpus=2), t4_node("u"))
    ran = run("why", "--cluster", cluster, "-f", folder.documents("w.yaml", workload("Deployment", "w", replicas=3)))

    assert ran.code == 0
    assert ran.out.splitlines()[:2] == [
        "3 pods of Deployment/w in team-a  ON NODE u, t ×2  1 nvidia.com/gpu",
        "  w-0, w-1, w-2",
    ]


def test_gated_pods_with_their_places(folder: Folder) -> None:
    pods = [gated(name, owner=None) for name in "abc"]
    ran = run("why", "--cluster", folder.documents("c.yaml", *FULL, namespace(quota="*=2"), *pods))

    assert "  places 1 to 3 in the line of namespace team-a; slots held by old" in ran.out.splitlines()


@pytest.fixture
def many(folder: Folder) -> str:
    """A dump with 23 workloads that wait, the last of them with two pods."""
    lone = [made(f"job{number}", 0) for number in range(23)]
    return str(folder.documents("c.yaml", *FULL, *lone, made("job22", 1)))


def test_no_more_than_can_be_read(many: str) -> None:
    ran = run("why", "-A", "--cluster", many)
    heads = [line for line in ran.out.splitlines() if "PENDING" in line]

    assert len(heads) == 20
    assert heads[0].startswith("2 pods of Job/job22 in team-a")
    assert ran.out.endswith("\n\n3 more groups of 3 pods: -o wide shows all, -n NAMESPACE those of one\n")


def test_all_of_them(many: str) -> None:
    wide = run("why", "-A", "--cluster", many, "-o", "wide")
    whole = run("why", "-A", "--cluster", many, "-o", "json")
    names = run("why", "-A", "--cluster", many, "-o", "name")

    assert sum("PENDING" in line for line in wide.out.splitlines()) == 23
    assert "more group" not in wide.out
    assert len(json.loads(whole.out)["pods"]) == len(names.out.splitlines()) == 24


def test_claims_of_ones_own_do_not_set_pods_apart(folder: Folder) -> None:
    word = "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": word}
    pods = []
    for name in ("db-0", "db-1"):
        volumes = [{"name": "d", "persistentVolumeClaim": {"claimName": f"data-{name}"}}]
        pods.append(owned(pod(name, volumes=volumes), "StatefulSet", "db") | {"status": {"conditions": [condition]}})
    ran = run("why", "--cluster", folder.documents("c.yaml", t4_node("t", gpus=2), *pods))

    assert ran.out.startswith("2 pods of StatefulSet/db in team-a  PENDING")
    assert "PersistentVolumeClaim data-db-0 is not bound to a volume yet" in ran.out


def _of_daemonset(name: str, node_name: str) -> Tree:
    field = {"key": "metadata.name", "operator": "In", "values": [node_name]}
    terms = [{"matchFields": [field]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return owned(pod(name, affinity={"nodeAffinity": required}), "DaemonSet", "ds")


def test_all_waiting_pods_of_a_daemonset_are_told(folder: Folder) -> None:
    pods = [_of_daemonset(f"ds-{name}", name) for name in ("c", "d")]
    dump = folder.documents("c.yaml", h100_node("h"), cpu_node("c"), cpu_node("d"), workload("DaemonSet", "ds"), *pods)
    ran = run("why", "daemonset/ds", "--cluster", dump)

    assert ran.code == 1
    assert ran.out.splitlines() == [
        "2 pods of DaemonSet/ds in team-a  PENDING  1 nvidia.com/gpu",
        "  ds-c, ds-d",
        "    2 nodes  no-resource  no nvidia.com/gpu at all (such as c)",
        'Change   Add nodeSelector nvidia.com/gpu.present: "true" to the pod template: this node offers no',
        "         nvidia.com/gpu",
    ]
    told = run("why", "daemonset/ds", "--cluster", dump, "-o", "json").json
    assert (told["name"], [other["name"] for other in told["others"]]) == ("ds-c", ["ds-d"])


def test_all_waiting_pods_of_a_deployment_are_told(folder: Folder) -> None:
    pods = [owned(pod(f"web-1-{gpus}", gpus=gpus), "ReplicaSet", "web-1") for gpus in (3, 4)]
    running = owned(bound(pod("web-1-x"), "t"), "ReplicaSet", "web-1")
    ran = run("why", "deploy/web", "--cluster", folder.documents("c.yaml", *FULL[:1], running, *pods), "-o", "name")

    assert ran.out.split() == ["pod/web-1-3", "pod/web-1-4"]


def test_all_waiting_pods_of_a_workload_of_the_manifests_are_told(folder: Folder) -> None:
    files = folder.documents("p.yaml", workload("Deployment", "web", replicas=3))
    ran = run("why", "deploy/web", "-f", files, "--cluster", folder.documents("c.yaml", t4_node("t")))

    assert ran.out.startswith("2 pods of Deployment/web in team-a  PENDING")
