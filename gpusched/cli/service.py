"""A running gpusched, asked on its administration port as the user that a token or the kubeconfig names."""

import os
import urllib.error
import urllib.request
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlencode, urlsplit

import click
import msgspec

from gpusched.cli.access import Absent, Access, Forbidden, Unavailable, Unconfigured
from gpusched.cli.session import TOKEN_VARIABLE

_SECONDS: Final = 30.0
_UNKNOWN: Final = 401
_DENIED: Final = frozenset({_UNKNOWN, 403})
_ABSENT: Final = 404

_Answer = TypeVar("_Answer")


class _Refusal(msgspec.Struct):
    error: str = ""


class _StayingHandler(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: it would take the token along to wherever it leads."""

    def redirect_request(self, *_: object) -> None:
        return None


_OPENER: Final = urllib.request.build_opener(_StayingHandler)


class Service:
    """The administration port at an address such as `http://127.0.0.1:8080`.

    Raises click.UsageError for what is no address.
    """

    def __init__(self, url: str, authorization: str | None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise click.UsageError(f"--server {url} is no address; write such as http://127.0.0.1:8080")
        self._url = url.rstrip("/")
        self._authorization = authorization

    def get(self, name: str, of: type[_Answer], query: Mapping[str, str] | None = None) -> _Answer:
        """An answer of `/api/v1`. Raises Forbidden, Absent or Unavailable."""
        url = f"{self._url}/api/v1/{name}"
        headers = {"Authorization": self._authorization} if self._authorization else {}
        try:
            request = urllib.request.Request(  # noqa: S310 - the scheme was looked at
                f"{url}?{urlencode(query)}" if query else url, headers=headers
            )
            with _OPENER.open(request, timeout=_SECONDS) as answer:
                body = answer.read()
        except urllib.error.HTTPError as error:
            with error:
                raise self._failure(url, error.code, error.read()) from error
        except (OSError, ValueError) as error:
            raise Unavailable(f"gpusched cannot be reached at {url}: {getattr(error, 'reason', error)}") from error
        try:
            return msgspec.json.decode(body, type=of)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Unavailable(f"{self._url} is no gpusched of this version: {error}") from error

    def _failure(self, url: str, status: int, body: bytes) -> click.ClickException:
        try:
            told = msgspec.json.decode(body, type=_Refusal).error
        except (msgspec.DecodeError, UnicodeDecodeError):
            told = ""
        if status == _UNKNOWN and self._authorization is None:
            return Forbidden(
                f"gpusched at {self._url} wants a token: set {TOKEN_VARIABLE} to one, such as"
                " `kubectl create token NAME` prints"
            )
        if not told:
            return Unavailable(f"gpusched does not answer at {url}: HTTP {status}")
        if status in _DENIED:
            return Forbidden(f"gpusched at {self._url} refuses: {told}")
        if status == _ABSENT:
            return Absent(f"gpusched at {self._url}: {told}")
        return Unavailable(f"gpusched at {self._url} cannot answer: {told}")


def authorization(access: Access, token_file: Path | None = None) -> str | None:
    """The header that says who asks: the token of the file or of GPUSCHED_TOKEN, else that of the kubeconfig's user.

    None where there is neither a token nor a kubeconfig with one. Raises Unavailable where the kubeconfig is wrong.
    """
    # For users whose kubeconfig has a certificate in its place.
    own = os.environ.get(TOKEN_VARIABLE) if token_file is None else token_file.read_text(encoding="utf-8").strip()
    if own:
        return f"Bearer {own}"
    # The client is imported by those alone who need it.
    live = import_module("gpusched.cli.live")
    try:
        found: str | None = live.ask(access, import_module("gpusched.kube.session").Session.authorization)
    except Unconfigured:
        return None
    return found
