"""Jobs: submit, quote, list, look at and kill them.

A route reads who asks and what, and passes it on: changes to the driver, questions to the follower.
Users see and change their own jobs, operators all. A change may name the version that it is based
on; with another one it is refused, so that two users cannot undo each other unseen.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import JSONResponse

from sluice.bootstrap.service.futures import instant
from sluice.service.answers import JobPage, Killed, OneJob, Promise, Quote, Submitted, listed
from sluice.service.attempt_answers import AttemptPage
from sluice.service.context import Context, Given
from sluice.service.principals import Submitter, Viewer
from sluice.service.problem import Problem, answered_as, documented
from sluice.service.quotes import VALID_S
from sluice.service.requests import (
    Cursor,
    Instant,
    JobFilter,
    JobPatch,
    JobRequest,
    Key,
    Limit,
    QuoteRequest,
    Version,
    changes_of,
    message_of,
    of_text,
    version_of,
)
from sluice.service.submission import (
    check_any_command,
    check_commands,
    ready_job,
    replay,
    submitted,
)
from sluice.store.service.access import Principal

router = APIRouter(prefix="/v1", tags=["jobs"])

JobId = Annotated[str, Path(max_length=300)]
Text = Annotated[str | None, Query(max_length=200)]


@router.get("/jobs", response_model=None, responses={200: {"model": JobPage}, **documented()})
async def list_jobs(who: Viewer, given: Given, only: Annotated[JobFilter, Query()]) -> JSONResponse:
    """Jobs, the newest first."""
    whole = only.of(who.sees_only)
    found = await given.backend.ask(
        "jobs",
        states=only.state,
        queue=only.queue,
        name=only.name,
        tenant=who.sees_only or only.tenant,
        user=only.user,
        label=only.label,
        since=None if only.since is None else only.since.isoformat(),
        until=None if only.until is None else only.until.isoformat(),
        broken=only.has_broken_promise,
        sort=only.sort,
        after=given.place(only.cursor, whole),
        limit=only.limit,
    )
    following = given.cursor(found["next"], whole) if found["next"] else None
    exact = found["total_is_exact"]
    page = listed(found["jobs"], found["total"], following, is_exact=exact)
    return JSONResponse({**page, "kept_from": found.get("kept_from")})


@router.post(
    "/jobs",
    status_code=201,
    response_model=None,
    responses={
        200: {"model": Promise, "description": "Not submitted: `require` is not met"},
        201: {"model": OneJob},
        **documented(403, 409),
    },
)
async def submit_job(
    who: Submitter, given: Given, body: JobRequest, key: Key = None
) -> JSONResponse:
    """Submit a job. Once this is answered no crash loses it, and its promise is never changed.

    `job` is one of a workload file, or `{"template": NAME, "arguments": {..}}`. With `quote_id`,
    and the number of an `offer` from 0, it is taken as it was quoted, if that still holds.
    """
    asked_job = await ready_job(who, given, body.job)
    asked: dict[str, Any] = {
        "tenant": who.tenant,
        "queue": body.queue,
        "weight": body.weight,
        "deadline_at": body.deadline_at,
    }
    if body.quote_id is not None:
        accepted = given.quotes.find(who, body.quote_id, asked_job)
        same = {"tenant": who.tenant, **accepted.accepted(None)}
        accepted.check((await _quoted(given, message_of("quote", [asked_job], **same)))[0])
        asked |= accepted.accepted(body.offer)
    if body.require is not None:
        quoted = await _quoted(given, message_of("quote", [asked_job], **asked))
        chance = quoted[0].get("deadline_probability")
        if chance is None or chance < body.require.deadline_probability:
            return JSONResponse({**quoted[0], "decision": "not_submitted"})
    message = message_of("submit", [asked_job], **asked, key=key)
    message |= {"labels": body.labels, "held_by": who.user if body.hold else ""}
    found = await submitted(who, given, message)
    job = await given.backend.ask("job", job_id=found["jobs"][0]["job_id"])
    return JSONResponse(job, status_code=201, headers=replay(found))


@router.post("/quotes", response_model=None, responses={200: {"model": Quote}, **documented(403)})
async def quote(who: Submitter, given: Given, body: QuoteRequest) -> JSONResponse:
    """Return what would be promised to these jobs now.

    Nothing is submitted, and nothing kept of it.

    `promise` is that of the job that ends last.
    """
    jobs = [await ready_job(who, given, job) for job in body.jobs]
    deadline_at = None if body.goal is None else body.goal.deadline_at
    promises = await _quoted(
        given,
        message_of("quote", jobs, tenant=who.tenant, queue=body.queue, deadline_at=deadline_at),
    )
    last = max(promises, key=lambda each: (each.get("ends_at") or {}).get("high") or "")
    most = None if body.goal is None else body.goal.cost_usd_max
    return JSONResponse(
        {
            "quote_id": given.quotes.keep(who, jobs, body.queue, deadline_at, last),
            "valid_until": instant(time.time() + VALID_S),
            "decision": last["decision"],
            "promise": last,
            "counter_offers": last.get("counter_offers", []),
            "is_within_cost": _is_within(promises, most),
        }
    )


@router.post(
    "/workloads",
    status_code=201,
    response_model=None,
    responses={201: {"model": Submitted}, **documented(403, 409)},
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": {"type": "object"}},
                "application/yaml": {"schema": {"type": "string"}},
            },
        }
    },
)
async def submit_workload(
    who: Submitter, given: Given, request: Request, key: Key = None
) -> JSONResponse:
    """Submit all jobs of a workload file in YAML or JSON, or none of them."""
    await check_commands(who, given)
    await check_any_command(who, given)
    try:
        content = (await request.body()).decode()
    except UnicodeDecodeError:
        raise Problem(400, "the body is not UTF-8", where="body") from None
    found = await submitted(who, given, of_text("submit", content, tenant=who.tenant, key=key))
    number = found["jobs"][0]["job_id"].rpartition("-")[2]
    answer = {"workload_id": f"workload-{number}", "jobs": found["jobs"]}
    return JSONResponse(answer, status_code=201, headers=replay(found))


@router.get(
    "/jobs/{job_id}", response_model=None, responses={200: {"model": OneJob}, **documented()}
)
async def one_job(who: Viewer, given: Given, job_id: JobId) -> JSONResponse:
    """A job with its promise, its forecast and its phases. Its `ETag` is for `If-Match`."""
    return _tagged(await of_job(given, who, "job", job_id))


@router.patch(
    "/jobs/{job_id}",
    response_model=None,
    responses={200: {"model": OneJob}, **documented(403, 409, 412)},
)
async def change_job(
    who: Submitter, given: Given, job_id: JobId, body: JobPatch, version: Version = None
) -> JSONResponse:
    """Change a job that has started nothing: move, weigh, hold or label it, or set a deadline.

    Its promise stays as it was made; what is expected now follows the change.
    """
    known = await of_job(given, who, "job", job_id)
    if body.queue is not None and body.queue != known["queue"]:
        await check_commands(who, given)
    message = {
        "do": "change",
        "job_id": job_id,
        "changes": changes_of(body),
        "by": who.user,
        "version": version_of(version),
    }
    with answered_as(409, "state"), answered_as(412, "If-Match"):
        await given.backend.ask_driver(message)
    return _tagged(await given.backend.ask("job", job_id=job_id))


@router.delete(
    "/jobs/{job_id}",
    status_code=202,
    response_model=None,
    responses={202: {"model": Killed}, **documented(403, 409)},
)
async def kill_job(
    who: Submitter, given: Given, job_id: JobId, reason: Text = None
) -> JSONResponse:
    """End a job. A second time changes nothing."""
    known = await of_job(given, who, "job", job_id)
    if known["state"] in {"done", "failed", "refused"}:
        raise Problem(409, f"the job has ended: {known['state']}", where=job_id,
                      hint="only an open job can be killed")  # fmt: skip
    why = reason or f"killed by {who.user}"
    found = await given.backend.ask_driver({"do": "kill", "job_id": job_id, "reason": why})
    return JSONResponse(found, status_code=202)


@router.get("/jobs/{job_id}/why", response_model=None, responses={200: {}, **documented()})
async def why_job(
    who: Viewer,
    given: Given,
    job_id: JobId,
    at: Annotated[Instant | None, Query()] = None,
    would_help: Annotated[bool, Query()] = True,  # noqa: FBT002  # as clients name it
) -> JSONResponse:
    """Why a job waits, as `sluice why --json` says it, and what is `ahead` of it.

    `at`: why it waited at an instant of the past; the journal is read again up to it.
    `would_help`: changes that start it earlier, each simulated, the smallest first; null where that
    would take too long. `never`: whether it starts in no possible future. `would_help=false`:
    answers at once, without these two.
    """
    if at is not None:
        await of_job(given, who, "job", job_id)
        question = {"job_id": job_id, "at": at.isoformat(), "tenant": who.sees_only}
        return JSONResponse(await given.backend.ask("why_at", **question))
    found = await of_job(given, who, "why", job_id)
    helps = await given.backend.ask("helps", job_id=job_id) if would_help else {}
    return JSONResponse({**found, **helps})


@router.get("/jobs/{job_id}/story", response_model=None, responses={200: {}, **documented()})
async def story_of_job(who: Viewer, given: Given, job_id: JobId) -> JSONResponse:
    """Return what happened to a job, in order of time."""
    return JSONResponse(await of_job(given, who, "story", job_id))


@router.get(
    "/jobs/{job_id}/promise",
    response_model=None,
    responses={200: {"model": Promise}, **documented()},
)
async def promise_of_job(who: Viewer, given: Given, job_id: JobId) -> JSONResponse:
    """Return what was promised to a job, and its outcome."""
    found = await of_job(given, who, "job", job_id)
    return JSONResponse(found["promise"])


@router.get(
    "/jobs/{job_id}/attempts",
    response_model=None,
    responses={200: {"model": AttemptPage}, **documented()},
)
async def attempts_of_job(
    who: Viewer,
    given: Given,
    job_id: JobId,
    sort: Literal["started", "longest"] = "started",
    limit: Limit = 100,
    cursor: Cursor = None,
) -> JSONResponse:
    """The attempts of a job by their start, or the longest first; those that run come too."""
    whole = f"attempts {job_id} {sort}"
    offset = int(given.place(cursor, whole) or 0)
    found = await of_job(given, who, "attempts", job_id, sort=sort, offset=offset, limit=limit)
    end = offset + len(found["attempts"])
    following = given.cursor(str(end), whole) if end < found["total"] else None
    page = listed(found["attempts"], found["total"], following)
    return JSONResponse({**page, "lengths": found["lengths"]})


def _is_within(promises: Sequence[Mapping[str, Any]], most_usd: float | None) -> bool | None:
    """Whether the jobs are expected to cost no more together; None if that is not known."""
    costs: list[Any] = [(one.get("cost_usd") or {}).get("expected") for one in promises]
    if most_usd is None or None in costs:
        return None
    return bool(sum(costs) <= most_usd)


def _tagged(job: dict[str, Any]) -> JSONResponse:
    return JSONResponse(job, headers={"ETag": f'"{job["version"]}"'})


# --- parts --------------------------------------------------------------------------------------


async def of_job(
    given: Context, who: Principal, question: str, job_id: str, **more: object
) -> dict[str, Any]:
    """The answer about a job that is visible. Raises Problem 404 for another."""
    with answered_as(404, "JOB", "job_id"):
        return await given.backend.ask(question, job_id=job_id, tenant=who.sees_only, **more)


async def _quoted(given: Context, message: Mapping[str, Any]) -> list[dict[str, Any]]:
    promises: list[dict[str, Any]] = (await given.backend.ask_in_turn(message))["jobs"]
    return promises
