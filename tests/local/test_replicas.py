"""Replicas behind their stand-in for Services, without a cluster."""

import pytest

from gpusched.local.replicas import Replica, Replicas


class Plane:
    """What of a control plane is asked before it is entered."""

    def __init__(self, folder):
        self.folder = folder
        self.labelled: list[str] = []

    def get(self, path, *, query):
        assert (path, query) == (
            "/api/v1/namespaces/gpusched-system/pods",
            {"labelSelector": "gpusched.io/leader=true"},
        )
        return {"items": [{"metadata": {"name": name}} for name in self.labelled]}


@pytest.fixture
def plane(tmp_path):
    return Plane(tmp_path)


def test_every_replica_has_a_name_and_ports_of_its_own(plane):
    replicas = Replicas(plane, 3).replicas

    assert [replica.name for replica in replicas] == ["gpusched-0", "gpusched-1", "gpusched-2"]
    assert len({port for replica in replicas for port in replica.ports.values()}) == 9


def test_a_replica_is_told_its_ports_by_the_names_of_the_command_line():
    assert Replica("gpusched-0", 1, 2, 3).ports == {"webhook": 1, "extender": 2, "admin": 3}


def test_the_leader_is_told_by_the_label_of_its_pod(plane):
    replicas = Replicas(plane, 2)
    assert replicas.labelled() == []
    plane.labelled = ["gpusched-1", "gpusched-7"]
    assert replicas.labelled() == [replicas.replicas[1]]


def test_nobody_leads_where_nobody_answers(plane):
    replicas = Replicas(plane, 2)
    assert (replicas.leader(), replicas.ready(replicas.replicas[0])) == (None, False)
