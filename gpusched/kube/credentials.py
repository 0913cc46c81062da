"""Where the API server is and how to prove who we are, read through the client library."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kubernetes.aio import config
from kubernetes.aio.client.configuration import Configuration

from gpusched.kube.errors import ConfigurationError

_USUAL = "~/.kube/config"
_LIBRARY = logging.getLogger("kubernetes.aio.config.kube_config")


async def load_configuration(kubeconfig: str | None, context: str | None, *, in_cluster: bool) -> Configuration:
    """The library's configuration from a kubeconfig or from a pod's service account. Raises ConfigurationError.

    `kubeconfig` None means $KUBECONFIG (which may list several files) or ~/.kube/config.
    """
    configuration = Configuration()
    with _listening() as complaints:
        try:
            if in_cluster:
                config.load_incluster_config(client_configuration=configuration)
            else:
                await config.load_kube_config(
                    config_file=_found(kubeconfig or os.environ.get("KUBECONFIG") or _USUAL, context),
                    context=context,
                    client_configuration=configuration,
                    persist_config=False,
                )
        except ConfigurationError:
            raise
        except Exception as error:  # a kubeconfig is user input and the library checks little of it
            raise ConfigurationError(f"{_origin(kubeconfig, in_cluster=in_cluster)}: {_reason(error)}") from error
    if complaints:
        raise ConfigurationError(
            f"{_origin(kubeconfig, in_cluster=in_cluster)}: the command that gets its credentials failed: "
            + "; ".join(complaints)
        )
    return configuration


class _Ear(logging.Handler):
    def __init__(self, heard: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._heard = heard

    def emit(self, record: logging.LogRecord) -> None:
        self._heard.append(record.getMessage())


@contextmanager
def _listening() -> Iterator[list[str]]:
    """What the library would log: it does not raise when an exec plugin fails, but goes on without credentials."""
    complaints: list[str] = []
    handler = _Ear(complaints)
    propagate, _LIBRARY.propagate = _LIBRARY.propagate, False
    _LIBRARY.addHandler(handler)
    try:
        yield complaints
    finally:
        _LIBRARY.removeHandler(handler)
        _LIBRARY.propagate = propagate


def has_kubeconfig() -> bool:
    """Whether $KUBECONFIG or the usual place names a file that is there."""
    return _any_file(os.environ.get("KUBECONFIG") or _USUAL)


def context_namespace(kubeconfig: str | None, context: str | None) -> str:
    """The namespace that a context (the current one unless named) names, empty where it names none. Never fails:
    whoever opens a session with the file says what is wrong with it.
    """
    paths = kubeconfig or os.environ.get("KUBECONFIG") or _USUAL
    if not _any_file(paths):
        return ""
    try:
        contexts, current = config.list_kube_config_contexts(paths)
        named = {item["name"]: item["context"] for item in contexts}
        return str(named[context or current["name"]].get("namespace") or "")
    except Exception:  # noqa: BLE001 - a kubeconfig is user input and the library checks little of it
        return ""


def _any_file(paths: str) -> bool:
    return any(Path(name).expanduser().is_file() for name in paths.split(os.pathsep) if name)


def _found(paths: str, context: str | None) -> str:
    if not _any_file(paths):
        folder = Path(paths).expanduser().is_dir()
        fault = "is a directory: name a file" if folder else "does not exist: name one"
        raise ConfigurationError(f"kubeconfig {paths} {fault} with --kubeconfig")
    known = _contexts(paths)
    if context and known and context not in known:
        raise ConfigurationError(f"kubeconfig {paths} has no context {context}; it has {', '.join(sorted(known))}")
    return paths


def _contexts(paths: str) -> set[str]:
    """Names of the contexts; none where the file cannot be read, which loading it reports."""
    try:
        contexts, _ = config.list_kube_config_contexts(paths)
        return {str(item["name"]) for item in contexts}
    except Exception:  # noqa: BLE001 - a kubeconfig is user input and the library checks little of it
        return set()


def _reason(error: Exception) -> str:
    if isinstance(error, TypeError | AttributeError | KeyError):
        return "it is no kubeconfig: it needs clusters, users, contexts and a current-context"
    if isinstance(error, UnicodeDecodeError):
        return "it is not a text file"
    return str(error).replace("File does not exists:", "there is no file")


def _origin(kubeconfig: str | None, *, in_cluster: bool) -> str:
    if in_cluster:
        return "the service account of this pod cannot be used"
    return f"kubeconfig {kubeconfig or os.environ.get('KUBECONFIG') or _USUAL} cannot be used"
