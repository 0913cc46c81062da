"""`gpusched serve` as a command: what is wrong shows at once, and a signal ends it."""

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

import click
import pytest
from click.testing import CliRunner

from gpusched.cli.lazy import LazyGroup
from gpusched.cli.serve import serve
from gpusched.cli.serving_certificates import issue_serving_certificates
from gpusched.serve.server import open_socket
from tests.fakes.apiserver import ApiServer
from tests.serve.test_service import kubeconfig

ROOT = Path(__file__).parents[2]
PORTS = ("--webhook-port", "0", "--extender-port", "0", "--admin-port", "0", "--host", "127.0.0.1")


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(serve, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


def nowhere(directory: Path) -> str:
    server = ApiServer()
    server.url = "http://127.0.0.1:9"
    return kubeconfig(directory, server)


def test_certificates_are_asked_for() -> None:
    assert run("--role", "webhook") == (
        2,
        "error: --cert-dir is missing; without certificates use --certs=secret or --self-signed\n",
    )


@pytest.mark.parametrize("other", ["--self-signed", "--cert-dir=."])
def test_certificates_come_from_one_place(other: str) -> None:
    assert run("--certs=secret", other) == (
        2,
        "error: --certs=secret needs neither --cert-dir nor --self-signed; leave these out\n",
    )


def test_every_error_of_the_configuration_is_told(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("apiVersion: gpusched.io/v1alpha1\nkind: Config\nextender: {weight: 0, candidates: -1}\n")

    code, output = run("--self-signed", "--config", str(file))

    assert code == 2
    assert [line.rsplit(": ", 1)[0] for line in output.splitlines()] == [
        f"{file}, document 1: extender.candidates",
        f"{file}, document 1: extender.weight",
    ]


def test_a_kubeconfig_that_is_not_there(tmp_path: Path) -> None:
    code, output = run("--self-signed", "--kubeconfig", str(tmp_path / "none"), *PORTS)

    assert (code, "cannot reach the cluster" in output) == (3, True)


def test_a_directory_without_certificates(tmp_path: Path) -> None:
    code, output = run("--cert-dir", str(tmp_path), "--kubeconfig", nowhere(tmp_path), *PORTS)

    assert (code, "cannot serve" in output) == (2, True)


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with open_socket("127.0.0.1", 0) as taken:
        port = str(taken.getsockname()[1])
        code, output = run("--self-signed", "--kubeconfig", nowhere(tmp_path), *PORTS, "--admin-port", port)

    assert (code, "ddress already in use" in output) == (2, True)


@pytest.mark.parametrize("module", ["gpusched.cli.serve", "webhook.main"])
def test_a_signal_ends_it_in_order(tmp_path: Path, module: str) -> None:
    command = (
        [sys.executable, "-m", module]
        if module == "webhook.main"
        else [
            sys.executable,
            "-c",
            "from gpusched.cli.serve import serve; serve()",
            "--extender-plain-http",
        ]
    )
    arguments = ["--self-signed", "--kubeconfig", nowhere(tmp_path), *PORTS, "--drain-seconds", "0"]
    with subprocess.Popen(
        [*command, *arguments], cwd=ROOT, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)}
    ) as process:
        assert process.stderr is not None
        events = []
        for line in process.stderr:
            events.append(json.loads(line))
            if events[-1]["event"] == "listening":
                process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    assert [event["event"] for event in events] == ["listening", "stopping", "stopped"]
    ports = {"webhook", "extender", "admin"} - ({"extender"} if module == "webhook.main" else set())
    assert ports <= events[0].keys()


def test_issued_certificates_are_complete_and_their_keys_private(tmp_path: Path) -> None:
    directory = tmp_path / "certs"
    issue_serving_certificates(directory, "gpusched-system", datetime.now(UTC))

    files = {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}
    pairs = {"tls.crt", "tls.key", "ca.crt", "authority.crt", "authority.key"}
    extender = pairs | {"next-authority.crt", "next-authority.key"}
    scheduler = {"tls.crt", "tls.key", "ca.crt"}
    assert files == pairs | {f"extender/{name}" for name in extender} | {f"scheduler/{name}" for name in scheduler}
    assert (directory / "scheduler" / "ca.crt").read_bytes().count(b"BEGIN CERTIFICATE") == 2
    for path in directory.rglob("*.key"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_lazy_command_is_listed_without_being_imported() -> None:
    class Group(LazyGroup):
        lazy: ClassVar = {
            "absent": ("gpusched.cli.no_such_module:absent", "Does much."),
            "serve": ("gpusched.cli.serve:serve", ""),
        }

    @click.group(cls=Group)
    def group() -> None:
        """A group."""

    @group.command()
    def plain() -> None:
        """Is plain."""

    listed = CliRunner().invoke(group, ["--help"])
    assert listed.exit_code == 0
    assert [line.split() for line in listed.output.splitlines()[-3:]] == [
        ["absent", "Does", "much."],
        ["plain", "Is", "plain."],
        ["serve"],
    ]
    assert "Usage" in CliRunner().invoke(group, ["serve", "--help"]).output
    assert CliRunner().invoke(group, ["nonsense"]).exit_code == 2


@pytest.mark.parametrize("option", ["--webhook-port", "--extender-port", "--admin-port"])
def test_a_port_that_is_none(option: str) -> None:
    code, output = run("--self-signed", option, "99999")

    assert (code, f"Invalid value for '{option}': 99999 is not in the range" in output) == (2, True)


def test_the_certificate_that_is_missing_is_named(tmp_path: Path) -> None:
    code, output = run("--cert-dir", str(tmp_path), "--kubeconfig", nowhere(tmp_path), *PORTS)

    assert code == 2
    assert f"No such file or directory: '{tmp_path}/tls.crt'" in output


def test_a_fault_is_shown_with_its_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    async def failing(_: object) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(asyncio.to_thread(lambda: int("x")))

    monkeypatch.setattr("gpusched.serve.service.Service.run", failing)
    code, output = run("--self-signed")

    assert code == 1
    assert "ended by a fault of gpusched" in output
    assert "ValueError: invalid literal for int()" in output
