import pytest

from gpusched.simulate.reasons.shortfall import Shortfalls, why_refused
from tests.build import Tree, bound, container, h100_node, namespace, pod, t4_node
from tests.simulate.scene import manifest, manifests, owned, workload, world_of

TURING = pod(annotations={"gpusched.io/families": "turing"}, labels={"app": "web"})
HOPPER = namespace(families="hopper")
NODES = [t4_node("t4", gpus=4), h100_node("h100")]
SAID = (
    "gpu-policy-family: pod asks for turing; namespace team-a allows hopper. Set gpusched.io/families to one of these."
)
QUOTA = (
    'pods "web-1" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=1, used:'
    " requests.nvidia.com/gpu=1, limited: requests.nvidia.com/gpu=1"
)


def web(kind: str = "Deployment", template: Tree = TURING, **spec: object) -> Tree:
    return workload(kind, "web", template=template, **spec)


def pods_of(kind: str, count: int, **extra: object) -> list[Tree]:
    return [owned(bound(pod(f"web-{index}", **extra), "t4"), kind, "web") for index in range(count)]


def told(kind: str, message: str, time: str = "2030-01-01T00:00:00Z") -> Tree:
    about = {"kind": kind, "namespace": "team-a", "name": "web"}
    metadata = {"name": time, "namespace": "team-a"}
    event = {"reason": "FailedCreate", "message": message, "lastTimestamp": time, "involvedObject": about}
    return {"apiVersion": "v1", "kind": "Event", "metadata": metadata, **event}


def failing(tree: Tree, message: str) -> Tree:
    return {**tree, "status": {"conditions": [{"type": "ReplicaFailure", "status": "True", "message": message}]}}


def found(*trees: Tree, events: list[Tree] | None = None) -> list[str]:
    standing = manifests([*NODES, *trees])
    shortfalls = Shortfalls(standing, manifests(events or []), world_of(*NODES, *trees))
    return [f"{lack.counts}: {lack.reason}" for lack in shortfalls.all(standing)]


@pytest.mark.parametrize(
    ("trees", "counts"),
    [
        ([web(replicas=2)], "0 of 2 pods run, 2 refused"),
        ([web("StatefulSet", replicas=4), *pods_of("StatefulSet", 2)], "2 of 4 pods run, 2 refused"),
        (
            [web("ReplicaSet", replicas=2), owned(pod("web-a"), "ReplicaSet", "web")],
            "0 of 2 pods run, 1 pending, 1 refused",
        ),
        ([web("Job", parallelism=3, completions=2)], "0 of 2 pods run, 2 refused"),
        ([web("Job", parallelism=3, completions=4) | {"status": {"succeeded": 3}}], "0 of 1 pods run, 1 refused"),
        ([web("DaemonSet") | {"status": {"desiredNumberScheduled": 2}}], "0 of 2 pods run, 2 refused"),
        ([web("DaemonSet")], "0 of 1 pods run, 1 refused"),
    ],
)
def test_how_many_pods_a_workload_lacks(trees, counts):
    assert found(HOPPER, *trees) == [f"{counts}: {SAID}"]


@pytest.mark.parametrize(
    "trees",
    [
        [web(replicas=0)],
        [web("StatefulSet", replicas=2), *pods_of("StatefulSet", 2)],
        [web("Job", suspend=True)],
        [web("Job") | {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}],
        [web("CronJob", schedule="* * * * *")],
        [web("DaemonSet") | {"status": {"desiredNumberScheduled": 0}}],
        [workload("Deployment", "web", template=pod(gpus=1))],
        [web() | {"metadata": {"name": "web", "namespace": "team-a", "deletionTimestamp": "2030-01-01T00:00:00Z"}}],
        [web() | {"apiVersion": "example.org/v1"}],
    ],
)
def test_workloads_that_lack_nothing_that_was_refused(trees):
    assert found(HOPPER, *trees) == []


def test_pods_that_are_not_there_yet_lack_nothing():
    assert found(web(replicas=2)) == []


