"""What the base promises about its pods, and that its parts name the same ports and labels."""

import yaml

from gpusched.cli.serve import serve
from tests.manifests.overlays import MANIFESTS

LABELS = {"app.kubernetes.io/name": "gpusched"}


def objects(name):
    return list(yaml.safe_load_all((MANIFESTS / "base" / f"{name}.yaml").read_text(encoding="utf-8")))


def deployment():
    (tree,) = objects("deployment")
    return tree["spec"]


def container():
    (only,) = deployment()["template"]["spec"]["containers"]
    return only


def test_pods_have_no_privileges():
    pod = deployment()["template"]["spec"]

    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container()["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {key for volume in pod["volumes"] for key in volume} <= {"name", "configMap"}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()


def test_one_replica_is_always_there():
    spec = deployment()
    (budget,) = objects("availability")
    (preferred,) = spec["template"]["spec"]["affinity"]["podAntiAffinity"].values()
    (spread,) = spec["template"]["spec"]["topologySpreadConstraints"]

    assert spec["replicas"] == 2
    assert spec["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    assert budget["spec"]["maxUnavailable"] == 1
    selectors = [budget["spec"], spec, preferred[0]["podAffinityTerm"], spread]
    found = [each.get("selector") or each["labelSelector"] for each in selectors]
    assert found == [{"matchLabels": LABELS}] * 4
    assert spec["template"]["metadata"]["labels"] == LABELS
    assert spec["template"]["spec"]["priorityClassName"] == "system-cluster-critical"


def test_services_and_policy_lead_to_the_ports_of_the_container():
    ports = {port["name"]: port["containerPort"] for port in container()["ports"]}
    (policy,) = objects("network")
    everyone, pods = policy["spec"]["ingress"]
    services = {tree["metadata"]["name"]: tree["spec"] for tree in objects("service")}

    assert [port["port"] for port in everyone["ports"]] == [ports["webhook"], ports["extender"]]
    assert "from" not in everyone
    assert [port["port"] for port in pods["ports"]] == [ports["admin"]]
    assert policy["spec"]["podSelector"] == {"matchLabels": LABELS}
    assert {port["targetPort"] for spec in services.values() for port in spec["ports"]} == ports.keys()
    assert services["gpusched-webhook"]["selector"] == LABELS
    assert services["gpusched"]["selector"] == LABELS | {"gpusched.io/leader": "true"}


def test_arguments_are_those_of_the_command():
    known = {option for parameter in serve.params for option in parameter.opts}
    given = [word.partition("=")[0] for word in container()["args"][1:]]

    assert set(given) <= known
    assert {"--role", "--config", "--namespace"} <= set(given)
