import pytest

from tests.build import bound, h100_node, node, pod, t4_node
from tests.cli.commands import Folder, run
from tests.simulate.scene import cpu_node


def test_the_shape_of_the_json(folder: Folder) -> None:
    claim = {"gpusched.io/gpu-memory": "3Gi"}
    dump = folder.documents(
        "c.yaml", t4_node("t4", gpus=2, replicas=4), bound(pod("p", annotations=claim), "t4"), cpu_node()
    )
    ran = run("nodes", "--cluster", dump, "-o", "json")

    assert (ran.code, ran.err) == (0, "")
    assert ran.json == {
        "nodes": [
            {"name": "cpu", "pools": []},
            {
                "name": "t4",
                "pools": [
                    {
                        "resource": "nvidia.com/gpu",
                        "vendor": "nvidia",
                        "family": "turing",
                        "product": "t4",
                        "sharing": "time-slicing",
                        "slots": 8,
                        "used": 1,
                        "replicas": 4,
                        "gpu_memory_mib": 15360,
                        "visible_memory_mib": 15360,
                        "slot_memory_mib": 3840,
                        "notes": [],
                    }
                ],
            },
        ]
    }


def test_the_table(folder: Folder) -> None:
    claim = {"gpusched.io/gpu-memory": "3Gi"}
    dump = folder.documents(
        "c.yaml",
        t4_node("t4", gpus=2, replicas=4),
        h100_node("h100"),
        cpu_node(),
        bound(pod("p", annotations=claim), "t4"),
    )
    ran = run("nodes", "--cluster", dump)

    assert ran.out == (
        "NODE  PRODUCT         SHARING         USED/SLOTS  MEM/SLOT  CLAIMED     DRIVER      NOTES\n"
        "h100  h100-80gb-hbm3  none            0/8         79.6Gi    -           550.107.02  -\n"
        "t4    t4              time-slicing×4  1/8         3.8Gi     3.0/30.0Gi  550.107.02  -\n"
    )


def test_the_origin_of_facts_on_request(folder: Folder) -> None:
    ran = run("nodes", "--cluster", folder.documents("c.yaml", t4_node("t4")), "--provenance")

    assert "\nt4 nvidia.com/gpu\n" in ran.out
    assert any(line.split()[0] == "family" for line in ran.out.splitlines() if line.startswith("  "))


@pytest.mark.parametrize(("count", "text"), [(1, "no GPU on 1 node\n"), (2, "no GPU on 2 nodes\n")])
def test_a_cluster_without_gpus(folder: Folder, count: int, text: str) -> None:
    dump = folder.documents("c.yaml", *(cpu_node(f"n{number}") for number in range(count)))

    assert run("nodes", "--cluster", dump).out == text


def test_a_node_that_cannot_be_read_whole_is_shown_all_the_same(folder: Folder) -> None:
    dump = folder.documents("c.yaml", node("n", gpus=-1), t4_node("t4"))
    ran = run("nodes", "--cluster", dump, "-o", "json")

    assert ran.code == 2
    assert [view["name"] for view in ran.json["nodes"]] == ["n", "t4"]
    assert ran.errors == [
        f"{dump}, document 1: status.allocatable[nvidia.com/gpu]: Node n: -1 is negative: read as 0",
        f"{dump}, document 1: status.capacity[nvidia.com/gpu]: Node n: -1 is negative: read as 0",
    ]


def test_renamed_resources_of_the_configuration_are_gpus(folder: Folder) -> None:
    config = folder.write(
        "g.yaml",
        "apiVersion: gpusched.io/v1alpha1\nkind: Config\nresources: [{name: nvidia.com/gpu-10gb, vendor: nvidia}]\n",
    )
    dump = folder.documents("c.yaml", node("n", gpus=2, resource="nvidia.com/gpu-10gb"))
    ran = run("nodes", "--cluster", dump, "--config", config, "-o", "json")

    assert [pool["resource"] for pool in ran.json["nodes"][0]["pools"]] == ["nvidia.com/gpu-10gb"]


def test_without_a_dump_the_cluster_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere/config")
    ran = run("nodes")

    assert (ran.code, ran.err) == (
        3,
        "error: kubeconfig /nowhere/config does not exist: name one with --kubeconfig, or a dump with --cluster\n",
    )


def test_nodes_that_take_nobody_are_marked(folder: Folder) -> None:
    unready = t4_node("n", taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}])
    dump = folder.documents("c.yaml", t4_node("c", unschedulable=True), unready, t4_node("ok"))
    ran = run("nodes", "--cluster", dump, "-o", "json")

    assert [node["pools"][0]["notes"][:1] for node in ran.json["nodes"]] == [["cordoned"], ["not ready"], []]


def test_long_notes_leave_the_names_whole(folder: Folder) -> None:
    name = "a-node-with-a-long-name.corp"
    tree = t4_node(name, unschedulable=True)
    tree["metadata"]["annotations"] = {"gpusched.io/facts": "replicas=many, sharing=perhaps, family=unheard-of"}
    ran = run("nodes", "--cluster", folder.documents("c.yaml", tree))

    assert name in ran.out
    assert "\n    cordoned; " in ran.out


def test_sources_stand_below_each_other(folder: Folder) -> None:
    ran = run("nodes", "--cluster", folder.documents("c.yaml", t4_node("n")), "--provenance")

    facts = [line for line in ran.out.splitlines() if line.endswith(" gfd")]
    assert any("visible_memory_mib" in line for line in facts)
    assert len({line.rindex(" ") for line in facts}) == 1


def test_nodes_are_chosen_by_name(folder: Folder) -> None:
    dump = folder.documents("c.yaml", t4_node("a"), t4_node("b"), t4_node("c"))

    assert run("nodes", "c", "node/a", "--cluster", dump, "-o", "name").out == "node/a\nnode/c\n"
    ran = run("nodes", "a", "nobody", "--cluster", dump)
    assert (ran.code, ran.out, ran.err) == (2, "", "error: no node nobody\n")


def test_labels_that_no_node_has(folder: Folder) -> None:
    ran = run("nodes", "-l", "zone=moon", "--cluster", folder.documents("c.yaml", t4_node()))

    assert (ran.code, ran.out, ran.err) == (0, "no node has these labels\n", "")
