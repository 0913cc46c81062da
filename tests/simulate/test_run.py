"""What becomes of pods, and what the cluster looks like afterwards."""

import pytest

from gpusched.core.codes import Code
from gpusched.simulate.result import PlacementView, node_views
from gpusched.simulate.run import Simulation
from tests.build import bound, container, h100_node, namespace, pod, t4_node
from tests.simulate.scene import (
    codes,
    configured,
    cpu_node,
    cpu_pod,
    manifests,
    only,
    placed,
    run,
    simulate,
    views,
    workload,
    world_of,
)

GPU = "nvidia.com/gpu"


def used(simulation: Simulation) -> dict[str, int]:
    """Slots in use by node, of nodes with one pool."""
    return {
        view.name: view.pools[0].used
        for view in node_views(simulation.world.cluster.nodes.values(), simulation.world.cluster)
        if view.pools
    }


def test_a_gpu_pod_goes_where_gpus_are() -> None:
    view = only([cpu_node(), t4_node("t4")], pod("p"))

    assert view.placement == PlacementView(node="t4", resources={GPU: 1}, score=10)
    assert (view.unschedulable, view.gated, view.owner, view.source) == (None, None, None, "f.yaml:1")


def test_a_pod_without_gpus_is_placed_by_the_native_rules() -> None:
    view = only([cpu_node()], cpu_pod())

    assert view.placement == PlacementView(node="cpu", resources={}, score=0)
    assert view.admission.patch == ()


def test_use_is_counted_after_placement() -> None:
    simulation = simulate([h100_node("h"), bound(pod("old", gpus=2), "h")], workload("Deployment", "w", replicas=3))

    assert used(simulation) == {"h": 5}


def test_pods_before_it_leave_no_room() -> None:
    assert placed([t4_node("t4")], pod("a"), pod("b")) == {"a": "t4", "b": None}


def test_finished_pods_hold_nothing_and_terminating_ones_do() -> None:
    done = bound(pod("done"), "t4", phase="Succeeded")
    assert placed([t4_node("t4"), done], pod("p")) == {"p": "t4"}

    going = bound(pod("going"), "t4")
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert placed([t4_node("t4"), going], pod("p")) == {"p": None}


def test_pods_on_nodes_that_are_not_in_the_dump_do_no_harm() -> None:
    assert placed([t4_node("t4"), bound(pod("far"), "elsewhere")], pod("p")) == {"p": "t4"}


def test_a_dump_given_twice_counts_once() -> None:
    dump = [h100_node("h", gpus=2), bound(pod("old"), "h")]

    assert used(simulate([*dump, *dump], pod("p"))) == {"h": 2}


def test_without_nodes_no_pod_is_placed() -> None:
    view = only([], pod("p"))

    assert view.placement is None
    assert codes(view) == {}
    assert view.unschedulable is not None
    assert view.unschedulable.suggestion == "the cluster has no nodes"


def test_a_preset_node_is_taken_without_asking() -> None:
    view = only([cpu_node()], pod("p", nodeName="cpu"))

    assert view.placement == PlacementView(node="cpu", resources={GPU: 1}, score=0)
    assert view.notes == (
        "spec.nodeName goes round the scheduler: no filter was asked",
        "the kubelet of cpu would fail it: not enough left of what it requests",
    )


def test_a_preset_node_that_is_not_there_is_named() -> None:
    view = only([cpu_node()], cpu_pod("p", nodeName="gone"))

    assert view.notes[-1] == "node gone is not in the dump"


def test_what_is_not_modelled_is_named() -> None:
    volume = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}
    assert only([t4_node()], pod("p", **volume)).notes == ("volumes are not modelled",)

    view = only([t4_node()], pod("p", schedulerName="volcano"))
    assert view.notes == ("scheduler volcano is simulated as if it were the default one",)


def test_a_pod_that_stands_already_is_pointed_out() -> None:
    view = only([t4_node("t4", gpus=2), bound(pod("p"), "t4")], pod("p"))

    assert view.notes == ("a pod of this name stands in the cluster already and is counted too",)


def test_a_daemonset_has_one_pod_on_each_node_that_matches() -> None:
    template = pod("t", nodeSelector={"gpu": "yes"})
    nodes = [
        h100_node("a", labels={"gpu": "yes"}),
        h100_node("b", labels={"gpu": "no"}),
        h100_node("c", labels={"gpu": "yes"}, unschedulable=True),
        h100_node("d", labels={"gpu": "yes"}, taints=[{"key": "mine", "effect": "NoExecute"}]),
    ]
    found = views(nodes, workload("DaemonSet", "ds", template=template))

    assert [(view.name, view.placement and view.placement.node) for view in found] == [("ds-a", "a"), ("ds-c", "c")]


def test_a_daemonset_pod_waits_for_its_own_node() -> None:
    full = [t4_node("a"), t4_node("b"), bound(pod("old"), "a")]
    first, second = views(full, workload("DaemonSet", "ds"))

    assert (first.placement, codes(first)) == (None, {"native-resources": 1})
    assert second.placement is not None


def test_a_daemonset_that_no_node_matches_has_no_pods() -> None:
    simulation = simulate([t4_node()], workload("DaemonSet", "ds", template=pod(nodeSelector={"a": "b"})))

    assert simulation.outcomes == []
    assert simulation.remarks == ["DaemonSet team-a/ds: no node matches it, so it has no pods"]


