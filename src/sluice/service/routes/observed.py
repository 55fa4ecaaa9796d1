"""Jobs of others, on a cluster that the service observes."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from sluice.service.answers import Interval, listed
from sluice.service.context import Given
from sluice.service.principals import Operator
from sluice.service.problem import Problem, documented
from sluice.service.requests import Limit, Name

router = APIRouter(prefix="/v1", tags=["cluster"])


class ObservedJob(BaseModel):
    """An application of YARN. Its instants are forecasts, and promise nothing.

    slots: containers that it holds, or is expected to hold.  past_runs: behind the forecast.
    reason: why it waits.
    """

    job_id: str
    name: str
    user: str
    queue: str
    state: Literal["waiting", "running"]
    decision: Literal["observed"]
    slots: int
    submitted_at: str
    starts_at: Interval
    ends_at: Interval
    level: float
    past_runs: int
    reason: str | None


class ObservedJobs(BaseModel):
    """The first of them: those that run, then the first in line. total: of all.

    as_of: when they were listed; null where none ran or waited.  problem: why they are not newer.
    """

    items: list[ObservedJob]
    next: None
    total: int
    total_is_exact: bool
    as_of: str | None
    problem: str | None


class SteeringDecision(BaseModel):
    """One change that a policy wants. Values are as YARN has them; "" for none.

    outcome: listed if nothing is applied; late: not read back as wanted in time; problem: without
    a target.  after: as it was read back.  reason: of the policy.  why: it came to nothing.
    """

    at: str
    policy: str
    outcome: Literal["listed", "done", "late", "refused", "problem"]
    target: str
    setting: str
    before: str
    wanted: str
    after: str | None
    reason: str
    why: str


class Steering(BaseModel):
    """How the cluster is changed. items: the newest decisions, the newest first.

    may_change: applications, queues, kill_attempts.  apply: whether changes are made.
    as_of: of the last round.  problems: by policy, why it changed nothing then.
    """

    items: list[SteeringDecision]
    next: None
    total: int
    total_is_exact: bool
    address: str
    policies: list[str]
    may_change: list[str]
    apply: bool
    as_of: str | None
    problems: dict[str, str]


@router.get(
    "/steering", response_model=None, responses={200: {"model": Steering}, **documented(403)}
)
async def steering(who: Operator, given: Given) -> JSONResponse:  # noqa: ARG001  # only operators
    """Changes of the YARN cluster of `service: {steer: ..}`, with their reasons."""
    found = await given.backend.ask_steering()
    if found is None:
        what = "this service steers no cluster, or starts to do so again"
        raise Problem(404, what, where="steering", hint="set `service: {steer: ..}` in its file")
    names = ("address", "policies", "may_change", "apply")
    own = {name: found["options"][name] for name in names}
    answer = listed(found["decisions"], len(found["decisions"]))
    return JSONResponse({**answer, **own, "as_of": found["as_of"], "problems": found["problems"]})


@router.get(
    "/observed", response_model=None, responses={200: {"model": ObservedJobs}, **documented(403)}
)
async def observed(
    who: Operator,  # noqa: ARG001  # only operators
    given: Given,
    state: Annotated[list[Literal["waiting", "running"]], Query(max_length=2)] = [],  # noqa: B006  # never changed
    queue: Annotated[Name | None, Query()] = None,
    name: Annotated[Name | None, Query()] = None,
    limit: Limit = 100,
) -> JSONResponse:
    """Applications that others submitted to the YARN cluster of `service: {observe: ..}`."""
    only = {"states": state, "queue": queue, "name": name, "limit": limit}
    found = (await given.backend.ask("jobs", **only)).get("observed")
    if found is None:
        what = "this service observes no cluster, or has not done so yet"
        raise Problem(404, what, where="observed", hint="set `service: {observe: ..}` in its file")
    answer = listed(found["jobs"], found["total"])
    return JSONResponse({**answer, "as_of": found["as_of"], "problem": found["problem"]})


@router.get(
    "/observed/{job_id}",
    response_model=None,
    responses={200: {"model": ObservedJob}, **documented(403)},
)
async def observed_job(
    who: Operator,  # noqa: ARG001  # only operators
    given: Given,
    job_id: Annotated[str, Path(max_length=200)],
) -> JSONResponse:
    """One of them, while it runs or waits. `GET /v1/jobs/ID/story` says what was decided."""
    found = (await given.backend.ask("observed", job_id=job_id))["job"]
    if found is None:
        raise Problem(404, f"no application {job_id!r:.60} runs or waits there", where="job_id",
                      hint="GET /v1/observed lists them")  # fmt: skip
    return JSONResponse(found)
