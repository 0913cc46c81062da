"""The line behind the quota gate."""

import pytest

from gpusched.placement.quota import Place, liftable, places
from tests.build import Tree, a100_node, h100_node, namespace, pod, t4_node
from tests.placement.scene import cluster_of, gated, own, running, see

HOPPER, AMPERE = own(families="hopper"), own(families="ampere")
NODES = (h100_node("h", gpus=8), a100_node("a", gpus=8))


@pytest.mark.parametrize(
    ("quota", "waiting", "lifted"),
    [
        pytest.param(
            "*=2", [gated("p1", age=1), gated("p2", age=3), gated("p3", age=2)], ["p2", "p3"], id="oldest first"
        ),
        pytest.param("*=1", [gated("p1", age=9), gated("p2", priority=5)], ["p2"], id="priority before age"),
        pytest.param("*=2", [gated("p1"), gated("p2"), gated("p3")], ["p1", "p2"], id="as seen where equally old"),
        pytest.param("*=0", [gated("p1")], [], id="nothing allowed"),
        pytest.param(
            "hopper=1", [gated("p1", annotations=HOPPER), gated("p2", annotations=HOPPER)], ["p1"], id="family"
        ),
        pytest.param(
            "hopper=0",
            [gated("p1", annotations=HOPPER), gated("p2", annotations=AMPERE)],
            ["p2"],
            id="family not listed",
        ),
        pytest.param("hopper=0", [gated("p1")], ["p1"], id="another family has room"),
        pytest.param("hopper=1, ampere=1", [gated("p1"), gated("p2")], ["p1"], id="unknown family counts against each"),
        pytest.param(
            "hopper=4", [gated("p1", gpus=3), gated("p2", gpus=2), gated("p3")], ["p1", "p2", "p3"], id="rest free"
        ),
        pytest.param(
            "hopper=4",
            [
                gated("p1", gpus=3, age=3, annotations=HOPPER),
                gated("p2", gpus=2, age=2, annotations=HOPPER),
                gated("p3", gpus=1, age=1, annotations=HOPPER),
            ],
            ["p1"],
            id="no overtaking",
        ),
        pytest.param(
            "hopper=4, ampere=4",
            [
                gated("p1", gpus=3, age=3, annotations=HOPPER),
                gated("p2", gpus=2, age=2, annotations=HOPPER),
                gated("p3", gpus=1, age=1, annotations=AMPERE),
                gated("p4", gpus=1, annotations=own(families="hopper, ampere")),
            ],
            ["p1", "p3"],
            id="only those that compete are held back",
        ),
        pytest.param(
            "hopper=2",
            [gated("p1", gpus=3, age=2, annotations=HOPPER), gated("p2", age=1, annotations=HOPPER)],
            ["p2"],
            id="more than the quota holds nobody back",
        ),
    ],
)
def test_whose_gate_goes(quota: str, waiting: list[Tree], lifted: list[str]) -> None:
    assert liftable(cluster_of(*NODES, namespace("team-a", quota=quota), *waiting)) == lifted


def test_a_family_that_no_node_offers_is_no_way_out() -> None:
    policy = namespace("team-a", quota="hopper=1")
    cluster = cluster_of(h100_node("h"), t4_node("t"), policy, running("r", "h"))
    see(cluster, gated("p", annotations=own(min_gpu_memory="40Gi")))
    assert liftable(cluster) == []
    see(cluster, a100_node("a"))
    assert liftable(cluster) == ["p"]


@pytest.mark.parametrize(
    ("policy", "lifted"),
    [
        ({"families": "ampere, turing", "quota": "ampere=0"}, ["p"]),
        ({"families": "ampere", "quota": "ampere=0"}, []),
        ({"families": "ampere", "quota": "ampere=1"}, ["p"]),
        ({"quota": "ampere=0"}, ["p"]),
        ({"quota_gpu_memory": "1Gi"}, ["p"]),
    ],
)
def test_without_a_fitting_node_policy_alone_tells_the_families(policy: dict[str, str], lifted: list[str]) -> None:
    assert liftable(cluster_of(namespace("team-a", **policy), gated("p"))) == lifted


@pytest.mark.parametrize(
    ("limit", "claim", "lifted"),
    [("80Gi", None, ["p1"]), ("79Gi", None, []), ("20Gi", "10Gi", ["p1", "p2"]), ("19Gi", "10Gi", ["p1"])],
)
def test_memory_counts_claims_or_whole_slots(limit: str, claim: str | None, lifted: list[str]) -> None:
    annotations = None if claim is None else own(gpu_memory=claim)
    waiting = [gated(name, annotations=annotations) for name in ("p1", "p2")]
    cluster = cluster_of(h100_node("h"), namespace("team-a", quota_gpu_memory=limit), *waiting)
    assert liftable(cluster) == lifted


