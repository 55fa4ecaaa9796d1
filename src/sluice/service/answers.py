"""The shapes of the answers, as the OpenAPI document shows them.

Field names are those of the follower's rows. Instants are RFC 3339 in UTC; lengths are in seconds.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field


def listed(
    items: list[Any], total: int | None, following: str | None = None, *, is_exact: bool = True
) -> dict[str, Any]:
    """A part of a list. total: None if it is not counted; a lower bound unless `is_exact`.

    following: the next part's cursor.
    """
    return {
        "items": items,
        "next": following,
        "total": total,
        "total_is_exact": total is not None and is_exact,
    }


State = Literal["waiting", "held", "running", "done", "failed", "killed", "refused"]


class Interval(BaseModel):
    """An instant that is not known exactly; unknown is null."""

    expected: str | None
    low: str | None
    high: str | None


class Cost(BaseModel):
    """US dollars."""

    expected: float | None
    low: float | None
    high: float | None


class Tasks(BaseModel):
    """Tasks of a job by state; `failed` is 1 for a failed job."""

    waiting: int
    running: int
    done: int
    failed: int


class Cause(BaseModel):
    """Why a promise was not kept, or cannot be kept any more: the largest of the causes."""

    code: Literal[
        "later_arrivals", "other_jobs", "own_length", "failures", "nodes_lost", "service_down",
        "changed", "overhead", "late",
    ]  # fmt: skip
    text: str


class Outcome(BaseModel):
    """Whether a promise was kept: null until the job has ended."""

    kept: bool | None
    off_s: float | None
    off_wait_s: float | None
    off_run_s: float | None
    cause: Cause | None = None


class JobRow(BaseModel):
    """A job in a list."""

    job_id: str
    name: str
    tenant: str
    user: str
    queue: str
    labels: dict[str, str]
    state: State
    reason: str | None
    position: int | None
    tasks: Tasks
    submitted_at: str
    starts_at: str | None
    ends_at: Interval
    deadline_at: str | None
    deadline_probability: float | None
    cost_usd: Cost | None
    promise: Outcome


class Promise(BaseModel):
    """The promise that was made at the submission; never changed. Fields as in `submit --json`."""

    decision: Literal["accepted", "accepted_without_promise", "deferred", "refused"]
    job_id: str | None = None
    why_not: str | None = None
    starts_at: Interval | None = None
    ends_at: Interval | None = None
    level: float | None = None
    cost_usd: Cost | None = None
    deadline_at: str | None = None
    deadline_probability: float | None = None
    deadline_guaranteed: bool | None = None
    counter_offers: list[dict[str, Any]] = []
    outcome: Outcome | None = None


class Phase(BaseModel):
    """A phase of a job. after: the phases that it reads from."""

    name: str
    tasks: int
    running: int
    done: int
    after: list[str]
    state: State
    ends_at: Interval


class JobBefore(BaseModel):
    """A job that must be done before another one."""

    job_id: str
    name: str
    state: State
    ends_at: Interval


class OneJob(JobRow):
    """A job, with everything that is known of it."""

    promise: Promise  # type: ignore[assignment]  # the whole of it, where a row has its outcome
    output: str
    weight: float
    version: int
    detail: str
    after: list[JobBefore]
    phases: list[Phase]


class JobPage(BaseModel):
    """A part of a list. next: the cursor of the next part."""

    items: list[JobRow]
    next: str | None
    total: int
    total_is_exact: bool
    kept_from: str | None  # what was before this instant is removed


class Queue(BaseModel):
    """A queue of the file, or with open jobs. used: slots.  waiting: tasks."""

    queue: str
    jobs: int
    waiting_jobs: int
    held_jobs: int
    used: int
    waiting: int


class Condition(BaseModel):
    """Why jobs do not run or are not taken: `paused`, `disk` (full), `no_nodes`, `no_driver`."""

    code: str
    text: str
    since_at: str | None


class Queues(BaseModel):
    """The queues, the slots, and when the present work is done."""

    queues: list[Queue]
    nodes_up: int
    slots: int
    used: int
    drains_at: Interval | None
    as_of_seq: int
    conditions: list[Condition]
    observes: bool = False  # a cluster of others; these two are for operators
    steers: bool = False


class Share(BaseModel):
    """The account of a share's holder, in container-hours. owed: under each rule, if above 0."""

    entitled: float
    used: float
    lent: float
    borrowed: float
    used_usd: float | None
    share: float | None = None
    owed: dict[str, float]


