"""An API server of fixed answers, in a thread of its own, for commands that ask a live cluster."""

import json
from collections.abc import Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from tests.build import Tree

_PLACES = {
    "Node": "/api/v1/nodes",
    "Namespace": "/api/v1/namespaces",
    "Pod": "/api/v1/pods",
    "Event": "/api/v1/events",
    "RuntimeClass": "/apis/node.k8s.io/v1/runtimeclasses",
    "PersistentVolumeClaim": "/api/v1/persistentvolumeclaims",
    "StorageClass": "/apis/storage.k8s.io/v1/storageclasses",
    "Deployment": "/apis/apps/v1/deployments",
    "ReplicaSet": "/apis/apps/v1/replicasets",
    "Job": "/apis/batch/v1/jobs",
}
CONFIG_MAP = "/api/v1/namespaces/gpusched-system/configmaps/gpusched"


class _Server(ThreadingHTTPServer):
    #: All kinds are asked for at the same time, each over a connection of its own.
    request_queue_size = 64


class Api:
    """Serves lists of the objects given, `page` at a time. `answers` are other paths with status and body."""

    def __init__(self, *trees: Tree, page: int = 500) -> None:
        self.lists: dict[str, list[Tree]] = {path: [] for path in _PLACES.values()}
        self.put(*trees)
        self.page = page
        self.answers: dict[str, tuple[int, object]] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.tokens: list[str | None] = []
        self._server = _Server(("127.0.0.1", 0), self._handler())

    def put(self, *trees: Tree) -> None:
        """Add objects. As the API server does, items of lists come without their type."""
        for tree in trees:
            self.lists[_PLACES[tree["kind"]]].append(
                {key: value for key, value in tree.items() if key not in {"kind", "apiVersion"}}
            )

    def forbid(self, *paths: str) -> None:
        """Refuse to list."""
        for path in paths:
            self.answers[path] = 403, _status(403, f'User "dev" cannot list resource "{path.rpartition("/")[2]}"')

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """Where it is served."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def kubeconfig(self, folder: Path, namespace: str | None = None) -> str:
        """A file that leads here."""
        context: dict[str, Any] = {"cluster": "c", "user": "u"} | ({"namespace": namespace} if namespace else {})
        tree = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "here",
            "clusters": [{"name": "c", "cluster": {"server": self.url}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
            "contexts": [{"name": "here", "context": context}],
        }
        path = folder / "kubeconfig"
        path.write_text(json.dumps(tree))
        return str(path)

    def answer(self, path: str, query: Mapping[str, str]) -> tuple[int, object]:
        """Status and body of a request."""
        if path in self.answers:
            return self.answers[path]
        if path not in self.lists:
            return 404, _status(404, "the server could not find the requested resource")
        start = int(query.get("continue") or 0)
        items = self.lists[path][start : start + self.page]
        more = start + self.page < len(self.lists[path])
        metadata = {"resourceVersion": "1"} | ({"continue": str(start + self.page)} if more else {})
        return 200, {"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": items or None}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                query = {key: values[0] for key, values in parse_qs(parts.query).items()}
                api.requests.append((parts.path, query))
                api.tokens.append(self.headers.get("Authorization"))
                status, body = api.answer(parts.path, query)
                content = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_POST = do_GET  # noqa: N815 - the name that the base class calls

            def log_message(self, *_: Iterable[object]) -> None:
                pass

        return Handler


def config_map(text: str) -> Tree:
    """gpusched's ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "data": {"config.yaml": text}}


def _status(code: int, message: str) -> Tree:
    return {"kind": "Status", "apiVersion": "v1", "code": code, "message": message}
