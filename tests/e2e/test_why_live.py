"""`gpusched why` on a live cluster: it names the true cause, and what it suggests makes the pod run."""

import copy
import json

import pytest
import yaml

from tests.build import h100_node, pod, t4_node
from tests.cli.commands import Ran, run
from tests.e2e.pending import SITUATIONS
from tests.e2e.scheduling import bound_node, create, delete, events, refusal
from tests.e2e.seen import namespaces_seen, nodes_seen, policy
from tests.e2e.suggested import changed, do_elsewhere
from tests.simulate.scene import cpu_node, workload

SECONDS = 60.0


@pytest.fixture
def nodes(control_plane, installed, fake_nodes):
    """Creates nodes; returns when those with GPUs carry gpusched's labels."""

    def make(*trees):
        fake_nodes(trees)
        gpus = [tree for tree in trees if "/" in "".join(tree["status"]["allocatable"])]
        nodes_seen(control_plane, *(tree["metadata"]["name"] for tree in gpus))

    return make


def cli(plane, *arguments: str) -> Ran:
    return run(*arguments, "--kubeconfig", plane.kubeconfig())


def why(plane, *arguments: str) -> Ran:
    """The answer as people get it."""
    return cli(plane, "why", *arguments)


def in_namespace(tree, namespace):
    placed = copy.deepcopy(tree)
    placed["metadata"]["namespace"] = namespace
    return placed


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_cause_is_named_and_the_suggestion_works(control_plane, installed, nodes, namespace, name):
    situation = SITUATIONS[name]
    nodes(*situation.nodes)
    if situation.policy:
        policy(control_plane, namespace, **situation.policy)
    for tree in situation.held:
        create(control_plane, in_namespace(tree, namespace))
        bound_node(control_plane, namespace, tree["metadata"]["name"], SECONDS)
    tree = in_namespace(situation.pod, namespace)
    create(control_plane, tree)
    refusal(control_plane, namespace, "p", SECONDS)
    if situation.later is not None:
        policy(control_plane, namespace, **situation.later)
    for going in situation.going:
        control_plane.request("DELETE", f"/api/v1/namespaces/{namespace}/pods/{going}").expect()

    ran = why(control_plane, "-n", namespace, "p", "-o", "json")
    told = why(control_plane, f"{namespace}/p")

    assert (ran.code, ran.errors, ran.json["placement"]) == (1, [], None)
    waiting = ran.json["unschedulable"]
    assert {reason["code"] for reason in waiting["reasons"]} == situation.cause
    assert sum(reason["nodes"] for reason in waiting["reasons"]) == len(situation.nodes)
    assert any("kube-scheduler says: 0/" in note for note in ran.json["notes"])
    assert "PENDING" in told.out
    assert situation.blame in " ".join(told.out.split())

    first, _, second = waiting["suggestion"].partition("; or ")
    suggestion = second if situation.alternative else first
    renewed = changed(tree, suggestion)
    anew = do_elsewhere(control_plane, suggestion) if renewed is None else True
    if anew:
        namespaces_seen(control_plane)
        delete(control_plane, namespace, "p")
        create(control_plane, renewed or tree)
    node = bound_node(control_plane, namespace, "p", SECONDS)

    after = why(control_plane, "-n", namespace, "p", "-o", "json")
    assert (after.code, after.json["placement"]["node"]) == (0, node)


def test_a_pod_behind_the_quota_gate(control_plane, installed, nodes, namespace):
    nodes(t4_node("pe-t4", gpus=4))
    policy(control_plane, namespace, quota="*=1")
    create(control_plane, pod("first", namespace))
    bound_node(control_plane, namespace, "first", SECONDS)
    create(control_plane, pod("second", namespace))

    ran = why(control_plane, "-n", namespace, "second")
    assert ran.code == 1
    assert "GATED quota" in ran.out
    assert f"place 1 in the line of namespace {namespace}; slots held by first" in " ".join(ran.out.split())

    delete(control_plane, namespace, "first")
    bound_node(control_plane, namespace, "second", SECONDS)
    assert "gpusched bound it to t4 (turing)" in why(control_plane, "-n", namespace, "second").out


