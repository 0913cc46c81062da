import base64
from datetime import UTC, datetime, timedelta

import pytest

from certs.issue import KeyPair, issue_ca, issue_leaf
from gpusched.doctor.examine import CHECKS
from gpusched.local.installed import documents, manifests_folder
from tests.build import bound, h100_node, namespace, pod, t4_node
from tests.cli.api import CONFIG_MAP, Api, config_map
from tests.cli.commands import Folder, run

CONFIG = "apiVersion: gpusched.io/v1alpha1\nkind: Config\n"
NOW = datetime.now(UTC)
CLASS = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}, "handler": "nvidia"}
CLUSTER = [h100_node("h"), CLASS, namespace("default"), bound(pod("p", "default"), "h")]
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/gpusched-system/leases/gpusched"
SECRET = "/api/v1/namespaces/gpusched-system/secrets/gpusched-webhook-tls"  # noqa: S105 - a path
OWN_PODS = "/api/v1/namespaces/gpusched-system/pods"
READY = f"{OWN_PODS}/gpusched-0:8080/proxy/readyz"
SCHEDULERS = "/api/v1/namespaces/kube-system/pods"
EXTENDER = "/api/v1/namespaces/gpusched-system/services/gpusched"
DRY_RUN = "/api/v1/namespaces/default/pods"
REFUSED = 'admission webhook "pods.mutate.gpusched.io" denied the request: gpu-claim: no'


def leaf_of(authority: KeyPair, days: int = 90) -> bytes:
    since = NOW - timedelta(days=30)
    return issue_leaf(authority, ["gpusched-webhook"], since, timedelta(days=30 + days)).certificate


def encoded(text: bytes) -> str:
    return base64.b64encode(text).decode()


class Installed(Api):
    """A cluster on which gpusched is in good order; tests then change an answer."""

    def __init__(self) -> None:
        super().__init__(*CLUSTER)
        self.authority = issue_ca("gpusched", NOW, timedelta(days=365))
        self.register(self.authority.certificate)
        self.serve(leaf_of(self.authority))
        self.answers[CONFIG_MAP] = 200, config_map(CONFIG)
        self.answers[DRY_RUN] = 403, {"kind": "Status", "message": REFUSED}
        self.answers["/version"] = 200, {"major": "1", "minor": "37+"}
        self.lead(NOW)
        for name in ("gpusched-namespace-policy", "gpusched-pod-claims"):
            for plural in ("validatingadmissionpolicies", "validatingadmissionpolicybindings"):
                self.answers[f"{ADMISSION}/{plural}/{name}"] = 200, {}
        self.answers[OWN_PODS] = 200, {"items": [{"metadata": {"name": "gpusched-0"}}]}
        self.answers[READY] = 200, b"ready\n"
        self.answers[EXTENDER] = 200, {}
        self.answers[SCHEDULERS] = 200, {"items": [self.scheduler("--config=/etc/kubernetes/scheduler.yaml")]}

    def scheduler(self, *arguments: str):
        container = {"name": "kube-scheduler", "command": ["kube-scheduler", *arguments]}
        return {"metadata": {"name": "kube-scheduler-a"}, "spec": {"containers": [container]}}

    def register(self, bundle: bytes) -> None:
        for tree in documents(manifests_folder() / "base" / "webhooks.yaml"):
            for hook in tree["webhooks"]:
                hook["clientConfig"]["caBundle"] = encoded(bundle)
            self.answers[f"{ADMISSION}/{tree['kind'].lower()}s"] = 200, {"items": [tree]}

    def serve(self, certificate: bytes) -> None:
        self.answers[SECRET] = 200, {"data": {"tls.crt": encoded(certificate)}}

    def lead(self, renewed: datetime, holder: str = "gpusched-0") -> None:
        spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed.isoformat()}
        self.answers[LEASE] = 200, {"metadata": {"name": "gpusched"}, "spec": spec}


@pytest.fixture
def api():
    with Installed() as server:
        yield server


@pytest.fixture
def doctor(api, tmp_path):
    def examined(*arguments: str):
        api.lead(datetime.now(UTC)) if api.answers[LEASE][0] == 200 and not arguments else None
        return run("doctor", "--kubeconfig", api.kubeconfig(tmp_path), "-o", "json", *arguments)

    return examined


def seen(ran) -> dict[str, list[str]]:
    return {item["check"]: [sight["seen"] for sight in item["sights"]] for item in ran.json["problems"]}


def test_an_installation_in_good_order(doctor):
    ran = doctor()

    assert (ran.code, ran.errors, ran.notes) == (0, [], [])
    assert ran.json == {"problems": [], "checks": [check.name for check in CHECKS], "errors": []}


def other() -> KeyPair:
    return issue_ca("other", NOW, timedelta(days=365))


