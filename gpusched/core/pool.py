"""A pool: the slots of one GPU resource on one node, with what is known about the devices behind them."""

from enum import StrEnum

import msgspec

from gpusched.core.codes import Reason


class Sharing(StrEnum):
    """How a device is divided among containers."""

    NONE = "none"
    TIME_SLICING = "time-slicing"
    MPS = "mps"
    MIG = "mig"


#: Kinds whose slots share one device's memory, so that several claims can meet on it.
SHARED_KINDS = frozenset({Sharing.TIME_SLICING, Sharing.MPS})


class Pool(msgspec.Struct, frozen=True, gc=False):
    """Facts about one GPU resource of one node. `None` always means unknown, never zero.

    Memory is MiB: `gpu_memory_mib` of the whole card (for MIG too), `visible_memory_mib` what one container sees,
    `slot_memory_mib` the card's or instance's memory divided by replicas. Versions are encoded integers
    (CUDA 12.4 is 12040, driver 550.107.02 is 550107002). `slots` is allocatable; `replicas` is per device.
    """

    resource: str
    vendor: str
    slots: int
    family: str | None = None
    product: str | None = None
    sharing: Sharing | None = None
    replicas: int | None = None
    devices: int | None = None
    gpu_memory_mib: int | None = None
    visible_memory_mib: int | None = None
    slot_memory_mib: int | None = None
    cuda_version: int | None = None
    driver_version: int | None = None
    #: Set when the pool must not be used now, whatever is asked: reconfiguring, or facts-unknown for MIG-INVALID.
    blocked: Reason | None = None
    #: (fact name, source) pairs: where each known fact came from, sorted by fact.
    provenance: tuple[tuple[str, str], ...] = ()
    #: Short sentences for people: disagreements between sources, corrections made.
    notes: tuple[str, ...] = ()

    @property
    def shared(self) -> bool:
        """Whether several slots sit on one device (time-slicing, MPS, or MIG instances that are shared)."""
        return self.sharing in SHARED_KINDS or (self.replicas is not None and self.replicas > 1)

    @property
    def divided(self) -> bool:
        """Whether a slot is known to be less than a GPU: a share of one, or a MIG instance."""
        return self.shared or self.sharing is Sharing.MIG

    @property
    def device_memory_mib(self) -> int | None:
        """Memory that the slots of one device share: the card, or the MIG instance. None when unknown.

        What a container sees is the whole device, except under MPS, where it sees its part.
        """
        if self.visible_memory_mib is None or self.sharing is not Sharing.MPS:
            return self.visible_memory_mib
        if self.replicas is None:
            return None
        card = self.gpu_memory_mib
        return (
            card
            if card is not None and card // self.replicas == self.visible_memory_mib
            else (self.visible_memory_mib * self.replicas)
        )
