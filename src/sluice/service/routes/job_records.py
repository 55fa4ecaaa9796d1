"""The records of a job: what its commands said, where its time went, and itself as a file."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Header
from fastapi import Path as InPath
from fastapi.responses import JSONResponse, Response
from starlette.responses import PlainTextResponse

from sluice.service.context import Given
from sluice.service.principals import Viewer
from sluice.service.problem import Problem, answered_as, documented
from sluice.service.routes.jobs import JobId, of_job

router = APIRouter(prefix="/v1", tags=["jobs"])

LOG_BYTES_MAX = 1 << 20  # of a log at once
_RANGE = re.compile(r"bytes=([0-9]{0,12})-([0-9]{0,12})")
AttemptKey = Annotated[str, InPath(max_length=300)]


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
    """Return the standard error of an attempt's command: the last MiB, or a MiB of a `Range`.

    Positions are those of the whole log, so that a client may follow it as it grows.
    """
    with answered_as(404, "key"):
        found = await of_job(given, who, "log", job_id, key=key)
    if "removed" in found:
        raise Problem(410, found["removed"], where="key",
                      hint="the service's file sets logs_days and logs_bytes")  # fmt: skip
    if found["path"] is None:
        raise Problem(410, "the log is not on this machine, or was removed", where="key",
                      hint="look on the node where it ran")  # fmt: skip
    return await asyncio.to_thread(_answer, Path(found["path"]), span)


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


def _answer(path: Path, span: str | None) -> Response:
    """The end of a log, or the part that a `Range` of one span asks for. Raises Problem 416."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            part = _part_of(size, span)
            begin, end = part or (max(0, size - LOG_BYTES_MAX), size)
            file.seek(begin)
            content = file.read(end - begin)
    except OSError:
        return PlainTextResponse(b"")  # removed since: nothing was written into it
    if part is None:
        return PlainTextResponse(content, headers={"Accept-Ranges": "bytes"})
    headers = {"Content-Range": f"bytes {begin}-{end - 1}/{size}"}
    return PlainTextResponse(content, status_code=206, headers=headers)


def _part_of(size: int, span: str | None) -> tuple[int, int] | None:
    """Where the part begins and ends that a `Range` of one span asks for. Raises Problem 416.

    None: the range is not one that counts, and an empty log has no parts.
    """
    found = None if span is None else _RANGE.fullmatch(span)
    if found is None or not any(found.groups()) or not size:
        return None
    first, last = found.groups()
    begin = int(first) if first else size - min(size, LOG_BYTES_MAX, int(last))
    end = min(int(last) + 1, size) if first and last else size
    if begin >= end:
        raise Problem(416, f"the log has {size} bytes", where="Range",
                      headers={"Content-Range": f"bytes */{size}"})  # fmt: skip
    return begin, min(end, begin + LOG_BYTES_MAX)
