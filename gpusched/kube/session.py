"""A session with one API server: raw requests and raw watch lines over the client library's configuration.

The library gives kubeconfig, in-cluster settings, exec plugins and TLS. Its request layer is left out: it wants parsed
bodies and the models that come with them cost seconds at import and a hundred MiB.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Final, Self

import aiohttp
from kubernetes.aio.client.configuration import Configuration
from kubernetes.aio.client.rest import RESTClientObject

from gpusched.kube.credentials import load_configuration
from gpusched.kube.errors import ConfigurationError, KubeError, Response, StatusError, Unreachable, status_message

#: Time to connect, TLS included. The API server's own limit for a request is a minute; a dead address shows sooner.
_CONNECT_SECONDS: Final = 10.0
#: Credentials are read anew after a 401, but not more often: an exec plugin may take seconds.
_RELOAD_SECONDS: Final = 10.0
#: Differences to a server's Date up to this say nothing: it is cut to seconds and was written before it arrived.
_DATE_BLUR: Final = timedelta(seconds=2)
#: Errors in which the request provably never left this machine.
_NEVER_SENT: Final = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL)
_FAILURES: Final = (aiohttp.ClientError, TimeoutError, OSError, asyncio.IncompleteReadError)


class Session:
    """An open session; use `async with await Session.open(...)`.

    A token file is read anew each minute by the library (in a cluster); after a 401 the whole configuration is read
    anew once, which renews exec plugins, token files and client certificates alike.
    """

    def __init__(self, configuration: Configuration, read_again: Callable[[], Awaitable[Configuration]]) -> None:
        #: How far the clock of this machine is ahead of the API server's, as of the last answer.
        self.clock_ahead = timedelta(0)
        self._configuration = configuration
        self._read_again = read_again
        self._http: aiohttp.ClientSession | None = None
        self._retired: aiohttp.ClientSession | None = None
        self._reloading: asyncio.Task[None] | None = None
        self._reloaded = -_RELOAD_SECONDS

    @classmethod
    async def open(cls, kubeconfig: str | None, context: str | None = None, *, in_cluster: bool = False) -> Self:
        """Read the configuration; no request is made. `in_cluster` wins over a kubeconfig; no kubeconfig means the
        usual one ($KUBECONFIG or ~/.kube/config). Raises ConfigurationError.
        """
        read = partial(load_configuration, kubeconfig, context, in_cluster=in_cluster)
        return cls(await read(), read)

    @property
    def server(self) -> str:
        """Address of the API server, such as `https://10.96.0.1:443`."""
        return str(self._configuration.host)

    async def __aenter__(self) -> Self:
        self._http = _connect(self._configuration)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._reloading is not None:
            self._reloading.cancel()
            await asyncio.gather(self._reloading, return_exceptions=True)
        for http in (self._http, self._retired):
            if http is not None:
                await http.close()
        self._http = self._retired = None

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
        timeout: float = 30.0,  # noqa: ASYNC109 - also the limit that the connection is given
    ) -> Response:
        """Send one request and read the whole answer, whatever its status, within `timeout` seconds.

        Redirects are not followed. Raises Unreachable where there is no whole answer.
        """
        response = await self._once(method, path, query, body, content_type, timeout)
        if response.status == 401 and await self._reload():
            response = await self._once(method, path, query, body, content_type, timeout)
        return response

    async def stream(self, path: str, query: Mapping[str, str], idle_timeout: float) -> AsyncGenerator[bytes, None]:
        """The lines of a watch, without their newline, until the server ends it; an empty one first, once it is open.

        Raises StatusError for a status other than 200, and Unreachable when the connection breaks, ends within a line
        or brings no byte for `idle_timeout` seconds. The session must outlive the iterator; close it (`aclosing`).
        """
        limits = aiohttp.ClientTimeout(total=None, connect=_CONNECT_SECONDS, sock_read=idle_timeout)
        try:
            async with self._opened().get(
                self._url(path),
                params=query,
                headers=await self._headers("GET", path),
                timeout=limits,
                allow_redirects=False,
                server_hostname=self._configuration.tls_server_name,
                proxy=self._configuration.proxy,
            ) as answer:
                if answer.status != 200:
                    body = await answer.read()
                    if answer.status == 401:
                        await self._reload()
                    raise StatusError(answer.status, status_message(answer.status, body), _retry_after(answer))
                yield b""
                pieces: list[bytes] = []
                async for chunk in answer.content.iter_any():
                    first, *lines = chunk.split(b"\n")
                    pieces.append(first)
                    for line in lines:
                        yield b"".join(pieces)
                        pieces = [line]
                if any(pieces):
                    raise Unreachable("GET", path, "the watch ended within a line", sent=True)
        except _FAILURES as error:
            raise Unreachable("GET", path, _reason(error), sent=not isinstance(error, _NEVER_SENT)) from error

    async def _once(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: bytes | None,
        content_type: str,
        seconds: float,
    ) -> Response:
        headers = await self._headers(method, path)
        if body is not None:
            headers["Content-Type"] = content_type
        try:
            async with self._opened().request(
                method,
                self._url(path),
                params=query,
                data=body,
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=seconds, connect=min(seconds, _CONNECT_SECONDS)),
                allow_redirects=False,
                server_hostname=self._configuration.tls_server_name,
                proxy=self._configuration.proxy,
            ) as answer:
                self.clock_ahead = ahead(answer.headers.get("Date", ""), datetime.now(UTC), self.clock_ahead)
                return Response(answer.status, await answer.read(), _retry_after(answer))
        except _FAILURES as error:
            raise Unreachable(method, path, _reason(error), sent=not isinstance(error, _NEVER_SENT)) from error

    def _opened(self) -> aiohttp.ClientSession:
        if self._http is None:
            raise RuntimeError("the session is not open: use it in `async with`")
        return self._http

    def _url(self, path: str) -> str:
        return self.server + path

    async def authorization(self) -> str | None:
        """The value of the Authorization header, None where a certificate alone proves who we are.

        Raises Unreachable when the token cannot be read.
        """
        return await self._token("GET", "/")

    async def _token(self, method: str, path: str) -> str | None:
        """Reads the token anew when it is due; one that cannot be read counts as no answer."""
        try:
            token = await self._configuration.get_api_key_with_prefix("BearerToken", alias="authorization")
        except Exception as error:  # the library's hooks raise what they like
            raise Unreachable(method, path, f"credentials cannot be read: {error}", sent=False) from error
        return str(token) if token else None

    async def _headers(self, method: str, path: str) -> dict[str, str]:
        token = await self._token(method, path)
        # Unpacking would cost more than a cluster's own network does.
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if token:
            headers["Authorization"] = token
        return headers

    async def _reload(self) -> bool:
        """Read credentials anew after a 401. False when that was done a moment ago or did not work."""
        now = asyncio.get_running_loop().time()
        if self._reloading is None:
            if now - self._reloaded < _RELOAD_SECONDS:
                return False
            self._reloaded = now
            self._reloading = asyncio.create_task(self._renew())
        task = self._reloading
        try:
            await asyncio.shield(task)
        except KubeError:
            return False
        finally:
            if task.done():
                self._reloading = None
        return True

    async def _renew(self) -> None:
        self._configuration = await self._read_again()
        # Open watches go on over the connections they have; only those of the time before last are cut.
        retired, self._retired, self._http = self._retired, self._http, _connect(self._configuration)
        if retired is not None:
            await retired.close()


def _connect(configuration: Configuration) -> aiohttp.ClientSession:
    try:
        context = RESTClientObject(configuration).ssl_context
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"the certificates of the kubeconfig cannot be used: {error}") from error
    connector = aiohttp.TCPConnector(ssl=context, limit=0)
    return aiohttp.ClientSession(connector=connector, trust_env=True, cookie_jar=aiohttp.DummyCookieJar())


def ahead(date: str, now: datetime, before: timedelta) -> timedelta:
    """How far a clock is ahead of a Date field, which has whole seconds, cut off; `before` where there is none."""
    try:
        told = parsedate_to_datetime(date).replace(tzinfo=UTC)
    except ValueError:
        return before
    difference = now - told
    return timedelta(0) if timedelta(0) <= difference <= _DATE_BLUR else difference


def _retry_after(answer: aiohttp.ClientResponse) -> float | None:
    text = answer.headers.get("Retry-After", "")
    return float(text) if text.isascii() and text.isdigit() else None


def _reason(error: BaseException) -> str:
    return str(error) or ("timed out" if isinstance(error, TimeoutError) else type(error).__name__)
