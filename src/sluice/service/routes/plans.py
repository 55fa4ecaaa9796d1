"""Answers that take a while: plans of time against cost, and the size of a cluster."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from fastapi.responses import JSONResponse, Response

from sluice.service.answers import SlowAnswer
from sluice.service.calculations import Calculation
from sluice.service.context import Given
from sluice.service.principals import Submitter, Viewer
from sluice.service.problem import documented
from sluice.service.requests import PlanRequest, SizeRequest

router = APIRouter(prefix="/v1", tags=["plans"])
AnswerId = Annotated[str, Path(max_length=60)]
_ANSWERS: dict[int | str, dict[str, Any]] = {202: {"model": SlowAnswer}, **documented()}


@router.post("/plans", status_code=202, response_model=None, responses=_ANSWERS)
async def plan(who: Submitter, given: Given, body: PlanRequest) -> JSONResponse:
    """Plans for the jobs of a workload, each with its time and its cost, as `sluice plan --json`.

    The answer is at `Location`, once it is made.
    """
    words = ["plan", *(["--meet-deadlines"] if body.meet_deadlines else [])]
    return _begun(given.calculations.start(who, words, body.workload))


@router.post("/capacity", status_code=202, response_model=None, responses=_ANSWERS)
async def capacity(who: Viewer, given: Given, body: SizeRequest) -> JSONResponse:
    """How many machines the jobs of a workload need, as `sluice size --json`."""
    words = ["size"]
    if body.deadline_s is not None:
        words += ["--deadline-s", repr(body.deadline_s)]
    return _begun(given.calculations.start(who, words, body.workload))


@router.get("/answers/{answer_id}", response_model=None,
            responses={200: {"model": SlowAnswer}, **documented()})  # fmt: skip
async def answer(who: Viewer, given: Given, answer_id: AnswerId) -> JSONResponse:
    """An answer: `state` is running, done, failed or cancelled."""
    return JSONResponse(given.calculations.find(who, answer_id).document())


@router.delete("/answers/{answer_id}", status_code=204, response_model=None, responses=documented())
async def cancel(who: Viewer, given: Given, answer_id: AnswerId) -> Response:
    """Stop making an answer; one that is made stays."""
    given.calculations.cancel(given.calculations.find(who, answer_id))
    return Response(status_code=204)


def _begun(made: Calculation) -> JSONResponse:
    where = f"/v1/answers/{made.answer_id}"
    return JSONResponse(made.document(), status_code=202, headers={"Location": where})