FAULTS = {
    "no replica answers": (
        lambda api: api.answers.update({READY: (503, b"not ready: cache 300 s old\n")}),
        "replica-not-ready",
        "not ready: cache 300 s old",
    ),
    "a clock that is wrong": (
        lambda api: api.answers.update({READY: (200, b"ready\nclock: 70 s behind the API server's\n")}),
        "clock-skew",
        "clock: 70 s behind the API server's",
    ),
    "another authority": (lambda api: api.serve(leaf_of(other())), "ca-bundle", "signed by CN=other"),
    "no certificate in the bundle": (lambda api: api.register(b"nonsense"), "ca-bundle", "is no certificate"),
    "an empty bundle": (lambda api: api.register(b""), "ca-bundle", "has no CA bundle"),
    "a leaf that ends": (lambda api: api.serve(leaf_of(api.authority, 3)), "certificate-expiry", " ends on 2"),
    "a leaf that ended": (lambda api: api.serve(leaf_of(api.authority, -1)), "certificate-expiry", " ended on 2"),
    "a webhook that is away": (
        lambda api: api.answers.update({DRY_RUN: (500, {"kind": "Status", "message": "failed calling webhook"})}),
        "webhook-unreachable",
        "failed calling webhook",
    ),
    "a pod that is let through": (
        lambda api: api.answers.update({DRY_RUN: (201, {})}),
        "webhook-unreachable",
        "was let through",
    ),
    "a policy without its binding": (
        lambda api: api.answers.pop(f"{ADMISSION}/validatingadmissionpolicybindings/gpusched-pod-claims"),
        "policy-guard-missing",
        "is not there",
    ),
    "a scheduler without a configuration": (
        lambda api: api.answers.update({SCHEDULERS: (200, {"items": [api.scheduler("--leader-elect=true")]})}),
        "scheduler-configuration",
        "runs without --config",
    ),
    "an old API server": (
        lambda api: api.answers.update({"/version": (200, {"major": "1", "minor": "27"})}),
        "kubernetes-version",
        "1.27",
    ),
    "a secret that may not be read": (
        lambda api: api.answers.update({SECRET: (403, {"kind": "Status", "message": "no"})}),
        "not-examined",
        "not known",
    ),
    "a configuration with errors": (
        lambda api: api.answers.update({CONFIG_MAP: (200, config_map(f"{CONFIG}colour: red\n"))}),
        "configuration",
        "configmap/gpusched-system/gpusched: ",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults(api, doctor, name):
    change, check, words = FAULTS[name]
    change(api)
    found = seen(doctor())

    assert list(found) == [check]
    assert words in found[check][0]


def test_the_webhook_alone_asks_nothing_of_the_scheduler(api, doctor):
    api.lists["/api/v1/pods"].clear()
    api.put(bound(pod("round", "default"), "h", ours=False))
    api.answers[SCHEDULERS] = 200, {"items": [api.scheduler("--leader-elect=true")]}
    assert set(seen(doctor())) == {"nothing-bound", "scheduler-configuration"}

    del api.answers[EXTENDER]
    assert seen(doctor()) == {}


def test_a_lease_that_nobody_renews(api, doctor):
    api.lead(NOW - timedelta(minutes=5))
    found = seen(doctor("--context", "here"))

    assert list(found) == ["leader"]
    assert found["leader"][0].startswith("gpusched-0 renewed it ")


def test_other_software_for_gpus(api, doctor):
    hooks = api.answers[f"{ADMISSION}/mutatingwebhookconfigurations"][1]["items"]
    hooks += [{"metadata": {"name": "hami-webhook"}}, {"metadata": {"name": "istio"}}]

    assert list(seen(doctor())) == ["other-gpu-webhook"]


def test_a_cluster_without_gpusched(tmp_path):
    with Api(*CLUSTER) as bare:
        ran = run("doctor", "--kubeconfig", bare.kubeconfig(tmp_path), "-o", "json")

    assert list(seen(ran)) == ["gpusched-absent"]
    assert ran.code == 1


def test_a_dump(folder: Folder) -> None:
    many = [bound(pod(f"p{index}"), "t", ours=index == 0) for index in range(9)]
    dump = folder.documents("c.yaml", t4_node("t", gpus=2, replicas=8), namespace(famlies="turing"), *many)
    ran = run("doctor", "--cluster", dump)

    assert (ran.code, ran.err) == (1, "")
    assert ran.out.splitlines()[0] == "WARNING  pods were bound without gpusched  (bound-elsewhere)"
    assert "           and 3 more: --all names them" in ran.out
    assert "  Fix      kubectl annotate namespace team-a gpusched.io/famlies-\n" in ran.out
    assert ran.out.endswith(" checks: 2 warnings\n")
    assert "--all names them" not in run("doctor", "--cluster", dump, "--all").out


def test_a_dump_in_good_order(folder: Folder) -> None:
    ran = run("doctor", "--cluster", folder.documents("c.yaml", *CLUSTER))

    assert (ran.code, ran.out) == (0, f"{sum(not check.live for check in CHECKS)} checks, no problem found\n")
