"""Serves the page. Its files hold no data: each view asks the REST interface."""

from __future__ import annotations

import gzip
import hashlib
from functools import cache
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Header
from fastapi.responses import Response

from sluice.service.problem import Problem

_FILES = Path(__file__).parent / "files"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_VIEWS = (
    "/", "/queue", "/submit", "/jobs/{job_id}", "/jobs/{job_id}/logs/{key}", "/plans", "/capacity",
    "/promises", "/fairness", "/nodes", "/compare", "/configs", "/configs/{name}", "/profiles",
    "/profiles/{name}", "/admin", "/observed/{job_id}", "/steering", "/login", "/shared",
)  # fmt: skip


@cache
def _file(name: str) -> tuple[bytes, bytes, str]:
    """A file, the same packed, and the tag of its content."""
    content = (_FILES / name).read_bytes()
    tag = f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"'
    return content, gzip.compress(content, 9, mtime=0), tag


def _answer(name: str, encodings: str, known: str) -> Response:
    """A file as the client takes it, or that it has this one already."""
    content, packed, tag = _file(name)
    headers = {"ETag": tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
    if tag in known:
        return Response(status_code=304, headers=headers)
    if "gzip" in encodings:
        content, headers["Content-Encoding"] = packed, "gzip"
    return Response(content, media_type=_TYPES[Path(name).suffix], headers=headers)


Encodings = Annotated[str, Header(alias="Accept-Encoding", max_length=200)]
Known = Annotated[str, Header(alias="If-None-Match", max_length=2000)]


def page_routes() -> APIRouter:
    """The routes of the views, and of the files that they load."""
    router = APIRouter(include_in_schema=False)
    names = {path.name for path in _FILES.iterdir() if path.suffix in _TYPES}

    async def shell(encodings: Encodings = "", known: Known = "") -> Response:
        return _answer("index.html", encodings, known)

    async def asset(name: str, encodings: Encodings = "", known: Known = "") -> Response:
        if name not in names:
            raise Problem(404, "there is no such file", where="assets")
        return _answer(name, encodings, known)

    for view in _VIEWS:
        router.add_api_route(view, shell, methods=["GET"])
    router.add_api_route("/assets/{name}", asset, methods=["GET"])
    return router
