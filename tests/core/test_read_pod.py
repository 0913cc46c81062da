import pytest

from gpusched.core.fault import Fault
from gpusched.core.pod import Container, ContainerKind, Owner, Pod, PodSpec, Toleration
from gpusched.core.read_pod import read_pod, read_template
from tests.build import container, pod

ANY = "0.0.0.0"  # noqa: S104 - compared, never bound


def read(tree: object) -> tuple[Pod, list[Fault]]:
    faults: list[Fault] = []
    return read_pod(tree, faults), faults


def test_metadata_and_status() -> None:
    tree = {
        "metadata": {
            "generateName": "job-",
            "uid": "u1",
            "labels": {"app": "x"},
            "annotations": {"gpusched.io/gpu-memory": "6Gi"},
            "ownerReferences": [
                {"kind": "Node", "name": "n", "uid": "a"},
                {"kind": "Job", "name": "job", "uid": "b", "controller": True},
            ],
            "deletionTimestamp": "2025-01-01T00:00:00Z",
            "creationTimestamp": "2024-01-01T00:00:00Z",
        },
        "spec": {"nodeName": "n1"},
        "status": {"phase": "Running"},
    }

    assert read(tree) == (
        Pod(
            namespace="default",
            name="job-",
            spec=PodSpec(node_name="n1"),
            uid="u1",
            labels={"app": "x"},
            annotations={"gpusched.io/gpu-memory": "6Gi"},
            owner=Owner("Job", "job", "b"),
            phase="Running",
            deleting=True,
            created="2024-01-01T00:00:00Z",
        ),
        [],
    )


def test_namespace_falls_back_to_the_one_given() -> None:
    assert read_pod({"metadata": {"name": "p"}}, [], namespace="team-b").namespace == "team-b"
    assert read_pod(pod("p", "team-a"), [], namespace="team-b").namespace == "team-a"


def test_resources_may_be_null_or_absent() -> None:
    containers = [
        {"resources": None},
        {},
        {"resources": {"limits": None}},
        {"resources": {"limits": {"nvidia.com/gpu": "1"}, "requests": {}}},
    ]

    read_back, faults = read({"spec": {"containers": containers}})

    assert [dict(item.limits) for item in read_back.spec.containers] == [{}, {}, {}, {"nvidia.com/gpu": "1"}]
    assert faults == []


def test_containers() -> None:
    tree = pod(
        "p",
        "team-a",
        container("main", gpus=1, env=[{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {}}, {"name": "C"}]),
        initContainers=[
            container("warm", ports=[{"hostPort": 1}]),
            container(
                "side",
                gpus="2",
                restartPolicy="Always",
                ports=[{"hostPort": 53, "protocol": "UDP", "hostIP": "10.0.0.1"}],
            ),
        ],
    )

    read_back, faults = read(tree)

    assert read_back.spec.containers == (
        Container(
            name="main",
            kind=ContainerKind.APP,
            index=0,
            limits={"nvidia.com/gpu": "1"},
            env=(("A", "1"), ("B", None), ("C", "")),
        ),
        Container(name="warm", kind=ContainerKind.INIT, index=0),
        Container(
            name="side",
            kind=ContainerKind.SIDECAR,
            index=1,
            limits={"nvidia.com/gpu": "2"},
            host_ports=(("UDP", "10.0.0.1", 53),),
        ),
    )
    assert faults == []
    assert [item.field for item in read_back.spec.containers] == [
        "containers[0]",
        "initContainers[0]",
        "initContainers[1]",
    ]


@pytest.mark.parametrize(
    ("host_network", "ports"),
    [(True, (("TCP", ANY, 80), ("TCP", ANY, 9))), (False, (("TCP", ANY, 9),))],
)
def test_the_host_network_makes_container_ports_host_ports(host_network: bool, ports: object) -> None:
    main = container(ports=[{"containerPort": 80}, {"containerPort": 81, "hostPort": 9}])

    read_back, _ = read(pod("p", "team-a", main, hostNetwork=host_network))

    assert read_back.spec.containers[0].host_ports == ports


