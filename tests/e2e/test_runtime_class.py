"""Which RuntimeClass a GPU pod gets, and what the API server makes of the class that gpusched chose."""

import secrets

import pytest

from tests.build import node, pod
from tests.e2e.definitions import defined
from tests.e2e.seen import policy

CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
GROUP = "nvidia.com"


def class_tree(name, **fields):
    return {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": name}, "handler": "x"} | fields


def classes_seen(plane):
    """Return when gpusched knows all classes as they are: events of one kind come in order."""
    name = f"e2e-{secrets.token_hex(4)}"
    plane.create(class_tree(name)).expect()
    notes = {"gpusched.io/runtime-class": name}
    plane.wait_until(lambda: class_of(plane, "default", annotations=notes) == name, what="classes seen by gpusched")
    plane.request("DELETE", f"{CLASSES}/{name}").expect()


@pytest.fixture
def runtime_class(installed, control_plane):
    """Creates RuntimeClasses, in place of those of the same name; at the end there is `nvidia` as it was."""
    names = []

    def create(name, **fields):
        control_plane.request("DELETE", f"{CLASSES}/{name}")
        control_plane.create(class_tree(name, **fields)).expect()
        names.append(name)
        classes_seen(control_plane)

    yield create
    for name in {*names, "nvidia"}:
        control_plane.request("DELETE", f"{CLASSES}/{name}")
    create("nvidia")


def made(plane, namespace, name="p", **extra):
    return plane.create(pod(name, namespace, **extra))


def class_of(plane, namespace, **extra):
    """The class of a pod created for show."""
    return plane.create(pod("shown", namespace, **extra), dry_run=True).expect()["spec"].get("runtimeClassName")


def test_gpu_pod_is_given_the_class_and_another_is_not(installed, control_plane, namespace, runtime_class):
    control_plane.wait_until(lambda: class_of(control_plane, namespace) == "nvidia", what="class seen by gpusched")

    assert class_of(control_plane, namespace, gpus=None) is None
    assert class_of(control_plane, namespace, gpus=0) is None
    assert class_of(control_plane, namespace, resource="amd.com/gpu") is None
    assert class_of(control_plane, namespace, resource="nvidia.com/mig-1g.5gb") == "nvidia"


def test_absent_class_is_not_named_and_the_user_is_told(installed, control_plane, namespace, runtime_class):
    control_plane.request("DELETE", f"{CLASSES}/nvidia").expect()
    control_plane.wait_until(lambda: class_of(control_plane, namespace) is None, what="absence seen by gpusched")

    answer = made(control_plane, namespace)

    warning = 'runtime-class-missing: RuntimeClass nvidia does not exist: not set. Create it, or configure "" for none.'
    assert answer.status == 201
    assert warning in answer.warnings
    assert "runtimeClassName" not in answer.tree["spec"]


def test_class_that_the_user_names_stays(installed, control_plane, namespace, runtime_class):
    runtime_class("kata")

    assert class_of(control_plane, namespace, runtimeClassName="kata") == "kata"


def test_unknown_class_of_the_user_is_refused_by_the_api_server(installed, control_plane, namespace, runtime_class):
    answer = made(control_plane, namespace, runtimeClassName="nosuch")

    assert (answer.status, answer.message) == (
        403,
        'pods "p" is forbidden: pod rejected: RuntimeClass "nosuch" not found',
    )


@pytest.mark.parametrize(("wish", "expected"), [("never", None), ("auto", "nvidia"), ("gpus", "gpus")], ids=str)
@pytest.mark.parametrize("by", ["namespace", "pod"])
def test_policy_chooses(installed, control_plane, namespace, runtime_class, wish, expected, by):
    runtime_class("gpus")
    if by == "namespace":
        policy(control_plane, namespace, runtime_class=wish)
    notes = {"gpusched.io/runtime-class": wish} if by == "pod" else None

    control_plane.wait_until(
        lambda: class_of(control_plane, namespace, annotations=notes) == expected, what=f"class {expected}"
    )


def test_overhead_and_scheduling_of_the_class_come_with_it(
    installed, control_plane, namespace, runtime_class, fake_nodes
):
    """They are the API server's to add, after gpusched named the class; the pod lands where the class wants it."""
    taint = {"key": "sandbox", "value": "yes", "effect": "NoSchedule"}
    fake_nodes([node("plain"), node("sandboxed", labels={"sandbox": "yes"}, taints=[taint])])
    toleration = {"key": "sandbox", "operator": "Exists"}
    runtime_class(
        "nvidia",
        overhead={"podFixed": {"memory": "120Mi"}},
        scheduling={"nodeSelector": {"sandbox": "yes"}, "tolerations": [toleration]},
    )

    def with_overhead():
        return control_plane.create(pod("p", namespace), dry_run=True).expect()["spec"].get("overhead")

    control_plane.wait_until(with_overhead, what="class seen by gpusched and the API server")
    spec = made(control_plane, namespace).expect()["spec"]

    assert spec["runtimeClassName"] == "nvidia"
    assert spec["overhead"] == {"memory": "120Mi"}
    assert spec["nodeSelector"] == {"sandbox": "yes"}
    assert toleration in spec["tolerations"]
    path = f"/api/v1/namespaces/{namespace}/pods/p"
    assert control_plane.wait_for(path, lambda tree: tree["spec"].get("nodeName")) == "sandboxed"


def test_class_that_contradicts_the_pod_is_left_out(installed, control_plane, namespace, runtime_class):
    """The API server would refuse the pod, in words that do not say who set the class."""
    runtime_class("nvidia", scheduling={"nodeSelector": {"sandbox": "yes"}})
    selector = {"sandbox": "no"}

    answer = control_plane.create(pod("p", namespace, nodeSelector=selector))

    warning = "runtime-class-missing: RuntimeClass nvidia is not set: it conflicts with the pod."
    assert answer.status == 201
    assert warning in answer.warnings
    assert "runtimeClassName" not in answer.tree["spec"]


@pytest.fixture(scope="module")
def operator_kind(installed, control_plane):
    """The GPU Operator's kind ClusterPolicy, its schema left open; gpusched starts anew to find it."""
    with defined(control_plane, GROUP, "ClusterPolicy", "clusterpolicies", scope="Cluster"):
        installed.stop()
        installed.start()
        yield
    installed.stop()
    installed.start()


@pytest.fixture
def operator(operator_kind, control_plane):
    """Writes the ClusterPolicy, which is gone when the test ends."""

    def configure(version="v25.10.0", **spec):
        labels = {"app.kubernetes.io/version": version, "helm.sh/chart": f"gpu-operator-{version}"}
        about = {"name": "cluster-policy", "labels": labels}
        control_plane.apply([{"apiVersion": f"{GROUP}/v1", "kind": "ClusterPolicy", "metadata": about, "spec": spec}])

    yield configure
    control_plane.request("DELETE", f"/apis/{GROUP}/v1/clusterpolicies/cluster-policy").expect()


OPERATORS = {
    "CDI, 25.10": ({"cdi": {"enabled": True}}, "v25.10.0", None),
    "CDI by default, 25.10": ({}, "v25.10.0", None),
    "no CDI, 25.10": ({"cdi": {"enabled": False}}, "v25.10.0", "nvidia"),
    "CDI, 25.3": ({"cdi": {"enabled": True}}, "v25.3.4", "nvidia"),
    "NRI": ({"cdi": {"enabled": True, "nriPluginEnabled": True}}, "v26.3.0", None),
}


@pytest.mark.parametrize(("spec", "version", "expected"), OPERATORS.values(), ids=OPERATORS)
def test_operator_decides_whether_a_class_is_needed(
    installed, control_plane, namespace, runtime_class, operator, spec, version, expected
):
    # First the other way, so that the answer is that of this ClusterPolicy.
    other = None if expected else "nvidia"
    operator("v25.3.4", cdi={"enabled": False, "nriPluginEnabled": other is None})
    control_plane.wait_until(lambda: class_of(control_plane, namespace) == other, what="the other way first")

    operator(version, **spec)

    control_plane.wait_until(lambda: class_of(control_plane, namespace) == expected, what=f"class {expected}")
    assert class_of(control_plane, namespace, annotations={"gpusched.io/runtime-class": "nvidia"}) == "nvidia"
