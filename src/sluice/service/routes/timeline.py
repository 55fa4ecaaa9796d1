"""The attempts that ran over a span of time, and where they ran."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
from typing import Annotated

from fastapi import APIRouter, Header, Query
from fastapi.responses import JSONResponse, Response

from sluice.service.answers import listed
from sluice.service.attempt_answers import AttemptsOfSpan
from sluice.service.context import Given
from sluice.service.principals import Viewer
from sluice.service.problem import documented
from sluice.service.requests import Instant, Name, Tile

router = APIRouter(prefix="/v1", tags=["timeline"])

_GZIP = 5  # a tile of 200 KB in 4 ms
From = Annotated[Instant, Query(alias="from")]


@router.get(
    "/attempts", response_model=None, responses={200: {"model": AttemptsOfSpan}, **documented()}
)
async def attempts(
    who: Viewer,
    given: Given,
    start: From,
    to: Instant,
    node: Annotated[Name | None, Query()] = None,
) -> JSONResponse:
    """The attempts that ran in a span, at most 5,000. The jobs of other tenants are not named."""
    found = await given.backend.ask(
        "attempts_between",
        start=start.isoformat(),
        end=to.isoformat(),
        tenant=who.sees_only,
        node=node,
    )
    return JSONResponse(listed(found["attempts"], found["total"]))


@router.get(
    "/timeline",
    response_model=None,
    responses={200: {"content": {"application/octet-stream": {}}}, **documented()},
)
async def timeline(
    who: Viewer,
    given: Given,
    wanted: Annotated[Tile, Query()],
    encodings: Annotated[str, Header(alias="Accept-Encoding", max_length=200)] = "",
) -> Response:
    """How busy each row was in each of so many equal parts of a span.

    The body is a line of JSON (`rows`: their names, `columns`, `total` rows), and then a byte for
    each cell, row by row: the share of busy slots in 127ths, plus 128 where an attempt failed.
    Slots are those of the node, or for queues and jobs those of the cluster.
    """
    found = await given.backend.ask(
        "tile",
        start=wanted.start.isoformat(),
        end=wanted.to.isoformat(),
        tenant=who.sees_only,
        by=wanted.by,
        first=wanted.first,
        rows=wanted.rows,
        columns=wanted.columns,
    )
    cells = base64.b64decode(found.pop("cells"))
    span = {"from": wanted.start.isoformat(), "to": wanted.to.isoformat()}
    head = json.dumps({**found, **span})
    content, headers = head.encode() + b"\n" + cells, {"Vary": "Accept-Encoding"}
    if "gzip" in encodings:
        content = await asyncio.to_thread(gzip.compress, content, _GZIP)
        headers["Content-Encoding"] = "gzip"
    return Response(content, headers=headers, media_type="application/octet-stream")
