import pytest

from gpusched.core.names import LOWERED_ANNOTATION, POLICY_HASH_ANNOTATION
from gpusched.simulate.reasons.why import (
    Target,
    Why,
    find_planned,
    find_standing,
    find_workloads,
    parse_target,
    why_planned,
    why_standing,
    why_workload,
)
from tests.build import Tree, bound, h100_node, namespace, pod, t4_node
from tests.simulate.scene import manifest, manifests, owned, simulate, workload, world_of


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("nb-7", Target("", "", "nb-7")),
        ("pod/nb-7", Target("pod", "", "nb-7")),
        ("po/nb-7", Target("pod", "", "nb-7")),
        ("pods/nb-7", Target("pod", "", "nb-7")),
        ("deploy/web", Target("deployment", "", "web")),
        ("Deployment/web", Target("deployment", "", "web")),
        ("deployments.apps/web", Target("deployment", "", "web")),
        ("sts/db", Target("statefulset", "", "db")),
        ("job/j", Target("job", "", "j")),
        ("jobs/j", Target("job", "", "j")),
        ("pytorchjob/t", Target("pytorchjob", "", "t")),
        ("pods.v1/x", Target("pod", "", "x")),
    ],
)
def test_names_as_users_type_them(text: str, target: Target) -> None:
    assert parse_target(text)[0] == target


def test_a_first_part_may_be_a_namespace() -> None:
    assert parse_target("team-a/nb-7") == (Target("team-a", "", "nb-7"), Target("", "team-a", "nb-7"))
    assert parse_target("job/nb-7")[1] == Target("", "job", "nb-7")


def _names(target: Target, *trees: Tree, gpus: int = 8) -> list[str]:
    return [outcome.planned.name for outcome in find_planned(simulate([t4_node("t", gpus=gpus)], *trees), target)]


def test_pods_of_manifests_are_found_by_name_namespace_and_workload() -> None:
    trees = [workload("Deployment", "web", replicas=2), pod("web-0", "other"), pod("web")]

    assert _names(Target("", "", "web-1"), *trees) == ["web-1"]
    assert _names(Target("", "other", "web-0"), *trees) == ["web-0"]
    assert _names(Target("deployment", "", "web"), *trees) == ["web-0", "web-1"]
    assert _names(Target("pod", "", "web"), *trees) == ["web"]
    assert _names(Target("", "", "nobody"), *trees) == []


def test_a_pod_that_is_not_placed_comes_before_others_of_its_workload() -> None:
    tree = workload("Deployment", "w", replicas=2)

    assert _names(Target("deployment", "", "w"), tree, gpus=1) == ["w-1", "w-0"]


def test_pods_of_a_dump_are_found_through_their_owners() -> None:
    trees = [
        owned(pod("web-5d-x"), "ReplicaSet", "web-5d"),
        owned(pod("db-0"), "StatefulSet", "db"),
        owned(pod("nightly-28-y"), "Job", "nightly-28"),
        pod("bare", "other"),
    ]
    dump = [manifest(tree) for tree in trees]

    def found(kind: str, namespace: str, name: str) -> list[str]:
        return [item.name for item in find_standing(dump, Target(kind, namespace, name))]

    assert found("deployment", "", "web") == ["web-5d-x"]
    assert found("replicaset", "", "web-5d") == ["web-5d-x"]
    assert found("statefulset", "", "db") == ["db-0"]
    assert found("cronjob", "", "nightly") == ["nightly-28-y"]
    assert found("", "other", "bare") == ["bare"]
    assert found("", "team-a", "bare") == []
    assert found("deployment", "", "db") == []


def _standing(tree: Tree, *cluster: Tree) -> Why:
    world = world_of(*cluster, tree)
    return why_standing(manifests([*cluster, tree])[-1], world)


def test_a_pending_pod_of_a_dump_is_explained() -> None:
    answer = _standing(pod("p", annotations={"gpusched.io/gpu-memory": "6Gi"}), t4_node("t", gpus=2, replicas=4))

    assert answer.view.placement is None
    assert answer.view.unschedulable is not None
    assert [reason.code for reason in answer.view.unschedulable.reasons] == ["memory-claim"]
    assert answer.view.unschedulable.suggestion == "Set gpusched.io/gpu-memory: 3648Mi"
    assert answer.demand == "1 nvidia.com/gpu, claim 6Gi per slot"
    assert answer.explanation is not None
    assert (answer.explanation.nearest, answer.explanation.nearest_lacks) == ("t", "3648Mi left for a claim per slot")


