"""What a local control plane can be asked to be."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from gpusched.local.credentials import Identity


class Options(msgspec.Struct, frozen=True):
    """Everything has a default; a default control plane has no extender, RBAC on, and kwok as kubelet.

    `scheduler`: a KubeSchedulerConfiguration; `clientConnection.kubeconfig` and `leaderElection` are filled in.
    `feature_gates`: of all Kubernetes components. `runtime_config`: such as `resource.k8s.io/v1beta1=true`.
    `identities`: further ones besides admin, scheduler, kcm, kwok and gpusched, by name.
    `arguments`: further flags by component, after the others, so that they win.
    `secure_port`: of the API server; 0 is any free one. `audit`: keep an audit log, level Request.
    `stages`: kwok's Stage objects; the default lets pods run and Jobs complete.
    `parent`: folder of the temporary folder. Times are seconds.
    """

    scheduler: Mapping[str, object] = {}
    feature_gates: Mapping[str, bool] = {}
    runtime_config: tuple[str, ...] = ()
    identities: Mapping[str, Identity] = {}
    arguments: Mapping[str, tuple[str, ...]] = {}
    secure_port: int = 0
    audit: bool = False
    verbosity: int = 2
    stages: Path = Path(__file__).with_name("stages.yaml")
    parent: Path | None = None
    start_seconds: float = 90.0
    stop_seconds: float = 10.0