@pytest.mark.parametrize(
    ("quota", "owner", "lifted"),
    [
        ("*=4", "Job/train", ["first", "g1", "g2"]),
        ("*=3", "Job/train", ["first", "g1", "g2"]),
        ("*=2", "Job/train", ["first"]),
        ("*=2", "ReplicaSet/web", ["first", "g1"]),
    ],
)
def test_pods_of_one_owner_go_together(quota: str, owner: str, lifted: list[str]) -> None:
    waiting = [gated("first", age=9), gated("g1", age=5, owner=owner), gated("g2", age=1, owner=owner)]
    cluster = cluster_of(h100_node("h"), namespace("team-a", quota=quota), *waiting)
    assert liftable(cluster) == lifted


@pytest.mark.parametrize(
    ("owner", "young", "lifted"),
    [
        ("Job/train", {"g2"}, ["first"]),
        ("Job/train", {"first", "last"}, ["first", "g1", "g2", "last"]),
        ("ReplicaSet/web", {"first", "g1", "g2", "last"}, ["first", "g1", "g2", "last"]),
    ],
)
def test_more_pods_of_a_young_group_are_waited_for(owner: str, young: set[str], lifted: list[str]) -> None:
    waiting = [
        gated("first", age=9),
        gated("g1", age=5, owner=owner),
        gated("g2", age=4, owner=owner),
        gated("last", age=1),
    ]
    assert liftable(cluster_of(h100_node("h"), namespace("team-a", quota="*=9"), *waiting), young) == lifted


def test_a_group_goes_at_the_place_of_its_first_pod() -> None:
    waiting = [gated("g1", age=5, owner="Job/j"), gated("p", age=3), gated("g2", age=1, owner="Job/j")]
    assert liftable(cluster_of(h100_node("h"), namespace("team-a", quota="*=2"), *waiting)) == ["g1", "g2"]


def test_a_group_larger_than_the_quota_goes_as_far_as_it_can() -> None:
    waiting = [gated(f"g{turn}", age=9 - turn, owner="Job/j") for turn in range(4)]
    assert liftable(cluster_of(h100_node("h"), namespace("team-a", quota="*=3"), *waiting)) == ["g0", "g1", "g2"]


def test_held_and_ungated_pods_count_and_namespaces_do_not_wait_for_each_other() -> None:
    cluster = cluster_of(
        h100_node("h"),
        namespace("team-a", quota="*=2"),
        namespace("team-b", quota="*=1"),
        running("r", "h"),
        pod("pending"),
        gated("p1", age=5),
        gated("p2", age=1, namespace="team-b"),
    )
    assert liftable(cluster) == ["p2"]


@pytest.mark.parametrize(
    "policy", [{}, {"quota": "*=0", "mode": "warn"}, {"quota": "*=0", "mode": "enforce,quota=audit"}]
)
def test_every_gate_goes_where_no_quota_holds(policy: dict[str, str]) -> None:
    cluster = cluster_of(h100_node("h"), namespace("team-a", **policy), gated("p1"), gated("p2", gpus=9))
    assert liftable(cluster) == ["p1", "p2"]


def test_lowered_quota_only_blocks_new_pods() -> None:
    holders = [running(f"r{turn}", "h") for turn in range(3)]
    cluster = cluster_of(h100_node("h"), namespace("team-a", quota="hopper=1"), *holders, gated("p"))
    assert liftable(cluster) == []
    assert len(cluster.nodes["h"].holders) == 3


def test_position_names_place_and_holders() -> None:
    cluster = cluster_of(
        *NODES,
        namespace("team-a", quota="hopper=2, ampere=1"),
        running("train-1", "h"),
        running("train-0", "h"),
        running("other", "a"),
        running("foreign", "h", namespace="team-b"),
        gated("p1", age=9, annotations=HOPPER),
        gated("p2", age=8, annotations=AMPERE),
        gated("p3", age=7, namespace="team-b", annotations=HOPPER),
        gated("p4", age=6, annotations=HOPPER),
    )
    found = {record.key: place for record, place in places(cluster)}
    assert found["p1"] == Place(place=1, holders=("train-0", "train-1"))
    assert found["p2"] == Place(place=1, holders=("other",))
    assert found["p4"] == Place(place=2, holders=("train-0", "train-1"))
    assert "gone" not in found


def test_the_line_does_not_depend_on_the_order_of_nodes() -> None:
    waiting = [gated("p1", age=3), gated("p2", age=2), gated("p3", age=1)]
    policy = namespace("team-a", quota="hopper=1, ampere=2, *=2")
    forth = cluster_of(*NODES, policy, *waiting)
    back = cluster_of(*waiting[::-1], policy, *NODES[::-1])
    assert liftable(forth) == liftable(back)
