"""What can go wrong between gpusched and the API server, as few exceptions that carry fields.

Errors of the client library never leave this package: its types would tie every caller to that library.
"""

from typing import Final

import msgspec

#: Messages of proxies can be whole HTML pages; a log line or an event takes this many characters of them.
_LONGEST_MESSAGE: Final = 500


class KubeError(Exception):
    """Anything that this package raises."""


class ConfigurationError(KubeError):
    """The kubeconfig, or what a pod is given in its place, cannot be used."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Unreachable(KubeError):  # noqa: N818 - named by the state of the server
    """No whole answer came: the connection failed, broke or was silent for too long.

    `sent` False means that the request certainly never left, so that nothing can have been changed by it.
    """

    def __init__(self, method: str, path: str, reason: str, *, sent: bool) -> None:
        super().__init__(method, path, reason)
        self.method = method
        self.path = path
        self.reason = reason
        self.sent = sent

    def __str__(self) -> str:
        return f"{self.method} {self.path}: {self.reason}"


class StatusError(KubeError):
    """The API server answered a watch with an HTTP status other than 200, or with an ERROR event of such a code."""

    def __init__(self, code: int, message: str, retry_after: float | None = None) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.retry_after = retry_after

    def __str__(self) -> str:
        return f"{self.code} {self.message}"


class Response(msgspec.Struct, frozen=True):
    """An answer of whatever status. `retry_after` is in seconds, where the server names it."""

    status: int
    body: bytes
    retry_after: float | None = None

    @property
    def ok(self) -> bool:
        """Whether the request was carried out."""
        return 200 <= self.status < 300

    @property
    def message(self) -> str:
        """The sentence of the Status object in the body, else the start of the body, else the code alone."""
        return status_message(self.status, self.body)


class _Status(msgspec.Struct):
    kind: str = ""
    message: str = ""


def status_message(status: int, body: bytes) -> str:
    """What the API server says in a Status object; other bodies come from proxies on the way and are cut short."""
    try:
        found = msgspec.json.decode(body, type=_Status)
    except (msgspec.DecodeError, UnicodeDecodeError):
        text = " ".join(body[: 4 * _LONGEST_MESSAGE].decode("utf-8", "replace").split())
    else:
        text = found.message if found.kind == "Status" else ""
    if len(text) > _LONGEST_MESSAGE:
        text = f"{text[: _LONGEST_MESSAGE - 3]}..."
    return text or f"HTTP {status}"
