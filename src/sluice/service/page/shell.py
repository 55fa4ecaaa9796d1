"""Serves the page. Its files hold no data: each view asks the REST interface."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from fastapi import APIRouter
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
def _file(name: str) -> bytes:
    return (_FILES / name).read_bytes()


def page_routes() -> APIRouter:
    """The routes of the views, and of the files that they load."""
    router = APIRouter(include_in_schema=False)
    known = {path.name: path.suffix for path in _FILES.iterdir() if path.suffix in _TYPES}

    async def shell() -> Response:
        return Response(_file("index.html"), media_type=_TYPES[".html"])

    async def asset(name: str) -> Response:
        if name not in known:
            raise Problem(404, "there is no such file", where="assets")
        return Response(
            _file(name), media_type=_TYPES[known[name]], headers={"Cache-Control": "no-cache"}
        )

    for view in _VIEWS:
        router.add_api_route(view, shell, methods=["GET"])
    router.add_api_route("/assets/{name}", asset, methods=["GET"])
    return router
