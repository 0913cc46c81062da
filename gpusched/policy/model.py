"""Policy as records: what one layer (ceiling, configuration, namespace, pod) says, and the cluster configuration."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from gpusched.core.constraints import MemoryBound
from gpusched.core.fault import Fault
from gpusched.core.names import OWN_NAMESPACE
from gpusched.core.pod import Toleration
from gpusched.core.pool import Sharing
from gpusched.core.selector import Requirement


class Mode(StrEnum):
    """How strictly policy holds: enforce denies, warn and audit only tell, off does nothing."""

    ENFORCE = "enforce"
    WARN = "warn"
    AUDIT = "audit"
    OFF = "off"


class Group(StrEnum):
    """Rule groups that can have a mode of their own."""

    FAMILY = "family"
    PRODUCT = "product"
    MEMORY = "memory"
    SHARING = "sharing"
    VERSION = "version"
    QUOTA = "quota"
    MAX_GPUS = "max-gpus"
    VISIBLE_DEVICES = "visible-devices"
    NODE_NAME = "node-name"


class Modes(msgspec.Struct, frozen=True):
    """The mode of everything, and the exceptions by group."""

    default: Mode
    groups: tuple[tuple[Group, Mode], ...] = ()

    def of(self, group: Group) -> Mode:
        """The mode of one rule group."""
        return dict(self.groups).get(group, self.default)


class Quota(msgspec.Struct, frozen=True):
    """Slots in use per family; `total` (written `*`) bounds all families together."""

    families: tuple[tuple[str, int], ...] = ()
    total: int | None = None


class Policy(msgspec.Struct, frozen=True):
    """What one layer says. `None` means that it says nothing about that key.

    `families` keeps its order (preference). Memory bounds have the nominal tolerance applied and keep their text.
    Versions are encoded integers. `node_selector` is a parsed label selector.
    """

    mode: Modes | None = None
    families: tuple[str, ...] | None = None
    products: tuple[str, ...] | None = None
    min_memory: MemoryBound | None = None
    max_memory: MemoryBound | None = None
    min_cuda: int | None = None
    min_driver: int | None = None
    node_selector: tuple[Requirement, ...] | None = None
    sharing: tuple[Sharing, ...] | None = None
    max_gpus: int | None = None
    quota: Quota | None = None
    quota_memory_mib: int | None = None
    placement: str | None = None
    runtime_class: str | None = None
    visible_devices: str | None = None


class Parsed(msgspec.Struct, frozen=True):
    """Annotations of one object parsed: everything readable in `policy`, everything else in `faults`.

    `malformed` are bad values, `unknown` are unknown `gpusched.io/` keys (kept apart, since standing unknown keys
    only warn). `claim_mib` is the pod's claim per slot; a bad claim is in `claim_fault` (it has a code of its own), not
    in `malformed`.
    """

    policy: Policy = Policy()
    claim_mib: int | None = None
    claim_fault: Fault | None = None
    malformed: tuple[Fault, ...] = ()
    unknown: tuple[Fault, ...] = ()


class Layer(msgspec.Struct, frozen=True):
    """A policy with the name that messages use for who says it, such as `namespace team-a`."""

    name: str
    policy: Policy


class SelectedPolicy(msgspec.Struct, frozen=True):
    """A configured policy for the namespaces whose labels match."""

    selector: tuple[Requirement, ...]
    policy: Policy


class ConfiguredResource(msgspec.Struct, frozen=True):
    """A renamed GPU resource of the configuration."""

    name: str
    vendor: str


class Config(msgspec.Struct, frozen=True):
    """The cluster configuration. Every field has a default; see the example in the README."""

    resources: tuple[ConfiguredResource, ...] = ()
    default_policy: Policy = Policy(mode=Modes(Mode.WARN), placement="pack")
    policies: tuple[SelectedPolicy, ...] = ()
    ceiling: Policy = Policy()
    runtime_classes: Mapping[str, str] = msgspec.field(
        default_factory=lambda: {"nvidia": "nvidia", "amd": "", "intel": ""}
    )
    tolerations: tuple[Toleration, ...] = ()
    exempt_namespaces: tuple[str, ...] = ("kube-system", "kube-node-lease", "gpu-operator", OWN_NAMESPACE)
    #: The scheduler that calls gpusched where the default one does not; empty where the default one does.
    second_scheduler: str = ""
    lowering_enabled: bool = True
    #: None means auto: the dialects present in the cluster.
    lowering_dialects: tuple[str, ...] | None = None
    #: Hundredths of a percent of a shared device kept free of claims: 5 % is 500.
    claim_reserve: int = 500
    claim_above_slot: str = "single-gpu"
    #: None means auto (refused on GKE, else a warning).
    time_slicing_single: bool | None = None
    candidates: int = 0
    weight: int = 20
    http_timeout_ms: int = 1000
    labels_keep_s: int = 600
