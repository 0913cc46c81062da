"""The caBundles of gpusched's webhook configurations: read with versions, written by a field manager of their own.

The manifests leave caBundle out, so that applying them again takes nothing away.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from certs.bundle import split_bundle
from gpusched.kube.errors import Response, StatusError
from gpusched.kube.session import Session

#: The name of both configurations.
CONFIGURATION: Final = "gpusched"
FIELD_MANAGER: Final = "gpusched-certs"
_API: Final = "admissionregistration.k8s.io/v1"
_KINDS: Final = {
    "mutatingwebhookconfigurations": "MutatingWebhookConfiguration",
    "validatingwebhookconfigurations": "ValidatingWebhookConfiguration",
}
_APPLY: Final = "application/apply-patch+yaml"
_SECONDS: Final = 10.0


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str = ""


class _Client(msgspec.Struct, rename={"bundle": "caBundle"}, omit_defaults=True):
    bundle: bytes = b""


class _Webhook(msgspec.Struct, rename="camel"):
    name: str
    client_config: _Client = msgspec.field(default_factory=_Client)


class _Configuration(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    webhooks: list[_Webhook] = []


class Configuration(msgspec.Struct, frozen=True):
    """One configuration as it was read; `bundles` by name of the webhook, empty bytes for one without."""

    plural: str
    version: str
    bundles: Mapping[str, bytes]


def bundles_of(configurations: Sequence[Configuration]) -> dict[str, bytes]:
    """All bundles by name of the webhook; names differ between configurations."""
    return {name: bundle for configuration in configurations for name, bundle in configuration.bundles.items()}


async def read_configurations(session: Session) -> list[Configuration]:
    """Both configurations; one that is not there is left out.

    Raises:
        Unreachable: there is no whole answer.
        StatusError: the API server refused.

    """
    found = []
    for plural in _KINDS:
        response = await session.request("GET", _path(plural), timeout=_SECONDS)
        if response.status == 404:
            continue
        tree = _decoded(response)
        bundles = {webhook.name: webhook.client_config.bundle for webhook in tree.webhooks}
        found.append(Configuration(plural, tree.metadata.resource_version, bundles))
    return found


async def publish(session: Session, configuration: Configuration, bundles: Mapping[str, bytes]) -> bool:
    """Write bundles into webhooks of a configuration; false if it is not the one that was read any more.

    Raises:
        ValueError: a bundle holds no certificates. The API server would store it, and fail every call.
        Unreachable: there is no whole answer.
        StatusError: the API server refused.

    """
    for name, bundle in bundles.items():
        if not split_bundle(bundle):
            raise ValueError(f"the caBundle for {name} is empty")
    tree = {
        "apiVersion": _API,
        "kind": _KINDS[configuration.plural],
        "metadata": {"name": CONFIGURATION, "resourceVersion": configuration.version},
        "webhooks": [{"name": name, "clientConfig": {"caBundle": bundle}} for name, bundle in bundles.items()],
    }
    response = await session.request(
        "PATCH",
        _path(configuration.plural),
        query={"fieldManager": FIELD_MANAGER, "force": "true"},
        body=msgspec.json.encode(tree),
        content_type=_APPLY,
        timeout=_SECONDS,
    )
    if response.status == 409:
        return False
    _decoded(response)
    return True


def _decoded(response: Response) -> _Configuration:
    if not response.ok:
        raise StatusError(response.status, response.message, response.retry_after)
    try:
        return msgspec.json.decode(response.body, type=_Configuration)
    except msgspec.DecodeError as error:
        raise StatusError(500, f"a webhook configuration cannot be read: {error}") from error


def _path(plural: str) -> str:
    return f"/apis/{_API}/{plural}/{CONFIGURATION}"