def test_a_refused_daemonset_counts_once() -> None:
    (view,) = views([t4_node("a"), t4_node("b")], workload("DaemonSet", "ds", template=pod(gpus="500m")))

    assert (view.name, view.admission.code) == ("ds-0", "gpu-quantity")


@pytest.mark.parametrize(("gpus", "names"), [(1, []), ("500m", ["w-0"])])
def test_an_object_without_pods_shows_only_when_it_is_refused(gpus: int | str, names: list[str]) -> None:
    found = views([t4_node()], workload("Deployment", "w", replicas=0, template=pod(gpus=gpus)))

    assert [view.name for view in found] == names


def test_a_refused_workload_refuses_all_its_pods() -> None:
    found = views([t4_node()], workload("Deployment", "w", replicas=2, template=pod(gpus="500m")))

    assert [(view.name, view.admission.allowed, view.admission.code) for view in found] == [
        ("w-0", False, "gpu-quantity"),
        ("w-1", False, "gpu-quantity"),
    ]
    assert all(view.placement is view.unschedulable is view.gated is None for view in found)


def test_progress_is_told_for_each_pod() -> None:
    told: list[tuple[int, int]] = []
    simulation = Simulation(world_of(t4_node()))
    simulation.run(
        manifests([workload("Deployment", "w", replicas=2), pod("p")]), lambda done, total: told.append((done, total))
    )

    assert told == [(1, 3), (2, 3), (3, 3)]


def test_equal_runs_have_equal_results() -> None:
    trees = [workload("Deployment", "w", replicas=3), pod("p", gpus=4), cpu_pod()]
    nodes = [h100_node("b"), h100_node("a"), t4_node("t"), cpu_node()]

    assert views(nodes, *trees) == views(list(reversed(nodes)), *trees)


def test_what_cannot_be_read_of_a_pod_is_reported_where_it_stands() -> None:
    template = pod(tolerations="x")
    simulation = run([t4_node()], workload("Deployment", "w", replicas=2, template=template), pod("p", priority="high"))

    assert [(fault.source, fault.path) for fault in dict.fromkeys(simulation.faults)] == [
        ("f.yaml:1", "spec.template.spec.tolerations"),
        ("f.yaml:2", "spec.priority"),
    ]
    assert simulation.outcomes == []


@pytest.mark.parametrize(
    ("resources", "paths"),
    [
        ({"requests": {"cpu": "1x", "memory": "1Gi"}}, ["requests.cpu"]),
        ({"limits": {"memory": "-1Gi", "example.com/nic": "many"}}, ["limits.memory", "limits[example.com/nic]"]),
        ({"requests": {"cpu": 0.5, "memory": 1024}}, []),
    ],
)
def test_amounts_that_the_api_server_refuses_are_reported_and_their_pods_are_nowhere(resources, paths) -> None:
    gpu = container(gpus=1)
    for part, amounts in resources.items():
        gpu.setdefault("resources", {}).setdefault(part, {}).update(amounts)
    template = pod("", "team-a", gpu)
    simulation = run([t4_node("t", gpus=4)], pod("p", "team-a", gpu), workload("Deployment", template=template))

    assert [fault.path for fault in dict.fromkeys(simulation.faults)] == [
        f"{place}spec.containers[0].resources.{path}" for place in ("", "spec.template.") for path in paths
    ]
    assert [outcome.node for outcome in simulation.outcomes] == ([] if paths else ["t", "t"])


def test_an_amount_of_gpus_that_is_no_quantity_is_a_refusal_alone() -> None:
    simulation = run([t4_node()], pod(gpus="1x"))

    assert (simulation.faults, [item.admission.code for item in simulation.outcomes]) == ([], [Code.QUANTITY])


def test_huge_numbers_in_places_that_do_not_matter_do_not_matter() -> None:
    assert only([t4_node()], pod("p", activeDeadlineSeconds=10**100)).placement is not None


def test_the_pods_of_a_large_daemonset_are_explained_once_per_cause() -> None:
    cluster = [node for i in range(25) for node in (t4_node(f"t{i:02}"), bound(pod(f"old-{i}"), f"t{i:02}"))]
    found = views(cluster, workload("DaemonSet", "ds"))

    assert {view.unschedulable.suggestion for view in found if view.unschedulable} == {"Wait: pods on the node hold it"}
    assert len(found) == 25


def test_an_exported_pod_stays_on_its_node_and_is_judged_as_it_was_created() -> None:
    tree = bound(pod("p"), "h")
    (view,) = views([h100_node("h"), namespace(families="hopper")], tree)

    assert view.admission.allowed
    assert view.placement is not None
    assert view.placement.node == "h"


def test_the_second_scheduler_is_no_stranger() -> None:
    second = configured(secondScheduler="gpu")
    for name in ("default-scheduler", "gpu"):
        view = only([t4_node("t4")], pod("p", schedulerName=name), second)
        assert (view.placement.node if view.placement else None, view.notes) == ("t4", ())

    (note,) = only([t4_node()], pod("p", schedulerName="volcano"), second).notes
    assert note == "scheduler volcano is simulated as if it were the default one"
