"""The inventory as metrics."""

from prometheus_client.parser import text_string_to_metric_families

from gpusched.obs.inventory import METRICS, Inventory
from tests.build import h100_node, namespace, t4_node
from tests.serve.view.scene import Scene

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def scrape(inventory: Inventory) -> Samples:
    for _ in inventory.update():
        pass
    families = list(text_string_to_metric_families(inventory.render().decode()))
    assert [(family.name, family.type) for family in families] == [(name, "gauge") for name in METRICS]
    assert all(family.documentation == METRICS[family.name] for family in families)
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def of(samples: Samples, name: str, *labels: str) -> dict[tuple[str, ...], float]:
    return {
        tuple(dict(own)[label] for label in labels): value for (sample, own), value in samples.items() if sample == name
    }


def test_pools_and_namespaces() -> None:
    scene = Scene()
    scene.node(h100_node("h100-2", gpus=4, unschedulable=True))
    samples = scrape(Inventory(scene.cluster))

    assert of(samples, "gpusched_pool_slots", "node", "family", "sharing") == {
        ("t4", "turing", "time-slicing"): 4,
        ("h100", "hopper", "none"): 2,
        ("h100-2", "hopper", "none"): 4,
    }
    assert of(samples, "gpusched_pool_slots_used", "node") == {("t4",): 1, ("h100",): 2, ("h100-2",): 0}
    assert of(samples, "gpusched_pool_available", "node") == {("t4",): 1, ("h100",): 1, ("h100-2",): 0}
    assert of(samples, "gpusched_pool_memory_bytes", "node")["t4",] == 15360 * 2**20
    assert of(samples, "gpusched_pool_memory_claimed_bytes", "node")["t4",] == 3 * 2**30
    assert of(samples, "gpusched_namespace_slots_used", "namespace", "family") == {
        ("team-a", "turing"): 1,
        ("team-b", "hopper"): 2,
    }
    assert of(samples, "gpusched_namespace_memory_claimed_bytes", "namespace")["team-a",] == 3 * 2**30


def test_waiting_pods_and_quotas() -> None:
    scene = Scene()
    scene.namespace(namespace("team-a", quota="turing=2, *=4", quota_gpu_memory="8Gi"))
    scene.wait("gated", "team-a", schedulingGates=[{"name": "gpusched.io/quota"}])
    scene.wait("held", "team-b", schedulingGates=[{"name": "example.com/gate"}])
    scene.wait("open", "team-b")
    samples = scrape(Inventory(scene.cluster))

    assert of(samples, "gpusched_pods_waiting", "namespace", "state") == {
        ("team-a", "quota"): 1,
        ("team-b", "gated"): 1,
        ("team-b", "pending"): 1,
    }
    assert of(samples, "gpusched_quota_slots", "namespace", "family") == {("team-a", "turing"): 2, ("team-a", "*"): 4}
    assert of(samples, "gpusched_quota_slots_used", "family") == {("turing",): 1, ("*",): 1}
    assert of(samples, "gpusched_quota_memory_bytes", "namespace") == {("team-a",): 8 * 2**30}
    assert of(samples, "gpusched_quota_memory_used_bytes", "namespace") == {("team-a",): 3 * 2**30}


def test_what_changed_is_counted_anew_and_nothing_else() -> None:
    scene = Scene()
    inventory = Inventory(scene.cluster)
    scrape(inventory)
    assert len([None for _ in inventory.update()]) == 2  # the namespaces

    scene.hold("nb-2", "team-b", "t4")
    scene.lose("h100")
    scene.node(t4_node("t4-2", gpus=1))

    assert scrape(inventory) == scrape(Inventory(scene.cluster))
    scene.lose("t4")
    scene.lose("t4-2")
    assert of(scrape(inventory), "gpusched_namespace_slots_used", "namespace") == {}


def test_labels_are_escaped() -> None:
    scene = Scene()
    scene.hold("odd", 'a"b\\c\nd', "t4")

    assert ('a"b\\c\nd',) in of(scrape(Inventory(scene.cluster)), "gpusched_namespace_slots_used", "namespace")
