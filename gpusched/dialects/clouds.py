"""Clouds with little to say: a label that holds a model name, or nothing but the instance type.

Source of the model keys: GPULabel of the providers in kubernetes/autoscaler cloudprovider/*.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from gpusched.dialects.instance_types import InstanceType, find_instance_type
from gpusched.dialects.partial import Dialect, Rank, Reading
from gpusched.dialects.priced import priced, vendor_of
from gpusched.dialects.surface import Surface

MODEL_KEYS: Final = {
    "alibaba": "aliyun.accelerator/nvidia_name",
    "baidu": "baidu/nvidia_name",
    "tencent": "cloud.tencent.com/tke-accelerator",
}
#: The newer key first.
INSTANCE_TYPE_KEYS: Final = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")


def _model_dialect(name: str, key: str) -> Dialect:
    def present(labels: Mapping[str, str]) -> bool:
        return key in labels

    def read(surface: Surface) -> Reading:
        model = surface.labels.get(key, "")
        # The value may be a mere "true"; only names of known models are facts.
        if not model or not any(ch.isdigit() for ch in model):
            return Reading()
        vendor = vendor_of(model)
        partials = tuple(priced(name, offer.resource, model) for offer in surface.of(vendor))
        return Reading(partials, promises=frozenset({vendor}))

    return Dialect(name, present, read)


def _instance_type(labels: Mapping[str, str]) -> InstanceType | None:
    for key in INSTANCE_TYPE_KEYS:
        if key in labels:
            return find_instance_type(labels[key])
    return None


def _instance_present(labels: Mapping[str, str]) -> bool:
    return _instance_type(labels) is not None


def _instance_read(surface: Surface) -> Reading:
    machine = _instance_type(surface.labels)
    if machine is None:
        return Reading()
    vendor = vendor_of(machine.product)
    partials = tuple(
        msgspec.structs.replace(
            priced("instance-type", offer.resource, machine.product, rank=Rank.INSTANCE_TYPE), count=machine.count
        )
        for offer in surface.of(vendor)
    )
    return Reading(partials, promises=frozenset({vendor}))


CLOUDS: Final = (
    *(_model_dialect(name, key) for name, key in sorted(MODEL_KEYS.items())),
    Dialect("instance-type", _instance_present, _instance_read),
)
