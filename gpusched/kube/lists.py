"""Reads a list of the API server page by page, for those who do not follow the kind."""

from collections.abc import AsyncGenerator, Mapping
from typing import Final

import msgspec

from gpusched.kube.errors import StatusError
from gpusched.kube.pages import ListPage
from gpusched.kube.session import Session

_PAGE: Final = "500"
_SECONDS: Final = 60.0


async def list_pages(session: Session, path: str, query: Mapping[str, str]) -> AsyncGenerator[list[msgspec.Raw], None]:
    """The objects of each page. Raises StatusError, of code 410 where later pages have expired, and Unreachable."""
    token = ""
    while True:
        asked = {**query, "limit": _PAGE} | ({"continue": token} if token else {})
        response = await session.request("GET", path, query=asked, timeout=_SECONDS)
        if not response.ok:
            raise StatusError(response.status, response.message)
        try:
            page = msgspec.json.decode(response.body, type=ListPage)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise StatusError(response.status, f"{path} is no list: {error}") from error
        yield page.items or []
        token = page.metadata.token
        if not token:
            return
