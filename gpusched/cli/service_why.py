"""`why` for users who may not list nodes: the running service answers about pods of their own namespace."""

import os
from typing import Final

import aiohttp
import msgspec

from gpusched.admission.admission import Admission
from gpusched.cli.access import Access, Forbidden, Unavailable
from gpusched.cli.live import CONTROLLERS, SOURCE, ask, context_namespace, in_pod
from gpusched.cli.session import TOKEN_VARIABLE
from gpusched.core.names import OWN_NAMESPACE
from gpusched.kube.session import Session
from gpusched.serve.view.why import WhyView
from gpusched.simulate.explain import Explanation
from gpusched.simulate.result import PlacementView, PodView, ReasonView, UnschedulableView, admission_view
from gpusched.simulate.why import Target, Why

#: Where the service is, seen from a pod.
_INSIDE: Final = f"http://gpusched-webhook.{OWN_NAMESPACE}.svc:8080"
_SECONDS: Final = 30.0
_WORKLOADS: Final = frozenset(kind.lower() for kind, *_ in CONTROLLERS)


class _Answer(msgspec.Struct):
    """What the service says, and what is to be known about it."""

    why: WhyView
    notes: tuple[str, ...] = ()


class _Refusal(msgspec.Struct):
    error: str = ""


def ask_service(access: Access, server: str | None, targets: tuple[Target, ...], refused: Forbidden) -> Why:
    """The service's word on the pod. `refused` is why the API server could not be asked itself.

    Raises Forbidden where there is no way to the service, or it does not answer to this user.
    """
    address = server or (_INSIDE if in_pod(access) else None)
    if address is None:
        raise Forbidden(f"{refused.message}; with --server the service answers about pods of your namespaces")
    target = next(item for item in targets if item.kind in {"", "pod"})
    if targets[0].kind in _WORKLOADS:
        raise Forbidden(f"{refused.message}; the service answers about pods, not workloads: name a pod")
    namespace = target.namespace or access.namespace or context_namespace(access) or "default"
    query = {"namespace": namespace, "name": target.name}

    async def asked(session: Session) -> bytes:
        # For users whose kubeconfig has a certificate in its place.
        own = os.environ.get(TOKEN_VARIABLE)
        header = f"Bearer {own}" if own else await session.authorization()
        if not header:
            raise Forbidden(
                f"{refused.message}; the service wants a token, and the kubeconfig has none: set {TOKEN_VARIABLE}"
            )
        return await _get(f"{address.rstrip('/')}/api/v1/why", query, header)

    body = ask(access, asked)
    try:
        answer = msgspec.json.decode(body, type=_Answer)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unavailable(f"{address} is no gpusched of this version: {error}") from error
    return _why(answer.why, answer.notes)


async def _get(url: str, query: dict[str, str], authorization: str) -> bytes:
    limits = aiohttp.ClientTimeout(total=_SECONDS)
    try:
        async with (
            aiohttp.ClientSession(timeout=limits, trust_env=True) as http,
            http.get(url, params=query, headers={"Authorization": authorization}, allow_redirects=False) as answer,
        ):
            body = await answer.read()
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        raise Unavailable(f"gpusched cannot be reached at {url}: {error}") from error
    if answer.status == 200:
        return body
    try:
        told = msgspec.json.decode(body, type=_Refusal).error
    except (msgspec.DecodeError, UnicodeDecodeError):
        told = ""
    raise Forbidden(f"gpusched does not answer at {url}: {told or f'HTTP {answer.status}'}")


def _why(answer: WhyView, notes: tuple[str, ...]) -> Why:
    """The answer in the shape of the command's own."""
    reasons = tuple(ReasonView(item.code, item.message, item.nodes) for item in answer.reasons)
    waits = UnschedulableView(reasons, answer.suggestion) if reasons or answer.suggestion else None
    examples = {item.code: item.example for item in answer.reasons}
    view = PodView(
        namespace=answer.namespace,
        name=answer.name,
        owner=None,
        source=SOURCE,
        admission=admission_view(Admission()),
        placement=PlacementView(answer.node, {}, 0) if answer.state == "placed" else None,
        unschedulable=waits,
        gated=("quota" if answer.line else "other") if answer.state == "gated" else None,
        notes=(*answer.notes, *notes),
    )
    explanation = (
        Explanation(waits, examples, answer.nearest or None, answer.nearest_lacks) if waits is not None else None
    )
    finished = "finished" if answer.state == "finished" else ""
    return Why(view, answer.demand, explanation, answer.line, answer.history, finished)
