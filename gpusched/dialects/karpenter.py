"""Karpenter's labels: AWS, EKS Auto Mode, and Azure node auto-provisioning, which name the same facts alike.

Source: karpenter-provider-aws pkg/providers/instancetype/types.go, EKS Auto Mode's and AKS's documentation. Memory is
MiB of one GPU as EC2 publishes it.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from gpusched.dialects.partial import Dialect, Partial, Reading, any_prefix
from gpusched.dialects.priced import priced, vendor_of
from gpusched.dialects.surface import Offer, Surface, positive


class Scheme(msgspec.Struct, frozen=True):
    """One provider's keys: `gpu` is the common beginning of name, manufacturer, count and memory."""

    name: str
    domain: str
    gpu: str

    def key(self, fact: str) -> str:
        """The label key of a fact such as `name`."""
        return f"{self.domain}{self.gpu}{fact}"

    def present(self, labels: Mapping[str, str]) -> bool:
        """Whether the provider has labelled the node."""
        return any_prefix(labels, self.domain)

    def read(self, surface: Surface) -> Reading:
        """Facts about the resources of the manufacturer that the labels name."""
        labels = surface.labels
        model = labels.get(self.key("name"))
        if model is None:
            return Reading()
        vendor = labels.get(self.key("manufacturer"), "").strip().lower() or vendor_of(model)
        partials = tuple(self._partial(labels, model, offer) for offer in surface.of(vendor))
        return Reading(partials, promises=frozenset({vendor}))

    def _partial(self, labels: Mapping[str, str], model: str, offer: Offer) -> Partial:
        memory = positive(labels.get(self.key("memory")))
        base = priced(self.name, offer.resource, model, memory_mib=memory)
        return msgspec.structs.replace(base, count=positive(labels.get(self.key("count"))))


AWS: Final = Scheme("karpenter-aws", "karpenter.k8s.aws/", "instance-gpu-")
EKS_AUTO: Final = Scheme("eks-auto", "eks.amazonaws.com/", "instance-gpu-")
AZURE: Final = Scheme("azure-nap", "karpenter.azure.com/", "sku-gpu-")


def _eks_auto_present(labels: Mapping[str, str]) -> bool:
    # The domain alone is every EKS node's: managed node groups label their nodes in it too.
    return labels.get("eks.amazonaws.com/compute-type") == "auto" or any_prefix(labels, "eks.amazonaws.com/instance-")


KARPENTER: Final = (
    Dialect(AWS.name, AWS.present, AWS.read),
    Dialect(EKS_AUTO.name, _eks_auto_present, EKS_AUTO.read),
    Dialect(AZURE.name, AZURE.present, AZURE.read),
)
