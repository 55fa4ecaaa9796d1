"""Answers that take a while: plans of time against cost, and the size of a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Path
from fastapi.responses import JSONResponse, Response

from sluice.service.answers import Choice, SlowAnswer
from sluice.service.calculations import Calculation
from sluice.service.context import Context, Given
from sluice.service.planning import chosen_jobs, planned_workload, rented
from sluice.service.principals import Submitter, Viewer
from sluice.service.problem import Problem, documented
from sluice.service.requests import ChoiceRequest, Key, PlanRequest, SizeRequest, message_of
from sluice.service.submission import ready_job, replay, submitted
from sluice.store.service.access import Principal

router = APIRouter(prefix="/v1", tags=["plans"])
AnswerId = Annotated[str, Path(max_length=60)]
_ANSWERS: dict[int | str, dict[str, Any]] = {202: {"model": SlowAnswer}, **documented()}


@router.post("/plans", status_code=202, response_model=None, responses=_ANSWERS)
async def plan(who: Submitter, given: Given, body: PlanRequest) -> JSONResponse:
    """Plans for the jobs of a workload, each with its time and its cost, as `sluice plan --json`.

    The answer is at `Location`, once it is made.
    """
    words = ["plan", "-", *(["--meet-deadlines"] if body.meet_deadlines else [])]
    if body.tune:
        words += ["--tune", ",".join(body.tune)]
    workload = await asyncio.to_thread(planned_workload, body, given.backend.place)
    is_own = await _are_own(who, given, body.profiles or ())
    return _begun(given.calculations.start(who, words, workload, sees_profiles=is_own))


@router.post(
    "/plans/{answer_id}/choice",
    status_code=201,
    response_model=None,
    responses={201: {"model": Choice}, **documented(403, 409)},
)
async def choose(
    who: Submitter, given: Given, answer_id: AnswerId, body: ChoiceRequest, key: Key = None
) -> JSONResponse:
    """Put a plan to work: its jobs are submitted, each with its slots of the plan as its weight.

    Where the machines of the plan are more than are up, `to_rent` says how many.
    """
    found = given.calculations.find(who, answer_id)
    if found.state != "done" or found.words[0] != "plan" or not found.result["plans"]:
        raise Problem(409, "there is no plan to choose", where="answer_id",
                      hint="ask for plans, and wait until they are made")  # fmt: skip
    planned = chosen_jobs(found.workload, found.result, body.plan)
    jobs = [await ready_job(who, given, job) for job in planned]
    answer = await submitted(who, given, message_of("submit", jobs, tenant=who.tenant, key=key))
    up = (await given.backend.ask("queues", tenant=who.sees_only))["nodes_up"]
    made = {
        "plan": body.plan,
        "jobs": answer["jobs"],
        "to_rent": max(0, rented(found.result, body.plan) - up),
        "config_id": None,
    }
    return JSONResponse(made, status_code=201, headers=replay(answer))


@router.post("/capacity", status_code=202, response_model=None, responses=_ANSWERS)
async def capacity(who: Viewer, given: Given, body: SizeRequest) -> JSONResponse:
    """How many machines the jobs of a workload need, as `sluice size --json`.

    With `change`: the open jobs with other nodes, weights or a deadline, next to the present.
    """
    if body.change is not None:
        change = body.change.model_dump(mode="json")
        asked = partial(given.backend.ask, "present_whatif", tenant=who.sees_only, **change)
        return _begun(given.calculations.start_asking(who, "present_whatif", asked))
    words = ["size", "-"]
    if body.deadline_s is not None:
        words += ["--deadline-s", repr(body.deadline_s)]
    return _begun(given.calculations.start(who, words, body.workload or {}))


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


async def _are_own(who: Principal, given: Context, profiles: Sequence[str]) -> bool:
    """Whether these are the profiles of the tenant's own jobs. Raises Problem for another's."""
    if not profiles or who.sees_only is None:
        return bool(profiles)
    known = (await given.backend.ask("own_profiles", tenant=who.tenant))["profiles"]
    strange = sorted(set(profiles).difference(known))
    if strange:
        raise Problem(422, f"no job of the tenant has the profile {strange[0]:.60}",
                      where="profiles", hint=f"use {', '.join(known) or 'none yet'}")  # fmt: skip
    return True


def _begun(made: Calculation) -> JSONResponse:
    where = f"/v1/answers/{made.answer_id}"
    return JSONResponse(made.document(), status_code=202, headers={"Location": where})
