"""Amounts of processors, memory and other resources without a GPU that the API server would refuse."""

from gpusched.core import quantity
from gpusched.core.fault import Fault
from gpusched.core.fields import Field, literal
from gpusched.core.resources import GpuResources


def judge_amounts(tree: object, path: str, resources: GpuResources, faults: list[Fault]) -> None:
    """Report requests and limits of a pod or pod template (at `path`) that are no quantity, or are negative.

    Amounts of GPUs are left to admission, which refuses them by code. Rule: kubernetes pkg/apis/core/validation,
    ValidateResourceQuantityValue; what is no quantity cannot even be decoded.
    """
    spec = Field(tree, path, faults).get("spec")
    for holder in (spec, *spec.get("containers").items(), *spec.get("initContainers").items()):
        for stated in (holder.get("resources").get("requests"), holder.get("resources").get("limits")):
            for name, text in stated.quantities().items():
                if resources.vendor(name) is None:
                    _judge(stated.get(name), text)


def _judge(field: Field, text: str) -> None:
    amount = quantity.parse(text)
    if amount is None:
        field.fault(f'must be a quantity, not "{literal(text)}": write an amount such as 1, 500m or 4Gi')
    elif amount < 0:
        field.fault(f"must not be negative, as {literal(text)} is: write 0 or more")
