from gpusched.simulate.check import Check
from gpusched.simulate.result import AdmissionView, CheckView
from gpusched.simulate.world import load
from tests.build import Tree, h100_node, namespace, pod, t4_node
from tests.simulate.scene import configured, manifests, messages, owned, workload, world_of


def checked(*trees: Tree, cluster: tuple[Tree, ...] | None = None) -> Check:
    world = load([], configured(), known=False) if cluster is None else world_of(*cluster)
    check = Check(world)
    check.run(manifests(trees))
    return check


def verdicts(check: Check) -> list[tuple[str, str, str | None]]:
    return [(view.kind, view.name, view.admission.code) for view in check.views]


def test_one_entry_per_object_as_applied() -> None:
    check = checked(workload("Deployment", "d", replicas=5), pod("p", gpus="500m"), workload("CronJob", "c"))

    assert verdicts(check) == [("Deployment", "d", None), ("Pod", "p", "gpu-quantity"), ("CronJob", "c", None)]


def test_the_entry_of_an_object() -> None:
    (view,) = checked(workload("Job", "j", parallelism=3)).views
    allowed = AdmissionView(allowed=True, code=None, message=None, warnings=(), patch=())

    assert view == CheckView("team-a", "j", "Job", None, "f.yaml:1", allowed)


def test_the_owner_of_a_pod_is_told() -> None:
    assert [view.owner for view in checked(owned(pod("p"), "Job", "j")).views] == ["Job/j"]


def test_a_refusal_of_a_template_is_that_of_the_object_even_without_replicas() -> None:
    check = checked(workload("Deployment", "d", replicas=0, template=pod(gpus="500m")))

    assert verdicts(check) == [("Deployment", "d", "gpu-quantity")]


def test_without_a_cluster_nothing_is_concluded_from_what_is_absent() -> None:
    assert [view.admission.warnings for view in checked(pod("p")).views] == [()]
    (view,) = checked(pod("p"), cluster=(h100_node("h", gpus=None),)).views
    assert "gpu-no-node" in [warning.code for warning in view.admission.warnings]


def test_namespaces_of_manifests_and_dump_hold() -> None:
    asking = pod("p", annotations={"gpusched.io/families": "turing"})
    cluster = (t4_node("t"), namespace("team-a", families="hopper"))

    assert verdicts(checked(asking, cluster=cluster)) == [("Pod", "p", "gpu-policy-family")]
    assert verdicts(checked(asking, namespace("team-a", families="hopper"))) == [("Pod", "p", "gpu-policy-family")]
    assert verdicts(checked(asking, namespace("team-a", families="turing"), cluster=cluster)) == [("Pod", "p", None)]


def test_a_refused_namespace_refuses_what_is_in_it() -> None:
    check = checked(namespace("team-a", mode="strict"), pod("p"), workload("Deployment", "d"), pod("q", "other"))

    assert [(view.name, view.admission.code) for view in check.namespaces] == [("team-a", "policy-malformed")]
    assert verdicts(check) == [
        ("Pod", "p", "policy-malformed"),
        ("Deployment", "d", "policy-malformed"),
        ("Pod", "q", None),
    ]


def test_what_cannot_be_read_is_reported() -> None:
    check = checked(workload("Deployment", "d", template=pod(tolerations="x")), pod("p", priority="high"))

    assert [path for path, _ in messages(check.faults)] == ["spec.template.spec.tolerations", "spec.priority"]
    assert verdicts(check) == []


def test_what_is_no_pod_at_all_is_reported_and_left_out() -> None:
    check = checked(workload("Deployment", "d") | {"spec": {}}, pod("p") | {"spec": {}}, pod("q"))

    assert verdicts(check) == [("Pod", "q", None)]
    assert [path for path, _ in messages(check.faults)] == ["spec.template", "spec.containers"]
