import pytest

from gpusched.local.api import Response
from gpusched.local.errors import ApiError
from gpusched.local.nodes import create_nodes, prepare
from tests.build import node, t4_node

NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
OWN = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}


class Server:
    """Stores nodes; a new one gets the taint that the admission plugin puts on it."""

    def __init__(self, added: list[dict[str, str]]) -> None:
        self.added = added
        self.nodes: dict[str, dict] = {}
        self.patches = 0

    def request(self, method, path, body=None, **_more):
        if method == "PATCH":
            self.patches += 1
            name = path.rpartition("/")[2]
            self.nodes[name]["spec"] |= body["spec"]
            return Response(200, self.nodes[name])
        name = body["metadata"]["name"]
        if name in self.nodes:
            return Response(409, {"message": f'nodes "{name}" already exists'})
        spec = body["spec"] | {"taints": [*body["spec"].get("taints", []), *self.added]}
        self.nodes[name] = body | {"spec": spec}
        return Response(201, self.nodes[name])


def test_node_of_a_dump_keeps_its_hardware_and_loses_its_life():
    tree = t4_node("t4", taints=[OWN], podCIDR="10.0.0.0/24", providerID="aws:///x")
    tree["metadata"] |= {"resourceVersion": "7", "managedFields": [], "creationTimestamp": "2026-01-01T00:00:00Z"}
    tree["status"] |= {"images": [{"names": ["x"]}], "conditions": [{"type": "Ready", "status": "False"}]}

    prepared = prepare(tree)

    assert prepared["metadata"] == {
        "name": "t4",
        "labels": tree["metadata"]["labels"],
        "annotations": tree["metadata"]["annotations"],
    }
    assert prepared["spec"] == {"taints": [OWN], "providerID": "aws:///x"}
    assert prepared["status"] == {
        "allocatable": tree["status"]["allocatable"],
        "capacity": tree["status"]["capacity"],
        "conditions": [{"type": "Ready", "status": "False"}],
    }


def test_node_without_conditions_is_ready_and_without_capacity_has_what_is_allocatable():
    tree = node("n")
    del tree["status"]["capacity"]

    status = prepare(tree)["status"]

    assert [(each["type"], each["status"]) for each in status["conditions"]] == [("Ready", "True")]
    assert status["capacity"] == tree["status"]["allocatable"]


def test_taint_of_the_api_server_is_taken_off_and_those_of_the_dump_stay():
    server = Server([NOT_READY])

    create_nodes(server, [node("a"), node("b", taints=[OWN])])

    assert {name: tree["spec"]["taints"] for name, tree in server.nodes.items()} == {"a": [], "b": [OWN]}


def test_node_that_comes_back_as_it_was_sent_is_not_changed():
    server = Server([])

    create_nodes(server, [node("a"), node("b", taints=[OWN])])

    assert server.patches == 0


def test_refused_nodes_are_named_together_and_the_others_are_there():
    server = Server([])

    with pytest.raises(ApiError, match=r'nodes "a" already exists'):
        create_nodes(server, [node("a"), node("a"), node("b")])
    assert sorted(server.nodes) == ["a", "b"]
