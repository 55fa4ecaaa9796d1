"""The shapes of what clients send. Unknown fields are refused.

A shape is a pydantic model of one body or one query. From it follow the check of what comes, the
page of the interface, and the message to the driver or the follower, which the functions below the
shapes make. What a shape cannot say, such as a path that the service cannot find, is checked there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import Header, Query
from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    model_validator,
)

from sluice.service.answers import State
from sluice.service.problem import Problem

DEADLINE_S_MAX = 1e9


def _written(given: object) -> object:
    """Numbers are no instants, though they could be read as seconds since 1970."""
    if isinstance(given, str) and not _INSTANT.match(given):
        raise ValueError("it is not an instant such as 2026-12-01T17:00:00Z")
    return given


_INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]")
Instant = Annotated[AwareDatetime, BeforeValidator(_written)]
Limit = Annotated[int, Query(ge=1, le=1000)]
Cursor = Annotated[str | None, Query(max_length=200)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Weight = Annotated[float, Field(gt=0, le=1e6, strict=True)]
Label = Annotated[str, Field(min_length=1, max_length=63, pattern="^[^=]+$")]
Labels = Annotated[dict[Label, Annotated[str, Field(max_length=200)]], Field(max_length=20)]
Version = Annotated[
    str | None,
    Header(alias="If-Match", max_length=60, description="the `ETag` of the job as it was seen"),
]
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
    """The condition that the promise must meet; else nothing is submitted."""

    deadline_probability: Annotated[float, Field(ge=0, le=1, strict=True)]


class _Listed(_Strict):
    """A part of a list."""

    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    cursor: Annotated[str | None, Field(max_length=200)] = None

    def of(self, tenant: str | None) -> str:
        """Return which list it is a part of. tenant: the only one that is seen."""
        filters = self.model_dump_json(exclude={"limit", "cursor"})
        return f"{type(self).__name__} {tenant} {filters}"


class JobFilter(_Listed):
    """Which jobs to list. tenant: only for operators; others see their own."""

    state: Annotated[list[State], Field(max_length=7)] = []
    queue: Name | None = None
    name: Name | None = None
    tenant: Name | None = None
    user: Name | None = None
    label: (
        Annotated[str, Field(min_length=1, max_length=200, description="key or key=value")] | None
    ) = None
    since: Instant | None = None
    until: Instant | None = None
    sort: Literal["submitted", "eta", "ended"] = "submitted"
    has_broken_promise: bool = False


class PromiseFilter(_Listed):
    """Which promises to list. kept: only those that were, or were not.  profile: of its jobs."""

    kept: bool | None = None
    profile: Annotated[str | None, Field(max_length=200)] = None


class Tile(_Strict):
    """A picture of a span: which rows, by name, and how many columns."""

    start: Annotated[Instant, Field(alias="from")]
    to: Instant
    by: Literal["node", "queue", "job"] = "node"
    first: Annotated[int, Field(ge=0, le=10**6)] = 0
    rows: Annotated[int, Field(ge=1, le=100)] = 100
    columns: Annotated[int, Field(ge=1, le=2000)] = 1000


class JobRequest(_Strict):
    """A job of a workload file, its paths absolute or URLs."""

    job: dict[str, Any]
    queue: Name | None = None
    deadline_at: Instant | None = None
    weight: Weight | None = None
    hold: StrictBool = False
    labels: Labels = {}
    require: Requirement | None = None
    quote_id: Name | None = None
    offer: Annotated[int, Field(ge=0, le=10, strict=True)] | None = None

    @model_validator(mode="after")
    def _check_offer(self) -> JobRequest:
        if self.offer is not None and self.quote_id is None:
            raise ValueError("an offer is one of a quote: give quote_id")
        return self


class JobPatch(_Strict):
    """New values of a job that has started nothing; what is left out stays.

    deadline_at: null takes the deadline away.  labels: all of them.
    """

    queue: Name | None = None
    weight: Weight | None = None
    deadline_at: Instant | None = None
    hold: StrictBool | None = None
    labels: Labels | None = None


class NodePatch(_Strict):
    """Whether a node gets no more work; what runs on it goes on. reason: for `why`."""

    cordoned: StrictBool
    reason: Annotated[str, Field(max_length=200)] | None = None


class Goal(_Strict):
    """The goal of the jobs of a quote. cost_usd_max: of all of them."""

    deadline_at: Instant | None = None
    cost_usd_max: Annotated[float, Field(ge=0, le=1e12, strict=True)] | None = None


class QuoteRequest(_Strict):
    """Jobs of a workload file. queue: of all of them, instead of their own."""

    jobs: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=100)]
    queue: Name | None = None
    goal: Goal | None = None


class PlanRequest(_Strict):
    """The work to plan: a workload file (an object, or its text), or jobs or profiles of past jobs
    for the machines and prices of the service.

    budget_usd, deadline_s: of all jobs.  tune: what else to choose.
    """

    workload: dict[str, Any] | Annotated[str, Field(max_length=1 << 20)] | None = None
    jobs: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=10_000)] | None = None
    profiles: Annotated[list[Name], Field(min_length=1, max_length=1000)] | None = None
    budget_usd: Annotated[float, Field(gt=0, le=1e12, strict=True)] | None = None
    deadline_s: Annotated[float, Field(gt=0, le=DEADLINE_S_MAX, strict=True)] | None = None
    tune: Annotated[list[Literal["tasks", "buffers"]], Field(max_length=2)] = []
    meet_deadlines: StrictBool = False

    @model_validator(mode="after")
    def _check_one(self) -> PlanRequest:
        if sum(each is not None for each in (self.workload, self.jobs, self.profiles)) != 1:
            raise ValueError("give one of workload, jobs and profiles")
        return self


class ConfigRequest(_Strict):
    """The file of a scheduler, XML or YAML. about: what it is for."""

    name: Name
    text: Annotated[str, Field(min_length=1, max_length=1 << 20)]
    about: Annotated[str, Field(max_length=500)] = ""


class ReplayRequest(_Strict):
    """A span of history, and what to compare with: a configuration, or else the present queues.

    map: the queue of jobs by the name of their own, or by a pattern of it: `{"ad-*": "root.ad"}`.
    """

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    start: Annotated[Instant, Field(alias="from")]
    to: Instant
    against: Name | None = None
    map: Annotated[dict[Name, Name], Field(max_length=100)] = {}


class ChoiceRequest(_Strict):
    """The number of a plan."""

    plan: Annotated[int, Field(ge=1, le=10**6, strict=True)]


class PresentChange(_Strict):
    """A change that is assumed for the jobs that are open.

    nodes_more: below 0 for fewer.  weights: of queues, by name.  deadline_at: of all open jobs.
    """

    nodes_more: Annotated[int, Field(ge=-1000, le=1000, strict=True)] = 0
    weights: Annotated[dict[Name, Weight], Field(max_length=100)] = {}
    deadline_at: Instant | None = None


class SizeRequest(_Strict):
    """A workload file with jobs, as an object; or a change to compare the present with.

    deadline_s: of all jobs of the workload.
    """

    workload: dict[str, Any] | None = None
    deadline_s: Annotated[float, Field(gt=0, le=DEADLINE_S_MAX, strict=True)] | None = None
    change: PresentChange | None = None

    @model_validator(mode="after")
    def _check_one(self) -> SizeRequest:
        if (self.workload is None) == (self.change is None):
            raise ValueError("give one of workload and change")
        if self.change is not None and self.deadline_s is not None:
            raise ValueError("deadline_s is of a workload: give change.deadline_at")
        return self


class TokenRequest(_Strict):
    """A new token."""

    name: Name
    tenant: Name
    role: Literal["viewer", "submitter", "operator", "admin"]


class SessionRequest(_Strict):
    """A token, the code of a login link, or a link to a job."""

    token: Annotated[str, Field(min_length=1, max_length=1000)]


class LinkRequest(_Strict):
    """A link to a job. valid_s: how long it can be used, at most 90 days."""

    valid_s: Annotated[int, Field(ge=60, le=90 * 86400, strict=True)] = 7 * 86400


def message_of(
    what: str,
    jobs: list[dict[str, Any]],
    *,
    tenant: str,
    queue: str | None = None,
    weight: float | None = None,
    deadline_at: datetime | None = None,
    key: str | None = None,
) -> dict[str, Any]:
    """Return what the driver is asked: to "submit" or "quote" these jobs. Raises Problem."""
    given = {"pool": queue, "weight": weight}
    over = {name: value for name, value in given.items() if value is not None}
    ready = [{**_ready(job, number), **over} for number, job in enumerate(jobs)]
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
    """Return what the driver is asked about the text of a workload file. Raises Problem."""
    return {
        "do": what,
        "content": content,
        "source": "request",
        "folder": "/",
        "tenant": tenant,
        "key": key,
        "deadline": None if deadline_at is None else deadline_at.isoformat(),
        "deadline_s": None if deadline_at is None else seconds_to(deadline_at),
    }


def seconds_to(deadline_at: datetime) -> float:
    """How long it is until a deadline. Raises Problem for one that is over."""
    deadline_s = (deadline_at - datetime.now(UTC)).total_seconds()
    if not 0 < deadline_s < DEADLINE_S_MAX:
        raise Problem(422, "the deadline is not within the next 31 years", where="deadline_at",
                      hint="give an instant to come")  # fmt: skip
    return deadline_s


def changes_of(body: JobPatch) -> dict[str, Any]:
    """Return what changes, as the driver takes it. Raises Problem for a patch without any."""
    given = {name: getattr(body, name) for name in body.model_fields_set}
    if "deadline_at" in given:
        deadline_at = given.pop("deadline_at")
        given["deadline_s"] = None if deadline_at is None else seconds_to(deadline_at)
    wrong = [name for name, value in given.items() if value is None and name != "deadline_s"]
    if wrong or not given:
        raise Problem(422, f"{wrong[0]} is null" if wrong else "nothing is to change",
                      where=wrong[0] if wrong else "body",
                      hint="give queue, weight, deadline_at, hold or labels")  # fmt: skip
    return given


def version_of(tag: str | None) -> int | None:
    """The version in an `If-Match`; None for any. Raises Problem 412 for one that was never one."""
    if tag is None or tag == "*":
        return None
    number = tag.strip('"')
    if not number.isdecimal():
        raise Problem(412, "the version is not one of this job", where="If-Match",
                      hint="give the ETag of GET /v1/jobs/{job_id}")  # fmt: skip
    return int(number)


def _ready(job: dict[str, Any], number: int) -> dict[str, Any]:
    check_paths(job, f"jobs.{number}")
    return {"id": f"job-{number + 1}", **job}


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
