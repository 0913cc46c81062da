"""What the overlays say about kube-scheduler agrees with itself and with what the command prints."""

import ipaddress
import re
from pathlib import Path

import jsonpatch
import pytest
import yaml

from gpusched.dialects.labels import KEYS
from gpusched.policy.config import parse_config
from gpusched.policy.model import Config
from gpusched.wire.scheduler_config import scheduler_config
from tests.cli.commands import run
from tests.manifests.overlays import MANIFESTS, OVERLAYS, SCHEDULER_FILES, read

CLUSTER_RANGES = {"kubeadm": "10.96.0.0/12", "k3s": "10.43.0.0/16"}


def service_address(overlay: str) -> str:
    for entry in read(f"{overlay}/kustomization.yaml")["patches"]:
        for operation in yaml.safe_load(entry["patch"]):
            if operation["path"] == "/spec/clusterIP":
                return str(operation["value"])
    raise AssertionError(f"{overlay} fixes no address")


def options(name: str) -> list[str]:
    url, directory = SCHEDULER_FILES[name]
    named = ["--server-name", "gpusched.gpusched-system.svc"] if "svc" not in url else []
    return ["--url", url, *named, "--tls-directory", directory]


def static_pod():
    return yaml.safe_load(Path(__file__).with_name("kube-scheduler.yaml").read_text(encoding="utf-8"))


def test_every_file_for_kube_scheduler_is_judged_here():
    found = {str(path.relative_to(MANIFESTS / "overlays")) for path in MANIFESTS.rglob("scheduler-config.yaml")}

    assert found == set(SCHEDULER_FILES)


@pytest.mark.parametrize("name", SCHEDULER_FILES)
def test_the_extender_is_what_the_command_prints(name, tmp_path):
    tree = read(name)
    bare = tmp_path / "bare.yaml"
    bare.write_text(yaml.safe_dump({key: value for key, value in tree.items() if key != "extenders"}))

    assert yaml.safe_load(run("config", "scheduler", "--merge", str(bare), *options(name)).out) == tree
    header = (MANIFESTS / "overlays" / name).read_text(encoding="utf-8").splitlines()[:2]
    assert header == [
        "# The extenders are printed by: gpusched config scheduler --merge scheduler-config.yaml \\",
        f"#   {' '.join(options(name))}",
    ]


@pytest.mark.parametrize("name", SCHEDULER_FILES)
def test_the_emergency_form_replaces_it_in_the_same_file(name):
    path = str(MANIFESTS / "overlays" / name)
    (normal,) = read(name)["extenders"]
    ran = run("config", "scheduler", "--merge", path, "--break-glass", *options(name))
    (emergency,) = yaml.safe_load(ran.out)["extenders"]

    del normal["bindVerb"]
    assert emergency == normal | {"ignorable": True}


