"""Amounts of GPUs that the API server refuses, said in the user's words.

Rules: kubernetes pkg/apis/core/validation, ValidateResourceQuantityValue and ValidateResourceRequirements.
"""

from collections.abc import Iterator

from gpusched.admission.admission import Context
from gpusched.admission.messages import quoted
from gpusched.admission.rules.objection import Force, Objection
from gpusched.admission.rules.resource_name import slips
from gpusched.core.codes import Code
from gpusched.core.demand import Demand
from gpusched.core.pod import Container, Pod
from gpusched.core.quantity import format_mib, parse
from gpusched.policy.label_syntax import is_extended_resource

_INT64_MAX = 2**63 - 1
_EXAMPLE_CLAIM = format_mib(8 * 1024)


def gpu_amounts(pod: Pod, _demand: Demand, ctx: Context) -> tuple[Objection, ...]:
    """Object to amounts that are no whole number, requests without limit and requests unlike their limit.

    A misspelt GPU resource is counted by the API server like the real one, so its amount is judged too.
    """
    misspelt = {resource for resource in slips(pod, ctx) if is_extended_resource(resource)}
    return tuple(
        objection
        for container in pod.spec.containers
        for resource in sorted({*container.limits, *container.requests})
        if ctx.resources.vendor(resource) is not None or resource in misspelt
        for objection in _of_resource(container, resource, ctx)
    )


def _of_resource(container: Container, resource: str, ctx: Context) -> Iterator[Objection]:
    limit, request = container.limits.get(resource), container.requests.get(resource)
    for amount in (limit, request):
        problem = None if amount is None else _amount_problem(container, resource, amount)
        if problem is not None:
            yield problem
            return
    if request is None:
        return
    if limit is None:
        yield _without_limit(container, resource, request)
    elif parse(limit) != parse(request):
        yield _unequal(container, resource, request, limit, ctx)


def _amount_problem(container: Container, resource: str, text: str) -> Objection | None:
    amount = parse(text)
    if amount is not None and 0 <= amount <= _INT64_MAX and amount == amount.to_integral_value():
        return _memory_for_gpus(container, resource, text) if text.strip().endswith("i") else None
    asks = _asks(container, resource, text)
    if amount is None:
        return _native(Code.QUANTITY, f"{asks}, which is not a quantity. Write a whole number such as 1.")
    if amount < 0:
        return _native(Code.QUANTITY, f"{asks}; a number of GPUs cannot be negative. Write 0, 1 or more.")
    if amount > _INT64_MAX:
        return _native(Code.QUANTITY, f"{asks}, which is more than Kubernetes can count. Write a smaller whole number.")
    if amount > 1:
        return _native(Code.QUANTITY, f"{asks}; use whole numbers, such as {int(amount) + 1}.")
    return _native(
        Code.QUANTITY,
        f"{asks}; use whole numbers. For part of a GPU: 1 plus gpusched.io/gpu-memory: {_EXAMPLE_CLAIM}.",
        f"{asks}; use whole numbers, such as 1.",
    )


def _memory_for_gpus(container: Container, resource: str, text: str) -> Objection:
    """`8Gi` is a whole number to the API server, of more GPUs than there are: meant was a part of one."""
    asks = _asks(container, resource, text)
    claim = f"1 plus gpusched.io/gpu-memory: {quoted(text.strip())}"
    short = f"{asks} GPUs. For memory write gpusched.io/gpu-memory."
    return Objection(Code.QUANTITY, f"{asks} GPUs. For memory: {claim}.", short, Force.ADVICE)


def _asks(container: Container, resource: str, text: str) -> str:
    return f"container {quoted(container.name)} asks {quoted(resource)}: {_shown(text)}"


def _shown(text: str) -> str:
    """The amount as written; one in milli-units (what the API server makes of 0.5) with its decimal form beside it."""
    amount = parse(text)
    if not text.strip():
        return '""'
    if amount is None or not text.strip().endswith(("m", "u", "n")):
        return quoted(text)
    return f"{quoted(text)} ({amount:f})"


def _without_limit(container: Container, resource: str, request: str) -> Objection:
    return _native(
        Code.LIMIT_REQUIRED,
        f"container {quoted(container.name)} requests {quoted(resource)}: {quoted(request)} without a limit. "
        "Put it under resources.limits.",
    )


def _unequal(container: Container, resource: str, request: str, limit: str, ctx: Context) -> Objection:
    short = (
        f"container {quoted(container.name)} requests {quoted(resource)}: {quoted(request)} but limits it to "
        f"{quoted(limit)}. Set both to the same number"
    )
    # A template is stored as the user wrote it; only pods get the defaults of a LimitRange before they are judged.
    full = f"{short}." if ctx.template else f"{short}; if you did not write them, a LimitRange did."
    return _native(Code.REQUEST_EQUALS_LIMIT, full, f"{short}.")


def _native(code: Code, full: str, short: str = "") -> Objection:
    return Objection(code, full, short, Force.NATIVE)
