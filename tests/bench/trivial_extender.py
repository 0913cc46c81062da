"""The least that an extender in Python can be: it decodes the names, returns all of them, prefers none, and binds."""

import asyncio
import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import msgspec
import uvloop
from starlette.requests import Request
from starlette.responses import Response

from certs.issue import issue_ca, issue_leaf
from gpusched.kube.session import Session
from gpusched.kube.writes import Result, bind
from gpusched.serve.extender_app import LIMITS
from gpusched.serve.server import Listener, Servers, open_socket
from gpusched.serve.tls import LiveContext, Material
from gpusched.wire.extender import (
    ExtenderArgs,
    ExtenderBindingArgs,
    ExtenderBindingResult,
    ExtenderFilterResult,
    HostPriority,
)
from webhook.body import Rejected, read_json_body
from webhook.edge import Edge, add_post, bare_application, json_response

_ARGS: Final = msgspec.json.Decoder(ExtenderArgs)
_BINDING: Final = msgspec.json.Decoder(ExtenderBindingArgs)
_HOST: Final = "127.0.0.1"


@contextmanager
def trivial_extender(kubeconfig: str, directory: Path) -> Iterator[str]:
    """Its URL, while it runs in a process of its own. As gpusched it serves clients with a certificate alone; what
    kube-scheduler needs for that is written into the directory.
    """
    material = _issue(directory)
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("spawn").Process(target=_run, args=(kubeconfig, material, there), daemon=True)
    child.start()
    try:
        yield f"https://{_HOST}:{here.recv()}"
    finally:
        child.kill()
        child.join()


def _issue(directory: Path) -> Material:
    now, day = datetime.now(UTC), timedelta(days=1)
    authority = issue_ca("trivial", now, day)
    server = issue_leaf(authority, (_HOST,), now, day)
    client = issue_leaf(authority, ("kube-scheduler",), now, day, client=True)
    directory.mkdir(exist_ok=True)
    for name, content in (
        ("ca.crt", authority.certificate),
        ("tls.crt", client.certificate),
        ("tls.key", client.key),
    ):
        (directory / name).write_bytes(content)
    return Material(server.certificate, server.key, authority.certificate)


def _run(kubeconfig: str, material: Material, parent: Connection) -> None:
    tls = LiveContext(lambda _expiry: None)
    tls.take(material)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(kubeconfig, tls, parent))


async def _serve(kubeconfig: str, tls: LiveContext, parent: Connection) -> None:
    async with await Session.open(kubeconfig) as session:
        app, edge = bare_application(), Edge(time.monotonic)

        async def filter_(request: Request) -> Response:
            args = _ARGS.decode(await _body(request))
            return json_response(msgspec.json.encode(ExtenderFilterResult(node_names=args.node_names)))

        async def prioritize(request: Request) -> Response:
            args = _ARGS.decode(await _body(request))
            return json_response(msgspec.json.encode([HostPriority(name, 0) for name in args.node_names or ()]))

        async def binding(request: Request) -> Response:
            args = _BINDING.decode(await _body(request))
            outcome = await bind(session, args.pod_namespace, args.pod_name, args.pod_uid, args.node, {}, 10.0)
            error = "" if outcome.result is Result.BOUND else outcome.message or str(outcome.result)
            return json_response(msgspec.json.encode(ExtenderBindingResult(error=error)))

        for path, answer in (("/filter", filter_), ("/prioritize", prioritize), ("/bind", binding)):
            add_post(app, path, edge, answer)
        listener = Listener(app, open_socket(_HOST, 0), tls.context)
        parent.send(listener.port)
        await Servers([listener]).run()


async def _body(request: Request) -> bytes:
    body = await read_json_body(request, LIMITS)
    assert not isinstance(body, Rejected)
    return body