def test_a_pod_that_a_daemonset_made_for_a_node_without_gpus(control_plane, installed, nodes, namespace):
    nodes(cpu_node("pe-cpu"), t4_node("pe-t4"))
    template = pod(labels={"app": "ds"})
    tree = workload("DaemonSet", "ds", template=template, namespace=namespace, selector={"matchLabels": {"app": "ds"}})
    control_plane.create(tree).expect()

    def pods(phase: str) -> list[str]:
        found = control_plane.request("GET", f"/api/v1/namespaces/{namespace}/pods").expect()["items"]
        return [item["metadata"]["name"] for item in found if bool(item["spec"].get("nodeName")) == (phase == "bound")]

    control_plane.wait_until(lambda: len(pods("bound")) == 1 == len(pods("waits")), SECONDS, "a pod for each node")
    (name,) = pods("waits")
    refusal(control_plane, namespace, name, SECONDS)

    ran = why(control_plane, "-n", namespace, name, "-o", "json")
    assert ran.json["unschedulable"]["suggestion"] == (
        'Add nodeSelector nvidia.com/gpu.present: "true" to the pod template: this node offers no nvidia.com/gpu'
    )
    change = {"spec": {"template": {"spec": {"nodeSelector": {"nvidia.com/gpu.present": "true"}}}}}
    path = f"/apis/apps/v1/namespaces/{namespace}/daemonsets/ds"
    control_plane.request("PATCH", path, change, content_type="application/merge-patch+json").expect()
    control_plane.wait_until(lambda: not pods("waits"), SECONDS, "no pod waits any more")


def test_a_workload_that_a_resource_quota_stops(control_plane, installed, nodes, namespace):
    nodes(t4_node("pe-t4", gpus=8))
    hard = {"hard": {"requests.nvidia.com/gpu": "2"}}
    metadata = {"name": "gpus", "namespace": namespace}
    quota = control_plane.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": hard})
    quota.expect()
    template = pod(gpus=2)
    template["spec"]["restartPolicy"] = "Never"
    for name in ("first", "second"):
        control_plane.create(workload("Job", name, template=template, namespace=namespace)).expect()

    def told() -> Ran | None:
        ran = [why(control_plane, "-n", namespace, f"job/{name}") for name in ("first", "second")]
        return next((item for item in ran if "ResourceQuota gpus" in item.out), None)

    text = " ".join(control_plane.wait_until(told, SECONDS, "the quota named").out.split())
    assert "ResourceQuota gpus is used up: 2 of 2 requests.nvidia.com/gpu, 2 requested" in text
    assert "Change Free some of ResourceQuota gpus, or let an admin raise it" in text
    assert "Ask for" not in text


@pytest.mark.parametrize("kind", ["Deployment", "Job"])
def test_a_workload_whose_pods_are_refused(control_plane, installed, nodes, namespace, kind):
    """Its template passes when it is applied; then the policy changes, and what its controller creates is refused."""
    nodes(t4_node("pe-t4", gpus=2))
    template = pod(annotations={"gpusched.io/families": "turing"}, labels={"app": "web"})
    template["spec"]["restartPolicy"] = "Always" if kind == "Deployment" else "Never"
    spec = (
        {"replicas": 1, "paused": True, "selector": {"matchLabels": {"app": "web"}}}
        if kind == "Deployment"
        else {"suspend": True}
    )
    control_plane.create(workload(kind, "web", template=template, namespace=namespace, **spec)).expect()
    policy(control_plane, namespace, families="hopper")
    group = "apps" if kind == "Deployment" else "batch"
    control_plane.request(
        "PATCH",
        f"/apis/{group}/v1/namespaces/{namespace}/{kind.lower()}s/web",
        {"spec": {"paused" if kind == "Deployment" else "suspend": False}},
        content_type="application/merge-patch+json",
    ).expect()

    def told() -> Ran | None:
        ran = why(control_plane, "-n", namespace, f"{kind.lower()}/web")
        return ran if "could not create pods" in ran.out else None

    ran = control_plane.wait_until(told, SECONDS, "refusal of pods seen")
    text = " ".join(ran.out.split())
    assert ran.code == 1
    assert "REFUSED" in text
    assert f"gpu-policy-family: pod asks for turing; namespace {namespace} allows hopper" in text
    # A Deployment's controller is refused the ReplicaSet already.
    webhook = "workloads.mutate" if kind == "Deployment" else "pods.mutate"
    assert f'admission webhook "{webhook}.gpusched.io" denied the request: gpu-policy-family' in text


def test_the_pods_of_a_cluster_that_wait(control_plane, installed, nodes, namespace):
    nodes(h100_node("pe-h", gpus=1))
    for name in ("a", "b", "c"):
        create(control_plane, pod(name, namespace, labels={"app": name}))
    bound_node(control_plane, namespace, "a", SECONDS)
    refusal(control_plane, namespace, "c", SECONDS)

    assert why(control_plane, "-n", namespace, "-o", "name").out == "pod/b\npod/c\n"
    assert why(control_plane, "-n", namespace, "-l", "app in (a, c)", "-o", "name").out == "pod/a\npod/c\n"
    assert why(control_plane, "-n", namespace, "-l", "app=a").code == 0


