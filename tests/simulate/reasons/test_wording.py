import pytest

from gpusched.core.codes import Reason
from gpusched.simulate.reasons.stored_pod import as_stored
from gpusched.simulate.reasons.wording import message
from tests.build import Tree, bound, container, h100_node, namespace, node, pod, t4_node
from tests.simulate.scene import cpu_node, manifest, only, world_of


def _port(name: str, port: int = 8080) -> Tree:
    return pod(name, "team-a", container(gpus=1, ports=[{"containerPort": 80, "hostPort": port}]))


def _rule(app: str, key: str = "kubernetes.io/hostname") -> list[Tree]:
    return [{"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}]


def _affinity(kind: str, rules: object) -> Tree:
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": rules}}


def _terms(*parts: Tree) -> Tree:
    return _affinity("nodeAffinity", {"nodeSelectorTerms": [{"matchExpressions": list(parts)}]})


_SPREAD = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}


@pytest.mark.parametrize(
    ("cluster", "tree", "said"),
    [
        (
            [h100_node("h", gpus=4), bound(_port("web-0"), "h")],
            _port("p"),
            "host port 8080 is taken by pod team-a/web-0",
        ),
        (
            [h100_node("h", gpus=1), bound(_port("web-0"), "h")],
            _port("p"),
            "host port 8080 is taken by pod team-a/web-0; not enough nvidia.com/gpu: asks for 1, none free",
        ),
        ([t4_node("t", allocatable={"pods": "0"})], pod("p"), "not enough pods: all 0 places are in use"),
        (
            [t4_node("t", gpus=0, capacity={"nvidia.com/gpu": "4"})],
            pod("p"),
            "not enough nvidia.com/gpu: asks for 1, none of 4 is healthy",
        ),
        ([node("m", gpus=7, resource="amd.com/gpu")], pod("p"), "no nvidia.com/gpu at all; there is amd.com/gpu"),
        ([cpu_node("c")], pod("p"), "no nvidia.com/gpu at all"),
        (
            [t4_node("t", labels={"gpu-type": "h100"})],
            pod("p", nodeSelector={"gpu-type": "h10"}),
            "nodeSelector gpu-type=h10 does not match: gpu-type is h100",
        ),
        (
            [t4_node("a", labels={"zone": "a"}), t4_node("b", labels={"zone": "b"}), t4_node("c")],
            pod("p", affinity=_terms({"key": "zone", "operator": "In", "values": ["c", "d"]})),
            "required node affinity zone in (c,d) does not match: zone is a, b or not set",
        ),
        (
            [t4_node("t", gpus=2), bound(pod("old", labels={"app": "x"}), "t")],
            pod("p", affinity=_affinity("podAntiAffinity", _rule("x"))),
            "anti-affinity to pods with app=x in the same kubernetes.io/hostname: team-a/old is there",
        ),
        (
            [
                t4_node("t", gpus=2),
                bound(pod("old", affinity=_affinity("podAntiAffinity", _rule("y"))), "t"),
            ],
            pod("p", labels={"app": "y"}),
            "anti-affinity of a pod that runs there",
        ),
        (
            [t4_node("t")],
            pod("p", affinity=_affinity("podAffinity", _rule("x"))),
            "affinity to pods with app=x: there is none in the same kubernetes.io/hostname",
        ),
        (
            [
                t4_node("t", gpus=4, labels={"zone": "a"}),
                cpu_node("u", labels={"zone": "b"}, unschedulable=True),
                *(bound(pod(f"o{index}", labels={"app": "x"}), "t") for index in range(2)),
            ],
            pod(
                "p",
                labels={"app": "x"},
                topologySpreadConstraints=[_SPREAD | {"labelSelector": {"matchLabels": {"app": "x"}}}],
            ),
            "maxSkew 1 over zone: a has 2 such pods already, another 0",
        ),
        (
            [t4_node("t")],
            pod("p", annotations={"gpusched.io/min-cuda-version": "13.1"}),
            "CUDA 12.4, needs 13.1 (min-cuda-version of pod)",
        ),
        (
            [h100_node("h")],
            pod("p", annotations={"gpusched.io/min-gpu-memory": "100Gi"}),
            "pod asks for at least 100Gi; largest here: 79.6Gi",
        ),
        (
            [t4_node("t"), namespace(families="hopper")],
            pod("p", annotations={"gpusched.io/families": "turing, hopper"}),
            "team-a allows hopper; here: turing",
        ),
        (
            [t4_node("t", labels={"rack": "3"})],
            pod("p", annotations={"gpusched.io/node-selector": "rack=7"}),
            "pod asks for nodes with rack=7; rack is 3",
        ),
        (
            [node("bare", gpus=1), namespace(**{"min-gpu-memory": "20Gi"})],
            pod("p"),
            (
                "gpu-memory unknown, which min-gpu-memory 20Gi of namespace team-a needs: "
                'write it on the node, as gpusched.io/facts="gpu-memory=40960Mi"'
            ),
        ),
        (
            [node("bare", gpus=1)],
            pod("p", annotations={"gpusched.io/min-cuda-version": "12.0"}),
            "CUDA version unknown, which min-cuda-version 12.0 of pod needs: install GPU Feature Discovery",
        ),
        (
            [node("bare", gpus=1)],
            pod("p", annotations={"gpusched.io/gpu-memory": "4Gi"}),
            (
                "gpu-memory unknown, which the claim gpusched.io/gpu-memory needs: "
                'write it on the node, as gpusched.io/facts="gpu-memory=40960Mi"'
            ),
        ),
    ],
)
def test_the_values_that_decide_are_told(cluster: list[Tree], tree: Tree, said: str) -> None:
    explained = only(cluster, tree).unschedulable
    assert explained is not None
    assert explained.reasons[0].message == said


def test_a_quota_that_is_used_up_tells_use_and_limit() -> None:
    cluster = [h100_node("h"), namespace(quota="hopper=2"), bound(pod("old", gpus=2), "h")]
    world = world_of(*cluster)
    _, candidate = as_stored(manifest(pod("p")), world)

    assert message(Reason.QUOTA, candidate, list(world.cluster.nodes.values()), world) == (
        "quota of namespace team-a: hopper 2 of 2 in use, asks for 1"
    )


def test_names_of_other_namespaces_are_kept_from_who_may_not_read_them() -> None:
    world = world_of(h100_node("h"), bound(_port("web-0"), "h"))
    world.may_name = lambda _: False
    _, candidate = as_stored(manifest(_port("p")), world)

    assert message(Reason.NATIVE_RESOURCES, candidate, list(world.cluster.nodes.values()), world) == (
        "host port 8080 is taken by a pod of another namespace"
    )
