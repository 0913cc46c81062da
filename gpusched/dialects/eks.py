"""EKS node groups: the accelerator label that users set for cluster-autoscaler.

Source: kubernetes/autoscaler cloudprovider/aws. EKS itself writes no label about GPUs.
"""

from collections.abc import Mapping
from typing import Final

from gpusched.dialects.partial import Dialect, Reading, any_prefix
from gpusched.dialects.priced import priced, vendor_of
from gpusched.dialects.surface import Surface

NAME: Final = "eks"
ACCELERATOR: Final = "k8s.amazonaws.com/accelerator"


def present(labels: Mapping[str, str]) -> bool:
    """Whether the node is of an EKS node group or carries the autoscaler's label."""
    return ACCELERATOR in labels or any_prefix(labels, "eks.amazonaws.com/nodegroup", "alpha.eksctl.io/")


def read(surface: Surface) -> Reading:
    """The model, as far as the user's word is one that names it."""
    model = surface.labels.get(ACCELERATOR, "")
    if not model:
        return Reading()
    vendor = vendor_of(model)
    partials = tuple(priced(NAME, offer.resource, model) for offer in surface.of(vendor))
    return Reading(partials, promises=frozenset({vendor}))


EKS: Final = Dialect(NAME, present, read)