@pytest.mark.parametrize("overlay", CLUSTER_RANGES)
def test_the_address_is_in_the_part_for_fixed_ones_and_is_called(overlay):
    """Up to 256 addresses at the start of the range are given out last (KEP-3070)."""
    address = ipaddress.ip_address(service_address(overlay))
    network = ipaddress.ip_network(CLUSTER_RANGES[overlay])
    size = min(max(16, network.num_addresses // 16), 256)

    # The first two are those of the Services kubernetes and, as a rule, of cluster DNS: .1 and .10.
    assert network.network_address + 10 < address <= network.network_address + size
    called = [url for name, (url, _) in SCHEDULER_FILES.items() if name.startswith(f"{overlay}/")]
    assert set(called) == {f"https://{address}:8444"}


def test_kubeadm_writes_the_same_static_pod_by_configuration_and_by_patch():
    """kube-scheduler.yaml is what kubeadm 1.37.2 writes without any."""
    added = read("kubeadm/cluster-configuration.yaml")["scheduler"]
    patch = read("kubeadm/patches/kube-scheduler+json.yaml")
    (container,) = jsonpatch.apply_patch(static_pod(), patch)["spec"]["containers"]
    volumes = jsonpatch.apply_patch(static_pod(), patch)["spec"]["volumes"]
    (volume,) = added["extraVolumes"]

    assert container["command"][-1] == "--{name}={value}".format(**added["extraArgs"][0])
    assert container["volumeMounts"][-1] == {
        "name": volume["name"],
        "mountPath": volume["mountPath"],
        "readOnly": volume["readOnly"],
    }
    assert volumes[-1] == {
        "name": volume["name"],
        "hostPath": {"path": volume["hostPath"], "type": volume["pathType"]},
    }


@pytest.mark.parametrize(
    ("name", "mounted"),
    [
        ("kubeadm/scheduler-config.yaml", ["/etc/kubernetes/gpusched", "/etc/kubernetes/scheduler.conf"]),
        ("k3s/rke2/scheduler-config.yaml", ["/etc/rancher/rke2/gpusched"]),
        ("managed/scheduler-config.yaml", ["/etc/kubernetes/gpusched"]),
    ],
)
def test_kube_scheduler_sees_every_file_that_it_is_told_of(name, mounted):
    tree = read(name)
    files = [path for key, path in tree["extenders"][0]["tlsConfig"].items() if key.endswith("File")]

    assert len(files) == 3
    assert all(path.startswith(f"{mounted[0]}/") for path in files)
    if len(mounted) > 1:
        mounts = [mount["mountPath"] for mount in static_pod()["spec"]["containers"][0]["volumeMounts"]]
        assert tree["clientConnection"]["kubeconfig"] == mounted[1]
        assert mounted[1] in mounts


def test_k3s_and_rke2_are_told_where_the_configuration_is():
    assert read("k3s/gpusched.yaml") == {
        "kube-scheduler-arg+": ["config=/etc/rancher/k3s/gpusched/scheduler-config.yaml"]
    }
    assert read("k3s/rke2/gpusched.yaml") == {
        "kube-scheduler-arg+": ["config=/etc/rancher/rke2/gpusched/scheduler-config.yaml"],
        "kube-scheduler-extra-mount+": ["/etc/rancher/rke2/gpusched:/etc/rancher/rke2/gpusched:ro"],
    }


def test_the_second_scheduler_is_no_replica_of_gpusched():
    """The Services select pods by their labels."""
    (deployment, _) = yaml.safe_load_all((MANIFESTS / "overlays/managed/scheduler.yaml").read_text(encoding="utf-8"))
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    configuration = read("managed/scheduler-config.yaml")

    assert labels == {"app.kubernetes.io/name": "gpusched-scheduler"}
    assert configuration["profiles"] == [{"schedulerName": "gpusched-scheduler"}]
    assert configuration["leaderElection"] == {
        "leaderElect": True,
        "resourceNamespace": "gpusched-system",
        "resourceName": "gpusched-scheduler",
    }


def test_gpu_pods_are_sent_to_the_second_scheduler():
    config, faults = parse_config(yaml.safe_load(read("managed/config.yaml")["data"]["config.yaml"]))

    assert (config, faults) == (Config(second_scheduler="gpusched-scheduler"), ())
    assert scheduler_config({}, config.second_scheduler)["leaderElection"].items() <= (
        read("managed/scheduler-config.yaml")["leaderElection"].items()
    )


def test_every_webhook_but_that_of_namespaces_can_be_opt_in():
    """Policy must be readable where it is written, whether it holds already or not."""
    component = yaml.safe_load((MANIFESTS / "components/opt-in/kustomization.yaml").read_text(encoding="utf-8"))
    patches = {entry["target"]["kind"]: yaml.safe_load(entry["patch"]) for entry in component["patches"]}
    trees = list(yaml.safe_load_all((MANIFESTS / "base/webhooks.yaml").read_text(encoding="utf-8")))

    for tree in trees:
        patched = jsonpatch.apply_patch(tree, patches[tree["kind"]])
        keys = {
            hook["name"]: [term["key"] for term in hook["namespaceSelector"]["matchExpressions"]]
            for hook in patched["webhooks"]
        }
        assert {name for name, found in keys.items() if "gpusched.io/enabled" not in found} <= {
            "namespaces.validate.gpusched.io"
        }
    assert {tree["kind"] for tree in trees} == set(patches)


def test_no_manifest_holds_a_ca_bundle():
    """gpusched writes it while it runs, as a field manager of its own."""
    for path in MANIFESTS.rglob("*.yaml"):
        assert "caBundle:" not in path.read_text(encoding="utf-8")


def test_uninstalling_removes_every_label_that_is_written():
    text = (MANIFESTS / "uninstall.sh").read_text(encoding="utf-8")

    assert set(re.findall(r"(gpusched\.io/[a-z-]+)-(?=\s)", text)) == set(KEYS)


def test_overlays_are_those_that_are_documented():
    text = (MANIFESTS.parent / "docs" / "install.md").read_text(encoding="utf-8")

    assert {name for name in OVERLAYS if f"overlays/{name}" in text} == set(OVERLAYS)
