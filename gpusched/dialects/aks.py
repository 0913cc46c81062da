"""AKS node pools: labels that say which vendor's GPUs a node has, but no model.

Source: Azure's AKS documentation on GPU node pools; the model follows from the instance type alone.
"""

from collections.abc import Mapping
from typing import Final

from gpusched.dialects.partial import Dialect, Reading, any_prefix
from gpusched.dialects.surface import Surface

NAME: Final = "aks"
_DOMAIN: Final = "kubernetes.azure.com/"
ACCELERATOR: Final = _DOMAIN + "accelerator"
LEGACY: Final = "accelerator"
_VENDORS: Final = frozenset({"nvidia", "amd"})


def present(labels: Mapping[str, str]) -> bool:
    """Whether the node is AKS's."""
    return any_prefix(labels, _DOMAIN)


def read(surface: Surface) -> Reading:
    """Only that GPUs of a vendor should be there."""
    said = {surface.labels.get(ACCELERATOR, ""), surface.labels.get(LEGACY, "")}
    return Reading(promises=_VENDORS & said)


AKS: Final = Dialect(NAME, present, read)
