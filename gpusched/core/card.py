"""A card: what vendors publish about one GPU model, as the devices Kubernetes counts."""

from collections.abc import Mapping

import msgspec

from gpusched.core.products import tokens_of


class Card(msgspec.Struct, frozen=True):
    """One model. `memory_mib` is nominal and of one device: of a GCD on an MI250, of one of a K80's two GPUs.

    `name` is a normalised product; a product is of this card when all tokens of the name occur in it in order.
    `compute` is the CUDA compute capability. `mig` maps profiles to the most instances of one device, `mig_mib` those
    profiles whose usable memory is known. `source` names where the figures are published.
    """

    name: str
    vendor: str
    family: str
    memory_mib: int | None
    source: str
    compute: tuple[int, int] | None = None
    mig: Mapping[str, int] = {}
    mig_mib: Mapping[str, int] = {}

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens of the name."""
        return tokens_of(self.name)
