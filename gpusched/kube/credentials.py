"""Where the API server is and how to prove who we are, read through the client library."""

import os
from pathlib import Path

from kubernetes.aio import config
from kubernetes.aio.client.configuration import Configuration

from gpusched.kube.errors import ConfigurationError

_USUAL = "~/.kube/config"
DEFAULT_NAMESPACE = "default"


async def load_configuration(kubeconfig: str | None, context: str | None, *, in_cluster: bool) -> Configuration:
    """The library's configuration from a kubeconfig or from a pod's service account. Raises ConfigurationError.

    `kubeconfig` None means $KUBECONFIG (which may list several files) or ~/.kube/config.
    """
    configuration = Configuration()
    try:
        if in_cluster:
            config.load_incluster_config(client_configuration=configuration)
        else:
            await config.load_kube_config(
                config_file=_found(kubeconfig or os.environ.get("KUBECONFIG") or _USUAL),
                context=context,
                client_configuration=configuration,
                persist_config=False,
            )
    except ConfigurationError:
        raise
    except Exception as error:  # a kubeconfig is user input and the library checks little of it
        raise ConfigurationError(f"{_origin(kubeconfig, in_cluster=in_cluster)}: {error}") from error
    return configuration


def has_kubeconfig() -> bool:
    """Whether $KUBECONFIG or the usual place names a file that is there."""
    return _any_file(os.environ.get("KUBECONFIG") or _USUAL)


def context_namespace(kubeconfig: str | None, context: str | None) -> str:
    """The namespace that a context (the current one unless named) works in. Never fails: whoever opens a session with
    the file says what is wrong with it.
    """
    try:
        contexts, current = config.list_kube_config_contexts(kubeconfig or os.environ.get("KUBECONFIG") or _USUAL)
        named = {item["name"]: item["context"] for item in contexts}
        return str(named[context or current["name"]].get("namespace") or DEFAULT_NAMESPACE)
    except Exception:  # noqa: BLE001 - a kubeconfig is user input and the library checks little of it
        return DEFAULT_NAMESPACE


def _any_file(paths: str) -> bool:
    return any(Path(name).expanduser().is_file() for name in paths.split(os.pathsep) if name)


def _found(paths: str) -> str:
    if not _any_file(paths):
        raise ConfigurationError(f"kubeconfig {paths} does not exist: name one with --kubeconfig")
    return paths


def _origin(kubeconfig: str | None, *, in_cluster: bool) -> str:
    if in_cluster:
        return "the service account of this pod cannot be used"
    return f"kubeconfig {kubeconfig or os.environ.get('KUBECONFIG') or _USUAL} cannot be used"
