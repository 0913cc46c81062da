"""The state of a running service: labels come in time, configurations change."""

from gpusched.core.read_pod import read_pod
from gpusched.policy.config import parse_config
from gpusched.policy.model import Config
from gpusched.serve.live_cluster import LiveCluster
from gpusched.state.events import Gone, Kind, Upsert
from tests.build import Tree, namespace, node, pod, t4_node
from tests.placement.scene import see
from tests.serve.test_label_plan import T4


def noted(cluster: LiveCluster, tree: Tree) -> None:
    see(cluster, tree)
    cluster.note_labels(tree["metadata"]["name"])


def config(**sections: object) -> Config:
    parsed, faults = parse_config({"apiVersion": "gpusched.io/v1alpha1", "kind": "Config"} | sections)
    assert faults == ()
    return parsed


def test_labels_are_relied_on_once_every_node_has_carried_them() -> None:
    cluster = LiveCluster(Config())
    noted(cluster, node("cpu", gpus=None))
    noted(cluster, t4_node())
    assert (cluster.settle_labels(), cluster.facts.labelled) == (False, False)

    noted(cluster, t4_node(labels=T4))
    assert (cluster.settle_labels(), cluster.facts.labelled) == (True, True)

    noted(cluster, t4_node("new"))
    assert (cluster.settle_labels(), cluster.labelled) == (True, True)


def test_a_node_that_goes_is_not_waited_for() -> None:
    cluster = LiveCluster(Config())
    noted(cluster, t4_node())
    cluster.apply(Gone(Kind.NODE, "t4"))
    cluster.note_labels("t4")

    assert cluster.settle_labels()


def test_a_new_configuration_holds_at_once() -> None:
    cluster = LiveCluster(Config())
    see(cluster, namespace())
    before = cluster.resolution("team-a", {})

    relist = cluster.configure(config(defaultPolicy={"mode": "enforce", "families": "turing"}))

    assert relist is False
    assert before.constraints.families is None
    assert cluster.resolution("team-a", {}).constraints.families == ("turing",)


def test_a_renamed_resource_makes_pools_and_asks_for_a_new_list_of_pods() -> None:
    cluster = LiveCluster(Config())
    see(cluster, node("n", gpus=2, resource="example.com/accelerator"))
    cluster.apply(Upsert(read_pod(pod("p", resource="example.com/accelerator"), [])))
    assert (cluster.nodes["n"].node.pools, dict(cluster.pods)) == ((), {})

    renamed = config(resources=[{"name": "example.com/accelerator", "vendor": "nvidia"}])
    assert cluster.configure(renamed) is True
    assert [pool.slots for pool in cluster.nodes["n"].node.pools] == [2]

    cluster.apply(Upsert(read_pod(pod("p", resource="example.com/accelerator"), [])))
    assert len(cluster.pods) == 1
    assert cluster.configure(config()) is True
    assert (cluster.nodes["n"].node.pools, dict(cluster.pods)) == ((), {})
