"""Namespaces that cannot be read, pods older than the policy, and the line for quota."""

from collections.abc import Iterable

from gpusched.kube.events import Reference
from gpusched.serve.telling.stale_policies import bad_configuration, invalid_policies, quota_line, stale_pods
from gpusched.serve.telling.told import Saying
from tests.build import bound, namespace, pod, t4_node
from tests.placement.scene import cluster_of, gated, running, see


def said(sayings: Iterable[Saying | None]) -> dict[str, str]:
    found = [saying for saying in sayings if saying is not None]
    return {saying.about.name: f"{saying.reason}: {saying.message}" for saying in found}


def test_what_cannot_be_read_is_told_with_what_to_write() -> None:
    cluster = cluster_of(namespace("good", families="turing"), namespace("bad", min_gpu_memory="20", familys="turing"))
    sayings = list(invalid_policies(cluster))
    assert said(sayings) == {
        "bad": (
            "GPUPolicyInvalid: gpusched.io/familys is no known key; write gpusched.io/families; until then it means "
            'nothing; gpusched.io/min-gpu-memory: "20" has no unit; write 20Gi; until then its GPU pods are refused '
            "where it enforces"
        )
    }
    assert [saying.about for saying in sayings if saying] == [Reference("Namespace", "bad")]


def test_a_bad_configuration_is_told_of_its_object_with_every_error() -> None:
    saying = bad_configuration(
        ["config.yaml:1 weight: must be a number", "config.yaml:1 x: unknown"], "gpusched-system"
    )
    assert saying.about == Reference("ConfigMap", "gpusched", "gpusched-system")
    assert said([saying]) == {
        "gpusched": (
            "GPUConfigInvalid: The configuration has errors, the former one stays in use: "
            "config.yaml:1 weight: must be a number; config.yaml:1 x: unknown"
        )
    }


def lowered(name: str = "p", digest: str = "of-an-older-policy") -> dict[str, object]:
    marks = {"status.gpusched.io/policy-hash": digest, "status.gpusched.io/lowered": "families=ampere (namespace a)"}
    return pod(name, annotations=marks)


def test_a_pod_lowered_from_another_policy_is_to_be_recreated() -> None:
    tree = lowered()
    tree["metadata"]["uid"] = "uid-1"
    cluster = cluster_of(namespace(families="turing"), tree, pod("unlowered"), bound(lowered("runs"), "t4"))
    (saying,) = [saying for saying in stale_pods(cluster) if saying is not None]
    assert saying == Saying(
        Reference("Pod", "p", "team-a", "uid-1"),
        saying.reason,
        "It was created under an older policy (families=ampere (namespace a)): recreate it, so that the policy of "
        "today holds",
    )
    assert saying.reason == "GPUPolicyStale"


def test_a_deleted_pod_needs_no_advice() -> None:
    tree = lowered()
    tree["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert said(stale_pods(cluster_of(namespace(families="turing"), tree))) == {}


def test_places_in_the_line_and_holders() -> None:
    cluster = cluster_of(
        t4_node(gpus=8),
        namespace(quota="*=2"),
        running("r1", "t4"),
        running("r2", "t4"),
        gated("second", age=1),
        gated("first", age=5),
        gated("other", namespace="team-b"),
    )
    see(cluster, namespace("team-b", quota="*=0"))
    text = "GPUQuotaWait: Waits for the GPU quota of namespace"
    assert said(quota_line(cluster)) == {
        "first": f"{text} team-a: place 1 in the line, slots held by r1, r2",
        "second": f"{text} team-a: place 2 in the line, slots held by r1, r2",
        "other": f"{text} team-b: place 1 in the line, slots held by nobody",
    }


def test_pods_that_have_left_the_line_without_a_node_hold_slots_too() -> None:
    freed = gated("freed")
    del freed["spec"]["schedulingGates"]
    cluster = cluster_of(t4_node(), namespace(quota="turing=1"), freed, gated("next"))
    assert said(quota_line(cluster))["next"].endswith("slots held by the ungated pending pod freed")


def test_many_holders_are_not_all_named() -> None:
    cluster = cluster_of(
        t4_node(gpus=8), namespace(quota="*=7"), *(running(f"r{index}", "t4") for index in range(7)), gated("p")
    )
    assert said(quota_line(cluster))["p"].endswith("slots held by r0, r1, r2, r3, r4 and 2 more")


def test_a_pod_that_goes_while_the_line_is_walked_is_passed_over() -> None:
    cluster = cluster_of(t4_node(), namespace(quota="*=0"), gated("a", age=1), gated("b"))
    line = quota_line(cluster)
    next(line)
    ended = gated("b")
    ended["status"] = {"phase": "Failed"}
    see(cluster, ended)
    assert list(line) == [None]
