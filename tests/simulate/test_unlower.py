import pytest

from gpusched.simulate.admit import admit
from gpusched.simulate.apply_patch import apply_patch
from gpusched.simulate.expand import bare_pod
from gpusched.simulate.unlower import unlowered
from tests.build import Tree, a100_node, h100_node, namespace, node, pod, t4_node
from tests.simulate.scene import manifest, world_of

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
ZONE = {"key": "zone", "operator": "In", "values": ["a", "b"]}
DISK = {"key": "disk", "operator": "Exists"}
NAME = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
GKE = node("g", labels={"cloud.google.com/gke-accelerator": "nvidia-l4", "cloud.google.com/gke-nodepool": "p"})
CLUSTER = [t4_node("t"), h100_node("h"), a100_node("a"), GKE]


def affinity(*terms: Tree) -> Tree:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def lowered(tree: Tree, **policy: str) -> tuple[Tree, tuple]:
    """The pod as admission leaves it, and the node-selector in force."""
    world = world_of(*CLUSTER, namespace(**policy))
    admission = admit(bare_pod(manifest(tree)), world).admission
    assert admission.allowed
    patched = apply_patch(tree, admission.patch)
    return patched, world.cluster.resolution("team-a", {}).constraints.node_selector


@pytest.mark.parametrize(
    "policy",
    [
        {"families": "turing, ada-lovelace"},
        {"min_gpu_memory": "20Gi", "products": "a100, l4"},
        {"node_selector": "rack=7, !broken"},
        {"families": "hopper", "node_selector": "rack in (1,2)"},
    ],
)
@pytest.mark.parametrize(
    "own",
    [
        {},
        {"affinity": affinity({"matchExpressions": [ZONE]})},
        {"affinity": affinity({"matchExpressions": [ZONE, DISK]}, {"matchExpressions": [DISK]})},
        {"affinity": affinity({"matchExpressions": [ZONE], "matchFields": [NAME]})},
    ],
)
def test_what_was_lowered_comes_out_again(policy, own):
    tree = pod(**own)
    patched, selectors = lowered(tree, **policy)
    assert patched["spec"].get("affinity") != tree["spec"].get("affinity")

    found = unlowered(patched, selectors)["spec"]["affinity"]["nodeAffinity"]
    wanted = tree["spec"].get("affinity", {"nodeAffinity": {}})["nodeAffinity"]
    assert found == wanted


def test_a_pod_that_carries_nothing_is_left_as_it_is():
    tree = pod(affinity=affinity({"matchExpressions": [ZONE]}))

    assert unlowered(tree) is tree


@pytest.mark.parametrize("broken", [{}, {"nodeAffinity": None}, {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": 3}}}])
def test_odd_affinity_is_left_as_it_is(broken):
    tree = pod(annotations={"status.gpusched.io/lowered": "x"}, affinity=broken)

    assert unlowered(tree) is tree