def test_a_tenant_is_answered_by_the_service(control_plane, installed, nodes, namespace, tmp_path):
    """Who may list pods of one namespace and nothing else is told about these, and about no others."""
    nodes(t4_node("pe-t4"))
    policy(control_plane, namespace, families="hopper")
    create(control_plane, pod("p", namespace))
    refusal(control_plane, namespace, "p", SECONDS)
    subject = {"kind": "ServiceAccount", "name": "dev", "namespace": namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "dev"}
    group = "rbac.authorization.k8s.io/v1"
    metadata = {"name": "dev", "namespace": namespace}
    control_plane.apply(
        [
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
            {
                "apiVersion": group,
                "kind": "Role",
                "metadata": metadata,
                "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}],
            },
            {"apiVersion": group, "kind": "RoleBinding", "metadata": metadata, "roleRef": role, "subjects": [subject]},
        ]
    )
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/dev/token"
    token = control_plane.request("POST", path, asked).expect()["status"]["token"]
    kubeconfig = yaml.safe_load(control_plane.kubeconfig().read_text())
    kubeconfig["users"][0]["user"] = {"token": token}
    kubeconfig["contexts"][0]["context"]["namespace"] = namespace
    own = tmp_path / "dev"
    own.write_text(yaml.safe_dump(kubeconfig))

    def ask(*arguments: str) -> Ran:
        return run("why", *arguments, "--kubeconfig", own)

    ran = ask("p", "--server", installed.admin_url)
    assert (ran.code, ran.errors) == (1, [])
    assert f"family  {namespace} allows hopper" in ran.out
    assert "An admin may widen gpusched.io/families" in ran.out

    refused = ask("p")
    assert refused.code == 3
    assert "this needs the verb list on nodes in all namespaces" in refused.errors[0]
    elsewhere = ask("default/p", "--server", installed.admin_url)
    assert (elsewhere.code, elsewhere.out) == (3, "")


def _told_of(plane, installed, namespace):
    """The reasons of pod `p` for the terminal and the page, and what gpusched's event says."""
    ran = why(plane, "-n", namespace, "p", "-o", "json")
    assert ran.code == 1
    _, body = installed.admin(f"/api/v1/why?namespace={namespace}&name=p")
    seen = ran.json["unschedulable"], json.loads(body)["why"]

    def told():
        found = events(plane, namespace, "p")
        return next((item["message"] for item in found if item["reason"] == "GPUUnschedulable"), None)

    return *seen, plane.wait_until(told, SECONDS, "GPUUnschedulable")


def test_a_claim_that_does_not_exist(control_plane, installed, nodes, namespace):
    """The GPUs of the node would do; kube-scheduler's word on the volume is the cause, wherever one looks."""
    nodes(t4_node("pe-t4"))
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "nodata"}}
    create(control_plane, pod("p", namespace, volumes=[volume]))
    assert 'persistentvolumeclaim "nodata" not found' in refusal(control_plane, namespace, "p", SECONDS)

    terminal, page, event = _told_of(control_plane, installed, namespace)

    cause = f"PersistentVolumeClaim nodata does not exist in namespace {namespace}"
    change = f"Create PersistentVolumeClaim nodata in namespace {namespace}, or correct claimName in spec.volumes"
    reason = {"code": "native-other", "message": cause, "nodes": 1, "example": "pe-t4"}
    assert terminal == {"reasons": [reason], "suggestion": change}
    assert [(item["code"], item["message"]) for item in page["reasons"]] == [("native-other", cause)]
    assert page["suggestion"] == change
    assert event.startswith(f"0 of 1 nodes take it: 1 native-other ({cause}). {change}")


def test_a_scheduler_that_nobody_runs(control_plane, installed, nodes, namespace):
    nodes(t4_node("pe-t4"))
    create(control_plane, pod("p", namespace, schedulerName="volcano"))

    terminal, page, event = _told_of(control_plane, installed, namespace)

    (reason,) = terminal["reasons"]
    assert reason["message"].startswith(
        "it waits for a scheduler named volcano, which has said nothing; gpusched serves"
    )
    assert terminal["suggestion"] == "Remove spec.schedulerName: volcano, or start a scheduler of that name"
    assert [item["message"] for item in page["reasons"]] == [reason["message"]]
    assert reason["message"] in event
