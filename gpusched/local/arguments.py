"""The command lines of the components: pure functions from folders, ports and options to lists of words."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from gpusched.local.options import Options
from gpusched.local.ports import LOOPBACK

#: ServiceAccount would want a `default` account before the first pod of a namespace. TaintNodesByCondition would put
#: `node.kubernetes.io/not-ready` on every new node, ready or not (plugin/pkg/admission/nodetaint).
DISABLED_ADMISSION: Final = ("ServiceAccount", "TaintNodesByCondition")
#: Nobody renews the leases of nodes that do not exist.
_CONTROLLERS: Final = "*,-node-lifecycle-controller"
#: Label of the nodes that have a kubelet of their own, so that kwok lets them be.
REAL_KUBELET: Final = "local.gpusched.io/kubelet"


class Layout(msgspec.Struct, frozen=True):
    """Files and ports of one run."""

    folder: Path
    etcd_port: int
    peer_port: int
    api_port: int
    scheduler_port: int

    @property
    def server(self) -> str:
        """The API server's URL."""
        return f"https://{LOOPBACK}:{self.api_port}"

    @property
    def logs(self) -> Path:
        """Folder of the logs, one a component, and of the audit log."""
        return self.folder / "logs"

    @property
    def authority(self) -> Path:
        """The certificate of this run's authority, by which clients know both servers."""
        return self.folder / "ca.crt"

    def kubeconfig(self, identity: str) -> Path:
        """The kubeconfig of an identity."""
        return self.folder / f"{identity}.kubeconfig"


def etcd(layout: Layout) -> list[str]:
    """One member; the flags are upstream's, as ready binaries may be."""
    client, peer = f"http://{LOOPBACK}:{layout.etcd_port}", f"http://{LOOPBACK}:{layout.peer_port}"
    return [
        "--name=local",
        f"--data-dir={layout.folder / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=local={peer}",
        "--log-level=warn",
        "--unsafe-no-fsync",
    ]


def api_server(layout: Layout, options: Options) -> list[str]:
    """kube-apiserver on the loopback interface, RBAC on, tokens from a file."""
    words = [
        f"--etcd-servers=http://{LOOPBACK}:{layout.etcd_port}",
        *_serving(layout),
        f"--secure-port={layout.api_port}",
        f"--bind-address={LOOPBACK}",
        f"--advertise-address={LOOPBACK}",
        # The endpoints of the Service `kubernetes` may not be loopback addresses.
        "--endpoint-reconciler-type=none",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--allow-privileged=true",
        "--authorization-mode=RBAC",
        f"--disable-admission-plugins={','.join(DISABLED_ADMISSION)}",
        f"--service-account-issuer={layout.server}/",
        f"--service-account-key-file={layout.folder / 'service-account.pub'}",
        f"--service-account-signing-key-file={layout.folder / 'service-account.key'}",
        f"--token-auth-file={layout.folder / 'tokens.csv'}",
        *_shared(options),
    ]
    if options.runtime_config:
        words.append(f"--runtime-config={','.join(options.runtime_config)}")
    if options.audit:
        policy, log = layout.folder / "audit-policy.json", layout.logs / "audit.log"
        words += [f"--audit-policy-file={policy}", f"--audit-log-path={log}", "--audit-log-mode=blocking"]
    return [*words, *options.arguments.get("kube-apiserver", ())]


def scheduler(layout: Layout, options: Options, configuration: Path) -> list[str]:
    """kube-scheduler with a configuration file; health and metrics without a login, on the loopback interface."""
    return [
        f"--config={configuration}",
        f"--secure-port={layout.scheduler_port}",
        f"--bind-address={LOOPBACK}",
        *_serving(layout),
        "--authorization-always-allow-paths=/healthz,/livez,/readyz,/metrics",
        *_shared(options),
        *options.arguments.get("kube-scheduler", ()),
    ]


def controller_manager(layout: Layout, options: Options) -> list[str]:
    """kube-controller-manager with all controllers but the one that watches kubelets."""
    return [
        f"--kubeconfig={layout.kubeconfig('kcm')}",
        "--leader-elect=false",
        "--secure-port=0",
        f"--controllers={_CONTROLLERS}",
        f"--service-account-private-key-file={layout.folder / 'service-account.key'}",
        f"--root-ca-file={layout.authority}",
        "--kube-api-qps=100",
        "--kube-api-burst=200",
        *_shared(options),
        *options.arguments.get("kube-controller-manager", ()),
    ]


def kwok(layout: Layout, options: Options) -> list[str]:
    """All nodes without a kubelet are kwok's, with nothing but our stages, and no leases: nobody looks at them."""
    return [
        f"--kubeconfig={layout.kubeconfig('kwok')}",
        f"--manage-nodes-with-label-selector=!{REAL_KUBELET}",
        f"--config={options.stages}",
        "--node-lease-duration-seconds=0",
        *options.arguments.get("kwok", ()),
    ]


def scheduler_configuration(
    given: Mapping[str, object], kubeconfig: Path, *, election: object = None
) -> dict[str, object]:
    """The given KubeSchedulerConfiguration with what only this control plane knows; the rest stays as given.

    `election` is how the leader is elected, None for not at all.
    """
    connection = given.get("clientConnection")
    rates = {"qps": 500, "burst": 1000} | (dict(connection) if isinstance(connection, Mapping) else {})
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        **given,
        "clientConnection": rates | {"kubeconfig": str(kubeconfig)},
        "leaderElection": election or {"leaderElect": False},
    }


def audit_policy() -> dict[str, object]:
    """Everything that changes something, with its body, once."""
    return {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [{"level": "None", "verbs": ["get", "list", "watch"]}, {"level": "Request"}],
    }


def _serving(layout: Layout) -> list[str]:
    # Made beforehand: a server that makes its own takes a second for it, and its clients must wait for the file.
    return [
        f"--tls-cert-file={layout.folder / 'server.crt'}",
        f"--tls-private-key-file={layout.folder / 'server.key'}",
    ]


def _shared(options: Options) -> list[str]:
    words = [f"-v={options.verbosity}"]
    if options.feature_gates:
        gates = (f"{name}={'true' if on else 'false'}" for name, on in sorted(options.feature_gates.items()))
        words.append(f"--feature-gates={','.join(gates)}")
    return words
