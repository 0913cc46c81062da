from tests.build import Tree, bound, namespace, pod, t4_node
from tests.cli.commands import Folder, Ran, run
from tests.simulate.scene import workload


def check(folder: Folder, *trees: Tree, options: tuple[object, ...] = ("-o", "json")) -> Ran:
    return run("check", "-f", folder.documents("pods.yaml", *trees), *options)


def test_the_shape_of_the_json(folder: Folder) -> None:
    ran = check(folder, workload("Deployment", "web", replicas=3))

    assert (ran.code, ran.notes) == (0, ["judged without a cluster: no namespace policy known for team-a"])
    assert ran.json == {
        "pods": [
            {
                "namespace": "team-a",
                "name": "web",
                "kind": "Deployment",
                "owner": None,
                "source": f"{folder.path}/pods.yaml:1",
                "admission": {"allowed": True, "code": None, "message": None, "warnings": [], "patch": []},
                "unschedulable": None,
                "gated": None,
                "notes": [],
            }
        ],
        "namespaces": [],
        "errors": [],
        "summary": {"pods": 1, "placed": 0, "denied": 0, "unschedulable": 0, "gated": 0},
    }


def test_a_refusal_is_exit_code_1(folder: Folder) -> None:
    ran = check(folder, workload("Job", "j", template=pod(gpus="500m")), pod("p"))

    assert ran.code == 1
    assert [(view["kind"], view["admission"]["code"]) for view in ran.json["pods"]] == [
        ("Job", "gpu-quantity"),
        ("Pod", None),
    ]
    assert ran.json["summary"] == {"pods": 2, "placed": 0, "denied": 1, "unschedulable": 0, "gated": 0}


def test_policies_that_are_not_known_are_named(folder: Folder) -> None:
    spaces = [namespace("team-c", families="turing")]
    ran = check(folder, *spaces, pod("p"), pod("q", "team-b"), pod("r", "team-c"), pod("s", "team-d", gpus="500m"))

    assert ran.notes == ["judged without a cluster: no namespace policy known for team-a, team-b"]


def test_a_refused_namespace_is_exit_code_1(folder: Folder) -> None:
    assert check(folder, namespace(families="hoper")).code == 1


def test_bad_input_outweighs_refusals(folder: Folder) -> None:
    ran = check(folder, pod("p", gpus="500m"), pod("q", tolerations="x"))

    assert ran.code == 2
    assert [error["path"] for error in ran.json["errors"]] == ["spec.tolerations"]
    assert ran.json["summary"]["denied"] == 1


def test_the_policy_of_a_cluster_holds(folder: Folder) -> None:
    cluster = folder.documents("c.yaml", t4_node(), namespace(families="turing"))
    tree = pod("p", annotations={"gpusched.io/families": "hopper"})

    assert check(folder, tree).code == 0
    ran = check(folder, tree, options=("--cluster", cluster, "-o", "json"))
    assert [view["admission"]["code"] for view in ran.json["pods"]] == ["gpu-policy-family"]


def test_nothing_to_judge(folder: Folder) -> None:
    service: Tree = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
    ran = check(folder, service, options=())

    assert (ran.code, ran.out) == (0, "nothing to judge in the manifests\n")
    assert ran.notes == ["-f: skipped: 1 Service"]


def test_manifests_are_needed() -> None:
    ran = run("check")

    assert ran.code == 2
    assert "name manifests with -f" in ran.err


def test_refused_namespaces_count_in_the_last_line(folder: Folder) -> None:
    ran = check(folder, namespace(families="hoper"), namespace("other", families="hopper"), pod("p"), options=())

    assert ran.code == 1
    assert ran.out.endswith("\n3 objects judged, 2 refused\n")


def test_an_exported_pod_is_judged_as_if_created_again(folder: Folder) -> None:
    policy = namespace(families="hopper")
    written = pod("q", nodeName="h")

    ran = check(folder, policy, bound(pod("p"), "h"), written)
    assert [view["admission"]["code"] for view in ran.json["pods"]] == [None, "gpu-node-name"]


def test_a_misspelt_key_that_stands_in_the_cluster_is_noted(folder: Folder) -> None:
    cluster = folder.documents("c.yaml", t4_node(), namespace(familys="turing"))

    ran = check(folder, pod("p"), options=("--cluster", cluster))
    assert ran.code == 0
    assert ran.notes == [
        "Namespace team-a: gpusched.io/familys is no known key; write gpusched.io/families; until then it means nothing"
    ]


def test_what_cannot_be_read_is_not_called_allowed(folder: Folder) -> None:
    broken, fine = pod("broken"), pod("fine")
    broken["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = True
    ran = run("check", "-f", folder.documents("m.yaml", broken, fine), "-o", "json")

    assert ran.code == 2
    assert [view["name"] for view in ran.json["pods"]] == ["fine"]
    assert [error["path"] for error in ran.json["errors"]] == ["spec.containers[0].resources.limits[nvidia.com/gpu]"]


def test_running_pods_that_a_namespace_of_the_manifests_speaks_against_are_told(folder: Folder) -> None:
    cluster = folder.documents("cluster.yaml", t4_node("t4"), namespace("team-a"), bound(pod("p"), "t4"))
    policy = folder.documents("policy.yaml", namespace("team-a", families="hopper"))
    warning = "gpu-policy-family: 1 running pod violates it (p); it stays, but will not return after a drain."

    for command in ("simulate", "check"):
        ran = run(command, "-f", policy, "--cluster", cluster)
        assert ran.code == 0
        assert warning in " ".join(ran.out.split())
