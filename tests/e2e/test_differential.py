"""`simulate` on a dump of a real cluster against what the API server and kube-scheduler with gpusched then do."""

from collections.abc import Iterator
from random import Random

import pytest

from gpusched.local.control_plane import ControlPlane
from gpusched.local.installed import Installed
from tests.e2e.differing import differences
from tests.e2e.random_clusters import has_gpus, random_namespaces, random_nodes, random_pod
from tests.e2e.seen import namespaces_seen, nodes_seen

PODS = 40


@pytest.fixture
def emptied(control_plane: ControlPlane, installed: Installed) -> Iterator[ControlPlane]:
    """The control plane without nodes and pods of others; what the test makes goes again."""
    yield control_plane
    for namespace in control_plane.get("/api/v1/namespaces")["items"]:
        name = namespace["metadata"]["name"]
        if name.startswith("random"):
            control_plane.request("DELETE", f"/api/v1/namespaces/{name}")
            control_plane.request("DELETE", f"/api/v1/namespaces/{name}/pods", query={"gracePeriodSeconds": "0"})
    control_plane.wait_for("/api/v1/pods", lambda tree: tree["items"] == [], what="pods gone")
    # Run again the test makes Namespaces of the same names.
    control_plane.wait_for(
        "/api/v1/namespaces",
        lambda tree: not any(each["metadata"]["name"].startswith("random") for each in tree["items"]),
        what="namespaces gone",
    )
    for node in control_plane.get("/api/v1/nodes")["items"]:
        control_plane.request("DELETE", f"/api/v1/nodes/{node['metadata']['name']}")


@pytest.mark.parametrize("seed", [1, 8, 21, 33])
def test_simulation_says_what_happens(emptied, seed):
    """Pod by pod, each against a dump taken right before it: refused with the same words, placed on a node that the
    simulation takes too, gated, or waiting with as many nodes under each native reason.
    """
    random = Random(seed)
    spaces, nodes = random_namespaces(random, f"random{seed}"), random_nodes(random)
    for tree in spaces:
        emptied.create(tree).expect()
    namespaces_seen(emptied)
    emptied.create_nodes(nodes)
    nodes_seen(emptied, *(tree["metadata"]["name"] for tree in nodes if has_gpus(tree)))
    names = [tree["metadata"]["name"] for tree in spaces]
    pods = [random_pod(random, f"p{number:02}", names) for number in range(PODS)]
    found = {tree["metadata"]["name"]: list(differences(emptied, tree)) for tree in pods}
    assert {name: texts for name, texts in found.items() if texts} == {}
