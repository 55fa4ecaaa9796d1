"""What the service is, whether it is ready, its figures, and its events."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from importlib.metadata import version
from typing import Annotated

from fastapi import APIRouter, Header, Request
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse

from sluice.model.errors import SluiceError
from sluice.service.context import Given
from sluice.service.events import CLIENTS_MAX
from sluice.service.guards import BODY_BYTES_MAX, HEADER_BYTES_MAX
from sluice.service.principals import Admin, Viewer
from sluice.service.problem import OPEN, Problem, documented

router = APIRouter(tags=["service"])
_EVENT_STREAM = {"text/event-stream": {"schema": {"type": "string"}}}


@router.get("/healthz", response_model=None, responses={200: {}}, openapi_extra=OPEN)
async def healthz() -> JSONResponse:
    """The web process answers."""
    return JSONResponse({})


@router.get("/readyz", response_model=None, responses={200: {}, **documented()}, openapi_extra=OPEN)
async def readyz(given: Given) -> JSONResponse:
    """Driver and follower answer as well."""
    for name, asked in (
        ("driver", given.backend.ask_driver({"do": "status"})),
        ("follower", given.backend.ask("status")),
    ):
        try:
            await asked
        except SluiceError as error:
            raise Problem(503, f"the {name} does not answer", where=name, hint="ask again",
                          retry_after_s=1) from error  # fmt: skip
    return JSONResponse({})


@router.get(
    "/metrics", response_class=PlainTextResponse, response_model=None, responses=documented()
)
async def metrics(_who: Admin, given: Given) -> PlainTextResponse:
    """Figures for Prometheus."""
    queues, counts = await given.backend.ask("queues"), await given.backend.ask("counts")
    return PlainTextResponse(given.metrics.text(queues, counts),
                             media_type="text/plain; version=0.0.4")  # fmt: skip


@router.get(
    "/v1/about", response_model=None, responses={200: {}, **documented()}, openapi_extra=OPEN
)
async def about() -> JSONResponse:
    """Release, version of the interface, and limits."""
    limits = {
        "body_bytes": BODY_BYTES_MAX,
        "header_bytes": HEADER_BYTES_MAX,
        "streams": CLIENTS_MAX,
        "list_items": 1000,
    }
    return JSONResponse(
        {"release": version("sluice"), "api": "v1", "pid": os.getpid(), "limits": limits}
    )


@router.get("/v1/events", response_model=None,
            responses={200: {"content": _EVENT_STREAM}, **documented()})  # fmt: skip
async def events(
    who: Viewer,
    given: Given,
    request: Request,
    last: Annotated[str | None, Header(alias="Last-Event-ID", max_length=200)] = None,
) -> StreamingResponse:
    """Changed jobs, four times a second, as server-sent events: `delta`, or `resync`."""
    if given.events.clients >= CLIENTS_MAX:
        raise Problem(429, f"{CLIENTS_MAX} streams are open", hint="close one", retry_after_s=5)

    async def is_allowed() -> bool:
        try:
            await given.access.principal(request)
        except Problem:
            return False
        return True

    stream: AsyncIterator[bytes] = given.events.stream(who.sees_only, last, is_allowed)
    return StreamingResponse(stream, media_type="text/event-stream")