def test_the_rest_of_the_spec() -> None:
    tree = pod(
        runtimeClassName="nvidia",
        schedulerName="other",
        priority=100,
        nodeSelector={"disk": "ssd"},
        tolerations=[{"operator": "Exists"}, {"key": "a", "value": "b", "effect": "NoSchedule"}],
        schedulingGates=[{"name": "gpusched.io/quota"}],
        overhead={"memory": "120Mi"},
        resources={"requests": {"cpu": 1}, "limits": {"cpu": "2"}},
        volumes=[{"name": "a", "persistentVolumeClaim": {"claimName": "c"}}, {"name": "b", "emptyDir": {}}],
        resourceClaims=[{"name": "gpu"}],
    )

    spec = read(tree)[0].spec

    assert spec == PodSpec(
        containers=spec.containers,
        runtime_class="nvidia",
        scheduler_name="other",
        priority=100,
        node_selector={"disk": "ssd"},
        tolerations=(Toleration(operator="Exists"), Toleration(key="a", value="b", effect="NoSchedule")),
        gates=("gpusched.io/quota",),
        overhead={"memory": "120Mi"},
        pod_requests={"cpu": "1"},
        pod_limits={"cpu": "2"},
        unmodelled=("resourceClaims", "volumes"),
    )


@pytest.mark.parametrize(
    "source", ["configMap", "secret", "emptyDir", "projected", "downwardAPI", "hostPath", "csi", "nfs"]
)
def test_volumes_that_do_not_place_a_pod(source: str) -> None:
    assert read(pod(volumes=[{"name": "v", source: {}}]))[0].spec.unmodelled == ()


def test_the_claims_that_it_uses() -> None:
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in ("b", "a")]
    devices = [{"name": "gpu", "resourceClaimName": "gpu"}, {"name": "own", "resourceClaimTemplateName": "t"}]
    spec = {"volumes": [*volumes, {"name": "tmp", "emptyDir": {}}], "resourceClaims": devices}
    assert read_pod({"metadata": {"name": "p"}, "spec": spec}, []).claims == ("a", "b", "gpu")


@pytest.mark.parametrize(
    ("spec", "priority"),
    [
        ({}, 0),
        ({"priorityClassName": "system-node-critical"}, 2_000_001_000),
        ({"priorityClassName": "team-high"}, 0),
        ({"priorityClassName": "system-cluster-critical", "priority": 7}, 7),
    ],
)
def test_priority(spec: dict[str, object], priority: int) -> None:
    assert read(pod(**spec))[0].spec.priority == priority


PREFERRED = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}


@pytest.mark.parametrize(
    ("spec", "soft"),
    [
        ({}, False),
        ({"affinity": {"nodeAffinity": PREFERRED}}, True),
        ({"affinity": {"podAffinity": PREFERRED}}, True),
        ({"affinity": {"podAntiAffinity": PREFERRED}}, True),
        ({"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}}, False),
        (
            {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}]},
            True,
        ),
        (
            {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}]},
            False,
        ),
    ],
)
def test_soft_preferences(spec: dict[str, object], soft: bool) -> None:
    read_back, faults = read(pod(**spec))

    assert read_back.spec.soft_preferences is soft
    assert faults == []


def test_a_template_is_read_as_the_pod_it_makes() -> None:
    faults: list[Fault] = []
    owner = Owner("Deployment", "web")
    template = {"metadata": {"labels": {"app": 8}}, "spec": {"containers": {"name": "main"}}}

    made = read_template(template, faults, "spec.template", "team-a", "web-1", owner)

    assert made == Pod(namespace="team-a", name="web-1", spec=PodSpec(), owner=owner)
    assert faults == [
        Fault(
            "spec.template.metadata.labels.app",
            "must be a string, but YAML reads it as the number 8: put it in quotes as it was written",
        ),
        Fault("spec.template.spec.containers", 'must be a list, not a mapping: start every item with "- "'),
    ]


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"tolerations": [{"operator": "In"}]}, "spec.tolerations[0].operator"),
        ({"containers": [{"env": [{"name": "A", "value": 1}]}]}, "spec.containers[0].env[0].value"),
        (
            {"containers": [{"resources": {"limits": {"nvidia.com/gpu": True}}}]},
            "spec.containers[0].resources.limits[nvidia.com/gpu]",
        ),
        ({"nodeName": 7}, "spec.nodeName"),
        ({"priority": "high"}, "spec.priority"),
        (
            {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}},
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms",
        ),
    ],
)
def test_faults_name_the_field(spec: dict[str, object], path: str) -> None:
    assert [fault.path for fault in read({"spec": spec})[1]] == [path]


@pytest.mark.parametrize("tree", [None, [], "pod", 3, {"spec": []}, {"metadata": "x", "spec": None}])
def test_any_tree_is_read(tree: object) -> None:
    assert read(tree)[0].spec == PodSpec()
