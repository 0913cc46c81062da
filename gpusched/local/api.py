"""A small synchronous client of the API server: JSON in and out, certificate checked, connections kept."""

import json
import ssl
from collections.abc import Mapping
from http.client import HTTPException, HTTPSConnection
from typing import Final
from urllib.parse import urlencode, urlsplit

import msgspec

from gpusched.local.errors import ApiError

_TIMEOUT_SECONDS: Final = 30.0
#: What a kept connection answers if the server closed it since the last request.
_STALE: Final = (ConnectionResetError, BrokenPipeError, ConnectionAbortedError, ssl.SSLEOFError, HTTPException)


class Response(msgspec.Struct, frozen=True):
    """An answer; `tree` is the decoded body (the text of one that is no JSON), `warnings` those for kubectl's user."""

    status: int
    tree: object
    warnings: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the status is below 300."""
        return self.status < 300

    @property
    def message(self) -> str:
        """The sentence of a Status, else the body as text."""
        if isinstance(self.tree, Mapping):
            return str(self.tree.get("message", ""))
        return str(self.tree)

    def expect(self) -> dict[str, object]:
        """The object that was asked for.

        Raises:
            ApiError: the server refused.

        """
        if not self.ok or not isinstance(self.tree, dict):
            raise ApiError(self.status, self.message)
        return self.tree


class Api:
    """Requests as one user; may be used from several threads.

    `headers` carry the login; `context` the authority, and the client certificate if there is one.
    """

    def __init__(self, server: str, context: ssl.SSLContext, headers: Mapping[str, str]) -> None:
        parts = urlsplit(server)
        self._host = parts.hostname or ""
        self._port = parts.port or 443
        self._prefix = parts.path.rstrip("/")
        self._context = context
        self._headers = dict(headers)
        self._idle: list[HTTPSConnection] = []

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
        timeout: float = _TIMEOUT_SECONDS,
    ) -> Response:
        """Send one request; a status of 400 or above is an answer like any other.

        Raises:
            OSError: the server cannot be reached, or does not answer in time.

        """
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        headers = self._headers | ({} if data is None else {"Content-Type": content_type})
        target = self._prefix + path + (f"?{urlencode(query)}" if query else "")
        kept = self._idle.pop() if self._idle else None
        if kept is not None:
            try:
                return self._send(kept, method, target, data, headers, timeout)
            except _STALE:
                pass
        fresh = HTTPSConnection(self._host, self._port, timeout=timeout, context=self._context)
        try:
            return self._send(fresh, method, target, data, headers, timeout)
        except HTTPException as error:
            raise ConnectionError(f"{method} {path}: the server broke off: {error!r}") from error

    def close(self) -> None:
        """Close the connections that are kept."""
        while self._idle:
            self._idle.pop().close()

    def _send(
        self,
        connection: HTTPSConnection,
        method: str,
        target: str,
        data: bytes | None,
        headers: Mapping[str, str],
        timeout: float,
    ) -> Response:
        try:
            connection.timeout = timeout
            if connection.sock is not None:
                connection.sock.settimeout(timeout)
            connection.request(method, target, body=data, headers=dict(headers))
            answer = connection.getresponse()
            content = answer.read()
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        warnings = tuple(_warning(text) for text in answer.headers.get_all("Warning", []))
        return Response(answer.status, _decode(content), warnings)


def _decode(content: bytes) -> object:
    try:
        return json.loads(content or b"{}")
    except ValueError:
        return content.decode("utf-8", "replace")


def _warning(header: str) -> str:
    """The text of `299 - "text"` (RFC 9110 has retired the field; Kubernetes uses it as RFC 7234 had it)."""
    quoted = header.partition('"')[2].rpartition('"')[0]
    return quoted.replace('\\"', '"').replace("\\\\", "\\") or header