class FairnessPeriod(BaseModel, populate_by_name=True):
    """One period."""

    start: Annotated[str, Field(alias="from")]
    to: str
    shares: dict[str, Share]


class Fairness(BaseModel, populate_by_name=True):
    """The ledger of a span. rule: the policy in force.  holders: of shares."""

    rule: str
    holders: Literal["queues", "tenants"]
    containers: float
    container_hour_usd: float | None
    start: Annotated[str, Field(alias="from")]
    to: str
    jain: float | None
    shares: dict[str, Share]
    periods: list[FairnessPeriod]


class Node(BaseModel):
    """A node. jobs, names: what runs on it; the jobs of others are one "other tenant".

    cordoned: why an operator wants no more work on it.
    """

    node_id: str
    state: Literal["up", "down"]
    cordoned: str | None
    slots: int
    used: int
    jobs: list[str]
    names: list[str]
    faults: int
    fault: str | None


class Nodes(BaseModel):
    """All nodes."""

    nodes: list[Node]


class Process(BaseModel):
    """A process of the service, all null where it does not answer.

    lag_s: how long it took to answer. The follower reads the journal to its end before it does, so
    that this is how far it was behind.
    """

    process: Literal["driver", "follower", "web"]
    pid: int | None
    rss_bytes: int | None
    started_at: str | None
    lag_s: float | None


class Processes(BaseModel):
    """The processes of the service."""

    items: list[Process]
    next: None
    total: int
    total_is_exact: bool


class Cordoned(BaseModel):
    """Whether a node gets no more work."""

    node_id: str
    cordoned: bool


class Activated(BaseModel):
    """A configuration that is in effect, with the queues that there are now."""

    name: str
    version: int
    queues: list[str]


class Submitted(BaseModel):
    """The jobs of a workload, each with its promise."""

    workload_id: str
    jobs: list[dict[str, Any]]


class Quote(BaseModel):
    """The promise that would be made now; nothing is kept of it."""

    quote_id: str
    valid_until: str
    decision: str
    promise: Promise
    counter_offers: list[dict[str, Any]]
    is_within_cost: bool | None


class Killed(BaseModel):
    """A job that was asked to end."""

    job_id: str
    state: str
    was_over: bool


class Who(BaseModel):
    """Who asks."""

    tenant: str
    user: str
    role: Literal["viewer", "submitter", "operator", "admin"]
    via: Literal["token", "session", "socket", "link"]
    shared_user: bool
    recorded: bool
    quotas: dict[str, Any]
    used: dict[str, Any]


class Written(BaseModel, extra="allow"):
    """A document that an admin wrote, with its own fields."""

    name: str
    version: int
    author: str
    made_at: str


class WrittenPage(BaseModel):
    """All of one kind, the newest version of each."""

    items: list[Written]
    next: None
    total: int
    total_is_exact: bool


class Token(BaseModel):
    """A token, without its secret."""

    name: str
    tenant: str
    role: str
    made_at: str
    used_at: str | None


class NewToken(BaseModel):
    """A new token: it is shown this once."""

    name: str
    tenant: str
    role: str
    token: str


class Choice(BaseModel):
    """A plan at work. to_rent: VMs that the plan wants, and the cluster does not have.

    config_id: of a change of the queues; null where the jobs' weights do it.
    """

    plan: int
    jobs: list[dict[str, Any]]
    to_rent: int
    config_id: str | None


class SlowAnswer(BaseModel):
    """An answer that takes a while. result: the document of the command, once it is done."""

    answer_id: str
    state: Literal["running", "done", "failed", "cancelled"]
    result: dict[str, Any] | None
    problem: str | None