def test_a_pending_pod_that_fits_is_about_to_be_placed() -> None:
    answer = _standing(pod("p"), t4_node("t"))

    assert (answer.view.placement, answer.view.unschedulable) == (None, None)
    assert answer.history == "node t takes it now: kube-scheduler should place it soon"


@pytest.mark.parametrize(
    ("tree", "history"),
    [
        (bound(pod("p"), "h"), "gpusched bound it to h100-80gb-hbm3 (hopper); placement pack"),
        (
            bound(pod("p"), "h", ours=False),
            "it was bound without gpusched: by another scheduler, spec.nodeName, or before gpusched was installed",
        ),
        (bound(pod("p"), "gone"), "its node is not in the cluster"),
        (bound(pod("p", gpus=None), "h"), "it asks for no GPU: kube-scheduler placed it"),
    ],
)
def test_a_bound_pod_says_why_it_is_there(tree: Tree, history: str) -> None:
    answer = _standing(tree, h100_node("h"))

    assert answer.history == history
    assert answer.view.placement is not None
    assert answer.view.placement.node == tree["spec"]["nodeName"]


def _gated(name: str, created: str, gpus: int = 2) -> Tree:
    tree = pod(name, gpus=gpus, schedulingGates=[{"name": "gpusched.io/quota"}])
    tree["metadata"] |= {"uid": f"uid-{name}", "creationTimestamp": created}
    return tree


def test_a_gated_pod_of_a_dump_has_its_place_and_the_holders() -> None:
    cluster = [
        h100_node("h"),
        namespace(families="hopper", quota="*=2"),
        bound(pod("holder-b"), "h"),
        bound(pod("holder-a"), "h"),
        _gated("first", "2026-01-01T00:00:00Z"),
    ]
    answer = _standing(_gated("second", "2026-01-02T00:00:00Z"), *cluster)

    assert answer.view.gated == "quota"
    assert answer.line == "place 2 in the line of namespace team-a; slots held by holder-a, holder-b"


def test_a_gated_pod_of_manifests_has_them_too() -> None:
    cluster = [h100_node("h"), namespace(families="hopper", quota="*=1")]
    simulation = simulate(cluster, *(pod(name) for name in "abc"))

    assert [why_planned(outcome, simulation).line for outcome in simulation.outcomes] == [
        "",
        "place 1 in the line of namespace team-a; slots held by a",
        "place 2 in the line of namespace team-a; slots held by a",
    ]


def test_pods_without_the_gate_that_wait_for_a_node_hold_the_quota_too() -> None:
    cluster = [h100_node("h", gpus=1), namespace(families="hopper", quota="hopper=2"), bound(pod("runs"), "h")]
    freed = pod("freed")
    freed["metadata"]["uid"] = "uid-freed"

    answer = _standing(_gated("next", "2026-01-02T00:00:00Z", gpus=1), *cluster, freed)

    assert answer.line == (
        "place 1 in the line of namespace team-a; slots held by runs and the ungated pending pod freed"
    )


def test_the_gate_of_another_is_named() -> None:
    assert _standing(pod("p", schedulingGates=[{"name": "example.com/x"}]), t4_node()).view.gated == "example.com/x"


def _lowered(families: str, fingerprint: str) -> Tree:
    term = {"matchExpressions": [{"key": "gpusched.io/family", "operator": "In", "values": [families]}]}
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    notes = {LOWERED_ANNOTATION: f"families={families} (namespace team-a)", POLICY_HASH_ANNOTATION: fingerprint}
    return pod("p", annotations=notes, affinity={"nodeAffinity": affinity})


def test_lowered_affinity_of_a_dump_is_named_by_the_rule() -> None:
    answer = _standing(_lowered("hopper", "x"), t4_node("t"), namespace(families="hopper"))

    assert answer.view.unschedulable is not None
    assert [reason.code for reason in answer.view.unschedulable.reasons] == ["family"]


def test_a_pod_of_an_older_policy_should_be_recreated() -> None:
    answer = _standing(_lowered("hopper", "older"), t4_node("t"), namespace(families="turing"))

    assert answer.view.unschedulable is not None
    assert [reason.code for reason in answer.view.unschedulable.reasons] == ["native-affinity"]
    assert answer.history == (
        "it was created under an older policy (families=hopper (namespace team-a)): "
        "recreate it, so that the policy of today holds"
    )


