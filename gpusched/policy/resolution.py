"""The outcome of laying cluster, namespace and pod policy over each other, for one pod."""

import msgspec

from gpusched.core.constraints import Constraints
from gpusched.core.fault import Fault
from gpusched.policy.model import Group, Layer, Mode, Modes, Parsed, Quota


class Conflict(msgspec.Struct, frozen=True):
    """Two sides whose intersection is empty. `asked` and `allowed` are texts such as `hopper` and `ampere, turing`."""

    group: Group
    asker: str
    asked: str
    allower: str
    allowed: str


class Resolution(msgspec.Struct, frozen=True):
    """What holds for one pod.

    `constraints` is what filter and lowering use: the pod's own annotations (in every mode) and each layer's rules
    whose group is in mode enforce. `wanted` is the intersection of everything whatever the mode, which admission
    judges by and reports by mode. `layers` are the cluster and namespace sides in force, tightest named first in
    messages. `malformed` are standing bad values of the namespace (its GPU pods are refused with them).
    `gpu_less_pods` is whether the namespace sends its pods without a GPU to gpusched.
    """

    namespace: str
    modes: Modes
    layers: tuple[Layer, ...]
    own: Parsed
    constraints: Constraints
    wanted: Constraints
    conflicts: tuple[Conflict, ...] = ()
    malformed: tuple[Fault, ...] = ()
    max_gpus: int | None = None
    quota: Quota | None = None
    quota_memory_mib: int | None = None
    placement: str = "pack"
    runtime_class: str = "auto"
    visible_devices: str = "allow"
    gpu_less_pods: bool = False
    exempt: bool = False

    def enforces(self, group: Group) -> bool:
        """Whether the rules of a group deny."""
        return self.modes.of(group) is Mode.ENFORCE
