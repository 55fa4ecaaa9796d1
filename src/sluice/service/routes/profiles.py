"""The measurements of past runs."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import JSONResponse

from sluice.api.profiles import profiles as stored_profiles
from sluice.service.answers import SlowAnswer, listed
from sluice.service.context import Given
from sluice.service.principals import Operator, Submitter
from sluice.service.problem import Problem, answered_as, documented
from sluice.service.requests import Limit

router = APIRouter(prefix="/v1", tags=["profiles"])


# Profiles bear the names of jobs, and do not know a tenant: only who sees all jobs may see them.
@router.get("/profiles", response_model=None, responses={200: {}, **documented()})
async def profiles(
    _who: Operator, newest: Annotated[int | None, Query(ge=1, le=1000)] = None
) -> JSONResponse:
    """All profiles, as `sluice profiles --json` lists them.

    newest: the most runs of each; by default as many as make 1,000 together.
    """
    found = await asyncio.to_thread(stored_profiles, newest=newest)
    return JSONResponse(found.document())


@router.get("/profiles/{name}", response_model=None, responses={200: {}, **documented()})
async def one_profile(_who: Operator, name: Annotated[str, Path(max_length=200)]) -> JSONResponse:
    """One profile with its runs."""
    with answered_as(404, "NAME"):
        found = await asyncio.to_thread(stored_profiles, name)
    return JSONResponse(found.document())


@router.get("/profiles/{name}/runs", response_model=None, responses={200: {}, **documented()})
async def runs_of_profile(
    _who: Operator, name: Annotated[str, Path(max_length=200)], limit: Limit = 100
) -> JSONResponse:
    """The newest runs of a profile, the newest last, and how many there are."""
    with answered_as(404, "NAME"):
        found = await asyncio.to_thread(stored_profiles, name, newest=limit)
    profiles: Any = found.document()["profiles"]
    rows = [run for one in profiles.values() for run in one["runs"]]
    return JSONResponse(listed(rows, sum(found.run_counts.values())))


@router.post(
    "/profiles/{name}/calibration", status_code=202, response_model=None,
    responses={202: {"model": SlowAnswer}, **documented(403)},
)  # fmt: skip
async def calibrate_profile(
    who: Operator, given: Given, name: Annotated[str, Path(max_length=200)]
) -> JSONResponse:
    """Each run of a profile, predicted from the others, next to what it took.

    As `sluice calibrate NAME --json`; the answer is at `Location`, once it is made.
    """
    with answered_as(404, "NAME"):
        await asyncio.to_thread(stored_profiles, name, newest=1)
    made = given.calculations.start(who, ["calibrate", "--", name], {}, sees_profiles=True)
    where = f"/v1/answers/{made.answer_id}"
    return JSONResponse(made.document(), status_code=202, headers={"Location": where})


@router.post(
    "/imports",
    status_code=202,
    response_model=None,
    responses={202: {"model": SlowAnswer}, **documented(403)},
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/octet-stream": {"schema": {"type": "string", "format": "binary"}}
            },
        }
    },
)
async def import_log(
    who: Submitter,
    given: Given,
    request: Request,
    name: Annotated[str, Query(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$")] = "log",
    log_format: Annotated[str | None, Query(alias="format", max_length=40)] = None,
) -> JSONResponse:
    """Keep the runs of a log, of up to 64 MiB, in the profile store, as `sluice import` does.

    It is read by a child process with limits; the answer is at `Location`, once it is made.
    """
    content = await request.body()
    if not content:
        raise Problem(400, "the body is empty", where="body", hint="send the log")
    words = ["import", name, *(["--format", log_format] if log_format else [])]
    made = given.calculations.start(who, words, {}, sees_profiles=True, files={name: content})
    where = f"/v1/answers/{made.answer_id}"
    return JSONResponse(made.document(), status_code=202, headers={"Location": where})
