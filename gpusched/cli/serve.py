"""`gpusched serve`: the webhook, the extender and what the leader does, until a signal ends it."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
import tempfile
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import click
import uvloop

from certs.rotation import Terms
from gpusched.cli.inputs import read_inputs
from gpusched.cli.serving_certificates import issue_serving_certificates
from gpusched.core.names import OWN_NAMESPACE
from gpusched.kube.errors import ConfigurationError
from gpusched.obs.logging import LEVELS, Log, configure
from gpusched.policy.model import Config
from gpusched.serve.certificates.kept import LOOK_SECONDS
from gpusched.serve.options import AdminAccess, Options, Role
from gpusched.serve.service import Service

_FAULT: Final = 1
_BAD_INPUT: Final = 2
_UNREACHABLE: Final = 3
_SWITCH_SECONDS: Final = 0.001
_PORT: Final = click.IntRange(0, 65_535)
_DIRECTORY: Final = click.Path(path_type=Path, file_okay=False)


@click.command()
@click.option(
    "--role",
    type=click.Choice([str(role) for role in Role]),
    default="all",
    show_default=True,
    help="What this process serves. Leader duties belong to the extender.",
)
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The configuration; read again when it changes.",
)
@click.option("--kubeconfig", metavar="FILE", help="Where the API server is. In a cluster none is needed.")
@click.option("--context", help="Context of the kubeconfig.")
@click.option(
    "--cert-dir",
    type=_DIRECTORY,
    metavar="DIR",
    help="tls.crt and tls.key of the webhook; extender/: tls.crt, tls.key and ca.crt.",
)
@click.option(
    "--self-signed",
    is_flag=True,
    help="Issue certificates for this run; with --cert-dir they, and the CAs, are left there.",
)
@click.option(
    "--certs",
    type=click.Choice(["dir", "secret"]),
    default="dir",
    show_default=True,
    help="secret: gpusched makes, renews and rotates them in Secrets of its namespace.",
)
@click.option(
    "--cert-wait",
    type=click.FloatRange(min=1),
    default=30.0,
    show_default=True,
    help="Seconds a new authority stands in every caBundle before its certificate is served.",
)
@click.option(
    "--cert-overlap",
    type=click.FloatRange(min=3 * LOOK_SECONDS),
    default=3600.0,
    show_default=True,
    help="Seconds a former authority stays in every caBundle after that.",
)
@click.option("--host", default="", help="Address to listen on; all of them unless given.")
@click.option("--webhook-port", type=_PORT, default=8443, show_default=True, help="HTTPS port of the webhook.")
@click.option("--extender-port", type=_PORT, default=8444, show_default=True, help="HTTPS port of the extender.")
@click.option(
    "--admin-port", type=_PORT, default=8080, show_default=True, help="HTTP port of health, metrics and the page."
)
@click.option(
    "--admin-access",
    type=click.Choice([str(access) for access in AdminAccess]),
    default="token",
    show_default=True,
    help="Who may read the page: tokens' owners, or also this machine.",
)
@click.option(
    "--extender-plain-http", is_flag=True, help="Serve the extender without TLS, on the loopback interface only."
)
@click.option("--namespace", default=OWN_NAMESPACE, show_default=True, help="gpusched's own namespace.")
@click.option("--pod-name", envvar="POD_NAME", default="", help="gpusched's own pod, which is labelled when it leads.")
@click.option(
    "--leader-elect/--no-leader-elect",
    default=True,
    show_default=True,
    help="Without election this must be the only replica.",
)
@click.option(
    "--drain-seconds",
    default=10.0,
    show_default=True,
    help="Time between the signal to stop and the end of connections.",
)
@click.option(
    "--max-cache-age",
    default=180.0,
    show_default=True,
    help="Seconds without a sign of the API server after which nothing is decided.",
)
@click.option(
    "--lease-seconds",
    type=click.IntRange(min=2),
    default=10,
    show_default=True,
    help="After so many seconds without a sign of life another replica leads.",
)
@click.option(
    "--api-request-limit",
    type=click.FloatRange(min=0.1),
    default=2.5,
    show_default=True,
    help="Seconds the API server is given for a binding; a new leader waits for a former one's.",
)
@click.option("--log-level", type=click.Choice(LEVELS), default="info", show_default=True)
@click.option("--log-format", type=click.Choice(["json", "text"]), default="json", show_default=True)
def serve(  # noqa: PLR0913 - one parameter an option
    *,
    role: str,
    config_file: Path | None,
    kubeconfig: str | None,
    context: str | None,
    cert_dir: Path | None,
    self_signed: bool,
    certs: str,
    cert_wait: float,
    cert_overlap: float,
    host: str,
    webhook_port: int,
    extender_port: int,
    admin_port: int,
    admin_access: str,
    extender_plain_http: bool,
    namespace: str,
    pod_name: str,
    leader_elect: bool,
    drain_seconds: float,
    max_cache_age: float,
    lease_seconds: int,
    api_request_limit: float,
    log_level: str,
    log_format: str,
) -> None:
    """Serve the admission webhook and the scheduler extender.

    Exit codes: 0 ended by a signal, 1 ended by a fault of gpusched (see its log), 2 bad usage or configuration, 3 no
    way to reach the cluster.
    """
    config, errors = _load(config_file) if config_file is not None else (Config(), [])
    plain = role == Role.EXTENDER and extender_plain_http
    if certs == "secret" and (cert_dir is not None or self_signed):
        errors = [*errors, "error: --certs=secret needs neither --cert-dir nor --self-signed; leave these out"]
    elif certs == "dir" and cert_dir is None and not self_signed and not plain:
        errors = [*errors, "error: --cert-dir is missing; without certificates use --certs=secret or --self-signed"]
    for line in errors:
        click.echo(line, err=True)
    if errors:
        sys.exit(_BAD_INPUT)
    own = certs == "secret"
    servers = ("webhook",) if extender_plain_http else ("webhook", "extender")
    with contextlib.ExitStack() as stack:
        if cert_dir is None and not own:
            cert_dir = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gpusched-certs-")))
        if self_signed and cert_dir is not None:
            issue_serving_certificates(cert_dir, namespace, datetime.now(UTC))
        options = Options(
            role=Role(role),
            config=config,
            config_file=config_file,
            kubeconfig=kubeconfig,
            context=context,
            in_cluster=kubeconfig is None and "KUBERNETES_SERVICE_HOST" in os.environ,
            host=host,
            webhook_port=webhook_port,
            extender_port=extender_port,
            admin_port=admin_port,
            admin_access=AdminAccess(admin_access),
            webhook_certificates=cert_dir,
            extender_certificates=None if cert_dir is None or extender_plain_http else cert_dir / "extender",
            own_certificates=frozenset(servers if own else ()),
            rotation=Terms(timedelta(seconds=cert_wait), timedelta(seconds=cert_overlap)),
            namespace=namespace,
            pod_name=pod_name,
            identity=f"{pod_name or socket.gethostname()}_{uuid.uuid4()}",
            leader_elect=leader_elect,
            drain=drain_seconds,
            max_age=max_cache_age,
            lease=lease_seconds,
            request_limit=api_request_limit,
        )
        log = configure(log_level, json=log_format == "json")
        sys.exit(_run(options, log))


def _run(options: Options, log: Log) -> int:
    # Explanations for the page are worked out in a thread: decisions must not wait five milliseconds for their turn.
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(Service(options, log, _load)))
    except (OSError, ValueError) as error:
        log.critical("cannot serve", problem=str(error))
        return _BAD_INPUT
    except ConfigurationError as error:
        log.critical("cannot reach the cluster", problem=error.reason)
        return _UNREACHABLE
    except Exception:
        log.exception("ended by a fault of gpusched")
        return _FAULT
    return 0


async def _serve(service: Service) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, service.stop)
    await service.run()


def _load(path: Path) -> tuple[Config, list[str]]:
    """The configuration, and its errors as lines."""
    inputs = read_inputs((), (), str(path), stdin=None)
    return inputs.config, [str(fault) for fault in inputs.errors]
