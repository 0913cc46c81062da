"""The page's own files, read once, with headers that let nothing else run in it."""

import hashlib
from importlib.resources import files
from pathlib import PurePath
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

#: Nothing but the page's own files and the JSON beside it; no inline script or style, no frame, no form target.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
_START: Final = "index.html"


class PageFile(msgspec.Struct, frozen=True):
    """A file with what is sent beside it."""

    body: bytes
    media_type: str
    tag: str

    async def endpoint(self, request: Request) -> Response:
        """The file, or 304 when the browser has this very one."""
        headers = {
            "content-security-policy": _POLICY,
            "x-content-type-options": "nosniff",
            "referrer-policy": "no-referrer",
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
            "cache-control": "no-cache",
            "etag": self.tag,
        }
        if request.headers.get("if-none-match") == self.tag:
            return Response(status_code=304, headers=headers)
        return Response(self.body, media_type=self.media_type, headers=headers)


def load_page() -> dict[str, PageFile]:
    """The files by path. Raises OSError where the package is not whole."""
    found = {}
    for file in (files("gpusched") / "page").iterdir():
        media_type = _TYPES.get(PurePath(file.name).suffix)
        if media_type is not None:
            body = file.read_bytes()
            tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
            found["/" if file.name == _START else f"/page/{file.name}"] = PageFile(body, media_type, tag)
    return found
