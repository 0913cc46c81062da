from pathlib import Path

import pytest

from gpusched.local import arguments
from gpusched.local.arguments import Layout
from gpusched.local.options import Options

LAYOUT = Layout(Path("/run"), 1, 2, 3, 4)


def test_api_server_has_rbac_on_and_listens_to_this_machine_alone():
    words = arguments.api_server(LAYOUT, Options())

    assert {"--authorization-mode=RBAC", "--bind-address=127.0.0.1", "--secure-port=3"} <= set(words)
    assert "--etcd-servers=http://127.0.0.1:1" in words
    assert "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition" in words
    assert not any(word.startswith(("--feature-gates", "--runtime-config", "--audit")) for word in words)


def test_etcd_is_told_its_own_addresses_as_upstream_wants_it():
    words = arguments.etcd(LAYOUT)

    assert "--initial-cluster=local=http://127.0.0.1:2" in words
    assert "--listen-client-urls=http://127.0.0.1:1" in words


@pytest.mark.parametrize(
    "words",
    [
        arguments.api_server(LAYOUT, Options(feature_gates={"B": False, "A": True})),
        arguments.scheduler(LAYOUT, Options(feature_gates={"B": False, "A": True}), Path("/c")),
        arguments.controller_manager(LAYOUT, Options(feature_gates={"B": False, "A": True})),
    ],
)
def test_feature_gates_reach_every_component_of_kubernetes(words):
    assert "--feature-gates=A=true,B=false" in words


def test_audit_and_runtime_configuration_are_passed_on():
    words = arguments.api_server(LAYOUT, Options(audit=True, runtime_config=("a/v1=true", "b/v1=true")))

    assert "--runtime-config=a/v1=true,b/v1=true" in words
    assert "--audit-policy-file=/run/audit-policy.json" in words
    assert "--audit-log-path=/run/logs/audit.log" in words


def test_kwok_takes_every_node_but_those_with_a_kubelet():
    words = arguments.kwok(LAYOUT, Options())

    assert "--manage-nodes-with-label-selector=!local.gpusched.io/kubelet" in words
    assert not [word for word in words if word.startswith(("--manage-all", "--manage-single"))]


@pytest.mark.parametrize(
    ("name", "build"),
    [
        ("kube-apiserver", lambda options: arguments.api_server(LAYOUT, options)),
        ("kube-scheduler", lambda options: arguments.scheduler(LAYOUT, options, Path("/c"))),
        ("kube-controller-manager", lambda options: arguments.controller_manager(LAYOUT, options)),
        ("kwok", lambda options: arguments.kwok(LAYOUT, options)),
    ],
)
def test_further_flags_come_last(name, build):
    assert build(Options(arguments={name: ("--v=9",)}))[-1] == "--v=9"


def test_scheduler_configuration_keeps_what_is_given_and_knows_the_kubeconfig():
    given = {
        "clientConnection": {"qps": 5, "kubeconfig": "/elsewhere"},
        "leaderElection": {"leaderElect": True},
        "extenders": [{"urlPrefix": "http://127.0.0.1:1"}],
    }

    assert arguments.scheduler_configuration(given, Path("/k")) == {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"qps": 5, "burst": 1000, "kubeconfig": "/k"},
        "leaderElection": {"leaderElect": False},
        "extenders": [{"urlPrefix": "http://127.0.0.1:1"}],
    }
    election = {"resourceName": "mine"}
    assert arguments.scheduler_configuration(given, Path("/k"), election=election)["leaderElection"] == election
