"""The shapes of what clients send. Unknown fields are refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import Header, Query
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StrictBool

from sluice.service.answers import State
from sluice.service.problem import Problem

DEADLINE_S_MAX = 1e9
Limit = Annotated[int, Query(ge=1, le=1000)]
Cursor = Annotated[str | None, Query(max_length=200)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern="^[!-~]+$",
        description="the same key and content give the first answer again, for 7 days",
    ),
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Requirement(_Strict):
    """What the promise must hold; else nothing is submitted."""

    deadline_probability: Annotated[float, Field(ge=0, le=1, strict=True)]


class JobFilter(_Strict):
    """Which jobs to list. tenant: only for operators; others see their own."""

    state: Annotated[list[State], Field(max_length=6)] = []
    queue: Name | None = None
    name: Name | None = None
    tenant: Name | None = None
    has_broken_promise: bool = False
    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    cursor: Annotated[str | None, Field(max_length=200)] = None


class JobRequest(_Strict):
    """A job of a workload file, its paths absolute or URLs."""

    job: dict[str, Any]
    queue: Name | None = None
    deadline_at: AwareDatetime | None = None
    require: Requirement | None = None


class Goal(_Strict):
    """What the jobs of a quote are for."""

    deadline_at: AwareDatetime | None = None


class QuoteRequest(_Strict):
    """Jobs of a workload file."""

    jobs: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=100)]
    goal: Goal | None = None


class PlanRequest(_Strict):
    """A workload file with prices and jobs, as an object."""

    workload: dict[str, Any]
    meet_deadlines: StrictBool = False


class SizeRequest(_Strict):
    """A workload file with jobs, as an object. deadline_s: of all of them."""

    workload: dict[str, Any]
    deadline_s: Annotated[float, Field(gt=0, le=DEADLINE_S_MAX, strict=True)] | None = None


class TokenRequest(_Strict):
    """A new token."""

    name: Name
    tenant: Name
    role: Literal["viewer", "submitter", "operator", "admin"]


class SessionRequest(_Strict):
    """A token, or the code of a login link."""

    token: Annotated[str, Field(min_length=1, max_length=200)]


def message_of(
    what: str,
    jobs: list[dict[str, Any]],
    *,
    tenant: str,
    queue: str | None = None,
    deadline_at: datetime | None = None,
    key: str | None = None,
) -> dict[str, Any]:
    """What the driver is asked: to "submit" or "quote" these jobs. Raises Problem."""
    ready = [_ready(job, number, queue) for number, job in enumerate(jobs)]
    return of_text(
        what,
        json.dumps({"version": 1, "jobs": ready}),
        tenant=tenant,
        deadline_at=deadline_at,
        key=key,
    )


def of_text(
    what: str,
    content: str,
    *,
    tenant: str,
    deadline_at: datetime | None = None,
    key: str | None = None,
) -> dict[str, Any]:
    """What the driver is asked about the text of a workload file. Raises Problem."""
    deadline_s = None
    if deadline_at is not None:
        deadline_s = (deadline_at - datetime.now(UTC)).total_seconds()
        if not 0 < deadline_s < DEADLINE_S_MAX:
            raise Problem(422, "the deadline is not in the future", where="deadline_at",
                          hint="give an instant to come")  # fmt: skip
    return {
        "do": what,
        "content": content,
        "source": "request",
        "folder": "/",
        "tenant": tenant,
        "key": key,
        "deadline": None if deadline_at is None else deadline_at.isoformat(),
        "deadline_s": deadline_s,
    }


def _ready(job: dict[str, Any], number: int, queue: str | None) -> dict[str, Any]:
    check_paths(job, f"jobs.{number}")
    named = {"id": f"job-{number + 1}", **job}
    return named if queue is None else {**named, "pool": queue}


def check_paths(job: Mapping[str, Any], where: str) -> None:
    """Raise Problem for a path that a service, which has no folder of the user, cannot find."""
    run = job.get("run")
    if not isinstance(run, dict):
        return
    given = run.get("input")
    inputs = given if isinstance(given, list) else [given]
    for field, path in [*(("input", one) for one in inputs), ("output", run.get("output"))]:
        if isinstance(path, str) and not path.startswith("/") and "://" not in path:
            raise Problem(422, f"{path[:60]!r} is relative to a folder that the service does not"
                          " know", where=f"{where}.run.{field}",
                          hint="give an absolute path or a URL")  # fmt: skip