def test_a_deployment_counts_the_pods_of_its_replica_sets():
    replicas = owned(workload("ReplicaSet", "web-5d", template=TURING, replicas=4), "Deployment", "web")
    pods = [owned(bound(pod(name), "t4"), "ReplicaSet", "web-5d") for name in ("a", "b")]

    assert found(HOPPER, web(replicas=4), replicas, *pods) == [f"2 of 4 pods run, 2 refused: {SAID}"]


def test_a_rollout_that_is_refused():
    """Its old pods stay, as many as it wants."""
    pods = pods_of("Deployment", 2)

    assert found(HOPPER, failing(web(replicas=2), "no"), *pods) == [
        f"2 of 2 pods run, those of the present template are refused: {SAID}"
    ]


def test_a_resource_quota():
    trees = [failing(web(replicas=2), QUOTA), *pods_of("Deployment", 1)]
    (lack,) = Shortfalls(manifests(trees), [], world_of(*NODES, *trees)).all(manifests(trees))
    answer = why_refused(lack, world_of(*NODES, *trees))

    assert answer.lacks == (
        "1 of 2 pods run, 1 refused: ResourceQuota gpus is used up: 1 of 1 requests.nvidia.com/gpu, 1 requested"
    )
    assert answer.view.notes == (answer.lacks, f"its controller could not create pods: {QUOTA}")
    assert answer.view.admission.allowed
    assert answer.view.unschedulable.suggestion == "Free some of ResourceQuota gpus, or let an admin raise it"
    assert (answer.view.name, answer.view.owner, answer.view.placement) == ("web-1", "Deployment/web", None)


def test_words_of_other_admission():
    message = 'create Pod web-0 in StatefulSet web failed error: pods "web-0" is forbidden: violates PodSecurity'

    assert found(web("StatefulSet"), events=[told("StatefulSet", message)]) == [
        "0 of 1 pods run, 1 refused: violates PodSecurity"
    ]


def test_what_gpusched_would_allow_by_now():
    message = 'admission webhook "pods.mutate.gpusched.io" denied the request: gpu-policy-family: no'
    trees = [web("Job")]
    (lack,) = Shortfalls(manifests(trees), [manifest(told("Job", message))], world_of(*NODES, *trees)).all(
        manifests(trees)
    )

    assert lack.change(world_of(*NODES)) == (
        "Wait: gpusched would let it pass now, and its controller tries again within minutes"
    )


@pytest.mark.parametrize(("created", "lacking"), [("2029-12-31T23:59:59Z", 1), ("2030-01-01T00:00:01Z", 0)])
def test_an_event_from_before_the_last_pod_is_over(created, lacking):
    one = pods_of("Job", 1)
    one[0]["metadata"]["creationTimestamp"] = created

    assert len(found(web("Job", parallelism=2), *one, events=[told("Job", QUOTA)])) == lacking


def test_a_namespace_that_goes_refuses_everything():
    message = 'pods "web-x" is forbidden: unable to create new content in namespace because it is being terminated'

    assert found(web("Job"), events=[told("Job", message)]) == []


def test_a_cron_job_whose_jobs_are_refused():
    cron = web("CronJob")
    assert found(HOPPER, cron, events=[told("CronJob", "Error creating job: no")]) == [
        f"0 of 1 pods run, 1 refused: {SAID}"
    ]


def test_workloads_without_gpus_are_left_to_their_owners():
    plain = workload("Job", "web", template=pod(gpus=None))
    shortfalls = Shortfalls(manifests([plain]), [manifest(told("Job", QUOTA))], world_of(*NODES, plain))

    assert list(shortfalls.all(manifests([plain]))) == []
    assert shortfalls.of(manifest(plain)).wanted == 1


def test_a_misspelt_gpu_is_about_gpus():
    misspelt = pod("p", "team-a", container(resources={"limits": {"nvidia.com/gpus": "1"}}))

    assert len(found(web("Job", template=misspelt), events=[told("Job", QUOTA)])) == 1
