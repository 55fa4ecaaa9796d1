"""The shapes of the answers about attempts: of one job, or of all jobs in a span of time."""

from __future__ import annotations

from pydantic import BaseModel


class Attempt(BaseModel):
    """One try of a task."""

    key: str
    phase: str
    task: int
    tasks: int
    number: int
    node: str
    slot: int
    slot_kind: str
    state: str
    is_copy: bool
    progress: float
    started_at: str
    ended_at: str | None
    why: str


class PhaseLengths(BaseModel):
    """How long the attempts of a phase ran that are done: quartiles of their seconds."""

    phase: str
    done: int
    min_s: float
    p25_s: float
    p50_s: float
    p75_s: float
    max_s: float


class AttemptPage(BaseModel):
    """A part of the attempts of a job. lengths: of all its attempts; the first part has them."""

    lengths: list[PhaseLengths] | None
    items: list[Attempt]
    next: str | None
    total: int
    total_is_exact: bool


class AttemptOfSpan(Attempt):
    """An attempt with its job; both are "other tenant" where they are another tenant's."""

    job_id: str


class AttemptsOfSpan(BaseModel):
    """The attempts that ran in a span."""

    items: list[AttemptOfSpan]
    next: None
    total: int
    total_is_exact: bool
