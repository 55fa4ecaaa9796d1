"""The routes that show what the service is, whether it is ready, its figures, and its events."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from sluice.bootstrap.service.futures import instant
from sluice.engines.agent import kernel
from sluice.model.errors import SluiceError
from sluice.service.answers import Process, Processes, listed
from sluice.service.context import Given
from sluice.service.events import CLIENTS_MAX, CLIENTS_OF_ONE_MAX, STREAM
from sluice.service.guards import BODY_BYTES_MAX, HEADER_BYTES_MAX
from sluice.service.principals import Admin, Viewer, proof_of
from sluice.service.problem import OPEN, Problem, documented

router = APIRouter(tags=["service"])
_STATUS_S = 5.0  # a process that takes longer does not answer: that is what is asked here
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
        "streams_of_a_token": CLIENTS_OF_ONE_MAX,
        "list_items": 1000,
    }
    return JSONResponse(
        {"release": version("sluice"), "api": "v1", "pid": os.getpid(), "limits": limits}
    )


@router.get("/v1/processes", response_model=None,
            responses={200: {"model": Processes}, **documented()})  # fmt: skip
async def processes(_who: Admin, given: Given) -> JSONResponse:
    """Processes of the service: how much memory each has, since when, and how late it answers."""
    backend = given.backend
    rows = await asyncio.gather(
        _process("driver", partial(backend.ask_driver, {"do": "status"})),
        _process("follower", partial(backend.ask, "status")),
        _process("web", _own_status),
    )
    return JSONResponse(listed(list(rows), len(rows)))


async def _own_status() -> dict[str, Any]:
    await asyncio.sleep(0)  # whatever is due comes first
    return {"pid": os.getpid()}


async def _process(name: str, ask: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
    """A row. Recorded runs have neither driver nor follower."""
    row: dict[str, Any] = dict.fromkeys(Process.model_fields) | {"process": name}
    began_s = time.monotonic()
    with suppress(SluiceError, OSError):  # a timeout is one
        async with asyncio.timeout(_STATUS_S):
            pid = (await ask()).get("pid")
        if pid is not None:
            row |= {"lag_s": time.monotonic() - began_s, **_seen(pid)}
    return row


def _seen(pid: int) -> dict[str, Any]:
    """How a process is, as the kernel shows it. Raises OSError for one that is gone."""
    pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    entry = kernel.process(pid)
    age_s = 0.0 if entry is None else time.clock_gettime(time.CLOCK_BOOTTIME) - entry.started_s
    return {
        "pid": pid,
        "rss_bytes": pages * os.sysconf("SC_PAGE_SIZE"),
        "started_at": instant(time.time() - age_s),
    }


@router.get("/v1/events", response_model=None,
            responses={200: {"content": _EVENT_STREAM}, **documented()})  # fmt: skip
async def events(
    who: Viewer,
    given: Given,
    request: Request,
    last: Annotated[str | None, Header(alias="Last-Event-ID", max_length=200)] = None,
) -> Response:
    """Changed jobs, four times a second, as server-sent events: `delta`, or `resync`."""
    proof = proof_of(request)
    given.events.check(proof)
    return _Begun(partial(given.events.stream, who.sees_only, last, proof))


class _Begun(Response):
    """An answer whose body is sent by `Guard`: what found it would take memory while it lasts."""

    def __init__(self, stream: Callable[[Receive, Send], Awaitable[None]]) -> None:
        super().__init__(media_type="text/event-stream")
        del self.headers["content-length"]
        self._stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        scope["state"][STREAM] = self._stream
