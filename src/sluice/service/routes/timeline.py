"""What ran where over a span of time, and what the commands of attempts said."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import os
import re
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Header, Query
from fastapi import Path as InPath
from fastapi.responses import JSONResponse, Response
from starlette.responses import PlainTextResponse

from sluice.service.answers import AttemptsOfSpan, listed
from sluice.service.context import Given
from sluice.service.principals import Viewer
from sluice.service.problem import Problem, answered_as, documented
from sluice.service.requests import Instant, Name, Tile
from sluice.service.routes.jobs import JobId, of_job

router = APIRouter(prefix="/v1", tags=["timeline"])

LOG_BYTES_MAX = 1 << 20  # of the end of a log
_GZIP = 5  # a tile of 200 KB in 4 ms
_RANGE = re.compile(r"bytes=([0-9]{0,12})-([0-9]{0,12})")
AttemptKey = Annotated[str, InPath(max_length=300)]
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


@router.get(
    "/jobs/{job_id}/attempts/{key}/log",
    response_model=None,
    responses={200: {"content": {"text/plain": {}}}, 206: {}, **documented(410, 416)},
)
async def log(
    who: Viewer,
    given: Given,
    job_id: JobId,
    key: AttemptKey,
    span: Annotated[str | None, Header(alias="Range", max_length=60)] = None,
) -> Response:
    """What the command of an attempt wrote on its standard error: the last MiB, or a `Range`."""
    with answered_as(404, "key"):
        found = await of_job(given, who, "log", job_id, key=key)
    if found["path"] is None:
        raise Problem(410, "the log is not on this machine, or was removed", where="key",
                      hint="look on the node where it ran")  # fmt: skip
    content = await asyncio.to_thread(_end_of, Path(found["path"]))
    return _part(content, span)


@router.get("/jobs/{job_id}/explain", response_model=None, responses={200: {}, **documented(409)})
async def explain(who: Viewer, given: Given, job_id: JobId) -> JSONResponse:
    """Where the time of a done job went, and what would save some, as `sluice explain --json`."""
    known = await of_job(given, who, "job", job_id)
    if known["state"] != "done":
        raise Problem(409, f"the job is {known['state']}", where="job_id",
                      hint="ask `why` until it is done")  # fmt: skip
    run_id = (await given.backend.ask("run_id", job_id=job_id))["run_id"]
    # Its run is the only one that the command is asked about, and it is the tenant's own.
    made = given.calculations.start(who, ["explain", run_id], {}, sees_profiles=True)
    assert made.task is not None
    await made.task
    if made.state != "done":
        raise Problem(409, made.problem or "it could not be explained", where="job_id",
                      hint="what it took is learned within a second of its end")  # fmt: skip
    return JSONResponse(made.result)


@router.get(
    "/jobs/{job_id}/workload", response_model=None,
    responses={200: {"content": {"application/json": {}}}, **documented()},
)  # fmt: skip
async def workload(who: Viewer, given: Given, job_id: JobId) -> JSONResponse:
    """The job as a workload file, for `sluice simulate`, `plan` and `run`."""
    return JSONResponse(await of_job(given, who, "workload", job_id))


def _end_of(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - LOG_BYTES_MAX))
            return file.read(LOG_BYTES_MAX)
    except OSError:
        return b""  # removed since: nothing was written into it


def _part(content: bytes, span: str | None) -> Response:
    """The content, or the part of it that a `Range` of one span asks for. Raises Problem 416."""
    found = None if span is None else _RANGE.fullmatch(span)
    if found is None or not any(found.groups()):
        return PlainTextResponse(content, headers={"Accept-Ranges": "bytes"})
    first, last = found.groups()
    begin = int(first) if first else max(0, len(content) - int(last))
    end = min(int(last), len(content) - 1) if first and last else len(content) - 1
    if begin > end:
        raise Problem(416, f"the log has {len(content)} bytes", where="Range",
                      headers={"Content-Range": f"bytes */{len(content)}"})  # fmt: skip
    headers = {"Content-Range": f"bytes {begin}-{end}/{len(content)}"}
    return PlainTextResponse(content[begin : end + 1], status_code=206, headers=headers)
