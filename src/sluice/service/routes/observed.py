"""Jobs of others, on a cluster that the service observes."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from sluice.service.answers import Interval, listed
from sluice.service.context import Given
from sluice.service.principals import Operator
from sluice.service.problem import Problem, documented
from sluice.service.requests import Limit

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


@router.get(
    "/observed", response_model=None, responses={200: {"model": ObservedJobs}, **documented(403)}
)
async def observed(
    who: Operator,  # noqa: ARG001  # only operators
    given: Given,
    limit: Limit = 100,
) -> JSONResponse:
    """Applications that others submitted to the YARN cluster of `service: {observe: ..}`."""
    found = (await given.backend.ask("jobs", limit=limit)).get("observed")
    if found is None:
        what = "this service observes no cluster, or has not done so yet"
        raise Problem(404, what, where="observed", hint="set `service: {observe: ..}` in its file")
    answer = listed(found["jobs"], found["total"])
    return JSONResponse({**answer, "as_of": found["as_of"], "problem": found["problem"]})
