"""`gpusched certs`: look at the certificates that gpusched keeps, rotate them, and write files for kube-scheduler."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

import click

from certs.profile import extender_profile, webhook_profile
from certs.rotation import Request
from gpusched.cli.certs_rotate import RotationFailedError
from gpusched.cli.certs_rotate import rotate as follow_rotation
from gpusched.cli.certs_view import CertificatesView, certificates_text, certificates_view, found_keyring
from gpusched.cli.output import write
from gpusched.cli.serving_certificates import issue_serving_certificates, scheduler_files, write_files
from gpusched.cli.session import BAD_INPUT, PROBLEMS, output_options
from gpusched.cli.session import Session as Output
from gpusched.core.names import OWN_NAMESPACE
from gpusched.kube.errors import ConfigurationError, StatusError, Unreachable
from gpusched.kube.secret_store import Refused, SecretStore
from gpusched.kube.session import Session
from gpusched.kube.webhook_bundles import bundles_of, read_configurations

_UNREACHABLE: Final = 3
_Result = TypeVar("_Result")
_Command = TypeVar("_Command", bound=Callable[..., Any])
_NEW_FILES: Final = """\
kube-scheduler goes on with its present files: they hold both authorities. At leisure, before the next rotation:
  1. gpusched certs issue DIR, and copy the files to every host of kube-scheduler
  2. restart kube-scheduler there, which reads ca.crt only when it starts
  3. gpusched certs rotate --extender --finish, which ends the trust in the former authority
"""


def _cluster_options(command: _Command) -> _Command:
    command = click.option("--namespace", default=OWN_NAMESPACE, show_default=True, help="gpusched's own.")(command)
    command = click.option("--context", help="Context of the kubeconfig.")(command)
    return click.option("--kubeconfig", metavar="FILE", help="Where the API server is.")(command)


@click.group()
def certs() -> None:
    """Show, rotate and issue the certificates that `gpusched serve --certs=secret` keeps in Secrets."""


@certs.command()
@_cluster_options
@output_options
def status(kubeconfig: str | None, context: str | None, namespace: str, form: str, *, no_color: bool) -> None:
    """Show certificates, authorities and what each webhook's caBundle holds. Exit code 1: something is wrong."""
    output = Output(form, no_color=no_color)

    async def look(session: Session) -> tuple[CertificatesView, datetime]:
        store = SecretStore(session, namespace)
        bundles = bundles_of(await read_configurations(session))
        profiles = (webhook_profile(namespace), extender_profile(namespace))
        secrets = [(profile, await store.get(profile.secret)) for profile in profiles]
        return certificates_view(secrets, bundles, store.now()), store.now()

    view, now = _run(output, kubeconfig, context, look)
    output.show(view, lambda: certificates_text(view, now, output.style))
    for problem in view.problems:
        write(f"problem: {problem}\n", output.err)
    sys.exit(PROBLEMS if view.problems else 0)


@certs.command()
@click.option("--ca", is_flag=True, help="Replace the webhook's authority too, not its certificate alone.")
@click.option("--extender", is_flag=True, help="Replace the extender's authority by the next, trusted already.")
@click.option("--finish", is_flag=True, help="With --extender: kube-scheduler has its new files and was restarted.")
@click.option("--timeout", default=600.0, show_default=True, help="Seconds to wait for the service.")
@_cluster_options
def rotate(
    kubeconfig: str | None,
    context: str | None,
    namespace: str,
    timeout: float,
    *,
    ca: bool,
    extender: bool,
    finish: bool,
) -> None:
    """Let the service rotate certificates without an outage, and show how far it is.

    A new authority first stands beside the old one in every caBundle, then a certificate of it is served, and later
    the old one is dropped, by itself. Exit code 1: it was not done.
    """
    if ca and extender:
        raise click.UsageError("--ca is the webhook's; --extender replaces the extender's authority by itself")
    if finish and not extender:
        raise click.UsageError("--finish belongs to --extender; the webhook's rotation ends by itself")
    output = Output("table")
    profile = extender_profile(namespace) if extender else webhook_profile(namespace)
    request = Request.FINISH if finish else Request.AUTHORITY if ca or extender else Request.LEAF

    async def follow(session: Session) -> None:
        await follow_rotation(session, profile, namespace, request, lambda line: _say(output, line), timeout)

    try:
        _run(output, kubeconfig, context, follow)
    except RotationFailedError as error:
        _end(output, str(error), PROBLEMS)
    if request is Request.AUTHORITY:
        write(_NEW_FILES if extender else "The former authority is dropped by itself after the overlap.\n", output.out)


@certs.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option("--offline", is_flag=True, help="New authorities, and files for `serve --cert-dir` and its callers.")
@_cluster_options
def issue(directory: Path, kubeconfig: str | None, context: str | None, namespace: str, *, offline: bool) -> None:
    """Write tls.crt, tls.key and ca.crt for kube-scheduler into DIRECTORY, as `config scheduler` names them.

    ca.crt holds the extender's authority and the next one, so that a rotation needs no restart at once.
    """
    output = Output("table")
    if offline:
        issue_serving_certificates(directory, namespace, datetime.now(UTC))
        _say(output, f"webhook: {directory}, extender: {directory / 'extender'}, caller: {directory / 'scheduler'}")
        return
    profile = extender_profile(namespace)

    async def read(session: Session) -> dict[str, bytes] | str:
        store = SecretStore(session, namespace)
        keyring = found_keyring(profile, await store.get(profile.secret), store.now())
        return keyring if isinstance(keyring, str) else scheduler_files(keyring, store.now())

    files = _run(output, kubeconfig, context, read)
    if isinstance(files, str):
        _end(output, files, PROBLEMS)
    write_files(directory, files)
    _say(output, f"{', '.join(files)} written into {directory}")


def _run(
    output: Output, kubeconfig: str | None, context: str | None, work: Callable[[Session], Awaitable[_Result]]
) -> _Result:
    """Do something with the cluster; ends the command where that cannot be."""

    async def connected() -> _Result:
        in_cluster = kubeconfig is None and "KUBERNETES_SERVICE_HOST" in os.environ
        async with await Session.open(kubeconfig, context, in_cluster=in_cluster) as session:
            return await work(session)

    try:
        return asyncio.run(connected())
    except (ConfigurationError, Unreachable) as error:
        _end(output, str(error), _UNREACHABLE)
    except (StatusError, Refused) as error:
        _end(output, str(error), BAD_INPUT)


def _say(output: Output, line: str) -> None:
    write(f"{line}\n", output.out)


def _end(output: Output, message: str, code: int) -> NoReturn:
    write(f"error: {message}\n", output.err)
    sys.exit(code)
