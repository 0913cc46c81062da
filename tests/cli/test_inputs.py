from gpusched.cli.inputs import Inputs, apply_once, read_inputs, world_of
from tests.build import Tree, namespace, node, pod, t4_node
from tests.cli.commands import Folder
from tests.simulate.scene import workload

CONFIG = "apiVersion: gpusched.io/v1alpha1\nkind: Config\n"


def read(folder: Folder, files: list[Tree], cluster: list[Tree] | None = None, config: str | None = None) -> Inputs:
    paths = [folder.documents("p.yaml", *files)] if files else []
    dumps = [folder.documents("c.yaml", *cluster)] if cluster else []
    configured = None if config is None else folder.write("g.yaml", config)
    return read_inputs(paths, dumps, configured, stdin=None)


def _kinds(inputs: Inputs) -> tuple[list[str], list[str]]:
    return [item.kind for item in inputs.manifests], [item.kind for item in inputs.standing]


def test_objects_go_where_they_are_used(folder: Folder) -> None:
    runtime: Tree = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}}
    files = [workload("Job"), pod("p"), namespace("team-a")]
    inputs = read(folder, files, [pod("old"), namespace("team-b"), node(), runtime, workload("Deployment")])

    assert _kinds(inputs) == (
        ["Namespace", "Job", "Pod"],
        ["Node", "Namespace", "RuntimeClass", "Pod", "Deployment"],
    )
    assert (inputs.errors, inputs.notes) == ([], [])


def test_what_belongs_elsewhere_is_noted(folder: Folder) -> None:
    runtime: Tree = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}}
    config: Tree = {"apiVersion": "gpusched.io/v1alpha1", "kind": "Config"}
    secret: Tree = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    elsewhere = "(belongs to --cluster)"
    inputs = read(folder, [node(), runtime, config, secret, pod()], [config, node()])

    assert inputs.notes == [
        f"-f: skipped: 1 Config (belongs to --config), 1 Node {elsewhere}, 1 RuntimeClass {elsewhere}, 1 Secret",
        "--cluster: skipped: 1 Config (belongs to --config)",
    ]
    assert _kinds(inputs) == (["Pod"], ["Node"])


def test_a_good_configuration(folder: Folder) -> None:
    inputs = read(folder, [], config=CONFIG + "claims: {reserve: 7%}\n")

    assert (inputs.config_broken, inputs.errors, inputs.notes) == (False, [], [])
    assert inputs.config.claim_reserve == 700


def test_a_broken_configuration_holds_as_far_as_it_can_be_read(folder: Folder) -> None:
    inputs = read(folder, [], config=CONFIG + "claims: {reserve: 7%}\nextender: {weight: x}\n")

    assert inputs.config_broken
    assert [error.path for error in inputs.errors] == ["extender.weight"]
    assert inputs.config.claim_reserve == 700


def test_an_unreadable_configuration_is_the_default_one(folder: Folder) -> None:
    inputs = read_inputs((), (), str(folder.path / "nowhere.yaml"), stdin=None)

    assert inputs.config_broken
    assert inputs.config == Inputs().config


def test_an_object_given_twice_is_taken_once(folder: Folder) -> None:
    inputs = read(folder, [pod("p"), pod("q"), pod("p"), pod("p", "other"), workload("Deployment", "p")])
    assert len(inputs.manifests) == 5
    apply_once(inputs)

    assert [item.where for item in inputs.manifests] == [
        "Pod team-a/p",
        "Pod team-a/q",
        "Pod other/p",
        "Deployment team-a/p",
    ]
    assert inputs.errors == []


def test_the_last_version_of_an_object_counts_and_a_note_says_so(folder: Folder) -> None:
    inputs = read(folder, [namespace("a", families="hopper"), namespace("a", families="turing")])
    apply_once(inputs)

    assert [item.tree["metadata"] for item in inputs.manifests] == [namespace("a", families="turing")["metadata"]]
    assert inputs.errors == []
    path = folder.path / "p.yaml"
    assert inputs.notes == [f"Namespace a: {path}, document 2 replaces what {path}, document 1 says"]


def test_faults_of_a_dump_join_the_errors(folder: Folder) -> None:
    inputs = read(folder, [], [node("n", gpus=-1), t4_node("t")])
    world = world_of(inputs)

    assert sorted(world.cluster.nodes) == ["n", "t"]
    assert [error.path for error in inputs.errors] == [
        "status.allocatable[nvidia.com/gpu]",
        "status.capacity[nvidia.com/gpu]",
    ]