def test_a_pending_pod_that_fits_some_node_is_about_to_be_placed_whatever_other_nodes_say() -> None:
    answer = _standing(
        pod("p", gpus=2), h100_node("h"), t4_node("tainted", taints=[{"key": "x", "effect": "NoSchedule"}])
    )

    assert (answer.view.unschedulable, answer.explanation) == (None, None)
    assert answer.history == "node h takes it now: kube-scheduler should place it soon"


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_is_on_no_node_any_more(phase: str) -> None:
    answer = _standing(bound(pod("p"), "h", phase=phase), h100_node("h"))

    assert (answer.finished, answer.view.placement) == (phase, None)
    assert answer.view.notes == (f"finished ({phase}): it holds no GPU any more",)


def test_a_node_that_the_dump_lacks_is_told_of_pods_bound_by_others_too() -> None:
    outside = _standing(bound(pod("p"), "gone", ours=False), h100_node("h"))
    plain = _standing(bound(pod("p", gpus=None), "gone"), h100_node("h"))

    assert outside.history.endswith("before gpusched was installed; its node is not in the cluster")
    assert plain.history == "it asks for no GPU: kube-scheduler placed it; its node is not in the cluster"


def _of_workload(tree: Tree, *cluster: Tree) -> Why:
    dump = manifests([*cluster, tree])
    simulation = simulate(cluster)
    (found,) = find_workloads(dump, Target(tree["kind"].lower(), "", tree["metadata"]["name"]))
    answer = why_workload(found, simulation)
    assert answer is not None
    return answer


def test_a_workload_without_pods_is_judged_as_if_it_made_them_now() -> None:
    refused = _of_workload(workload("Deployment", "web", template=pod(gpus="0.5"), replicas=2), h100_node("h"))
    fitting = _of_workload(workload("Deployment", "web", replicas=2), h100_node("h"))
    too_large = _of_workload(workload("Job", "j", template=pod(gpus=9)), h100_node("h", gpus=4))

    assert refused.view.admission.code == "gpu-quantity"
    assert (fitting.view.placement, fitting.history) == (None, "node h would take it")
    assert fitting.view.notes == ("there is no pod of it: judged as if it made one now",)
    assert too_large.view.unschedulable is not None
    assert too_large.view.unschedulable.suggestion == "Ask for nvidia.com/gpu: 4 in container main"


def test_a_workload_that_makes_no_pods_now_is_judged_as_if_it_made_one() -> None:
    answer = _of_workload(workload("Deployment", "web", replicas=0), h100_node("h"))

    assert (answer.view.name, answer.history) == ("web-0", "node h would take it")
    assert answer.dormant == "it makes no pods: replicas 0: judged as if it made one now"
    assert answer.view.notes == (answer.dormant,)


def test_a_pod_is_no_workload_without_pods() -> None:
    assert find_workloads(manifests([pod("p")]), Target("", "", "p")) == []


def test_the_change_of_a_pod_that_a_controller_made():
    tree = owned(
        pod("web-1", annotations={"gpusched.io/families": "hopper"}, labels={"pod-template-hash": "5d"}),
        "ReplicaSet",
        "web-5d",
    )
    waiting = why_standing(manifest(tree), world_of(t4_node("t"), tree))
    alone = why_standing(manifest(pod("p", gpus=9)), world_of(t4_node("t")))

    assert waiting.view.owner == "Deployment/web"
    assert waiting.view.notes == (
        "change it in the pod template: Deployment/web made this pod and would make the same again",
    )
    assert alone.view.notes == ()


def test_who_lifts_the_gate_of_another() -> None:
    note = "scheduling gate example.com/x: whoever set it must lift it, gpusched does not"
    tree = pod("p", schedulingGates=[{"name": "example.com/x"}])

    assert _standing(tree, t4_node()).view.notes == (note,)
    (outcome,) = simulate([t4_node()], tree).outcomes
    assert outcome.notes == (note,)


def test_a_pod_that_is_going_waits_for_no_node() -> None:
    tree = pod("p")
    tree["metadata"] |= {"deletionTimestamp": "2030-01-01T00:00:00Z", "finalizers": ["example.com/keep"]}
    answer = _standing(tree, t4_node("t"))

    assert (answer.history, answer.view.unschedulable) == ("", None)
    assert answer.view.notes == (
        "it is being deleted and holds no GPU: it waits for finalizer example.com/keep, which its owner must remove",
    )
