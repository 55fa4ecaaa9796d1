"""Outcomes of jobs and attempts, taken from the state of the scheduler after a run.

The state has entries that go on changing; an outcome is what a result keeps of one. All instants
are seconds, and None where they were not reached. A workload from logs adds how each job ran there
(`JobReplay`), and a job with a profile when it was expected to end (`ResponseForecast`), in the
same columns whichever command asks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from operator import attrgetter
from statistics import median
from typing import Protocol

from sluice.core.entries import Attempt, JobEntry
from sluice.core.record.attempt_log import AttemptLog
from sluice.core.transitions import JobState
from sluice.model.cluster import Cluster
from sluice.model.ids import JobId, PoolId
from sluice.model.slot_kind import SlotKind
from sluice.reporting.columns import Column, column_document
from sluice.reporting.formatting import NOTHING, counted, duration_tight, share, shortened, signed
from sluice.reporting.run.failures import JobFailure
from sluice.reporting.run.trace import known_or_none

_NAME_LETTERS = 32
_REFUSED = JobState.REFUSED.value  # each look-up of a value is a call
UNCOMMITTED = "uncommitted"  # all tasks are done, but the output is not in its place


class TimeForecast(Protocol):
    """When a job may end, as outcomes need it of `JobForecast`: its own time, and the interval."""

    @property
    def predicted_s(self) -> float | None: ...
    @property
    def low_s(self) -> float | None: ...
    @property
    def high_s(self) -> float | None: ...
    def probability_within(self, limit_s: float) -> float | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseForecast:
    """When a job may end, in seconds after its submission; None where it is not known.

    predicted_s: its own time, if it waits for no other job.  low_s, high_s: interval of its whole
    response, for its own time as uncertain as its profile, and the waiting as it was.
    deadline_probability: None without a deadline.
    """

    predicted_s: float | None
    low_s: float | None
    high_s: float | None
    deadline_probability: float | None

    @classmethod
    def of(
        cls, forecast: TimeForecast, response_s: float | None, deadline_s: float | None
    ) -> ResponseForecast:
        """response_s: with the waiting for other jobs; None counts as no waiting.

        deadline_s: after submission.
        """
        own_s = forecast.predicted_s or 0.0
        waited_s = 0.0 if response_s is None else max(0.0, response_s - own_s)
        low_s, high_s = forecast.low_s, forecast.high_s
        return cls(
            predicted_s=forecast.predicted_s,
            low_s=None if low_s is None else waited_s + low_s,
            high_s=None if high_s is None else waited_s + high_s,
            deadline_probability=None
            if deadline_s is None
            else forecast.probability_within(deadline_s - waited_s),
        )

    def text(self, submitted_at_s: float) -> str:
        """The interval in which it ends, and the probability to meet its deadline, for tables."""
        if self.low_s is None or self.high_s is None:
            return NOTHING
        ends = "–".join(duration_tight(submitted_at_s + at_s) for at_s in (self.low_s, self.high_s))
        met = self.deadline_probability
        return ends if met is None else f"{ends}, {share(met)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcome:
    """The outcome of one job. Instants are seconds; None if they were not reached.

    deadline_met: None without a deadline, or if the job may still meet it.
    state: that of the scheduler, or UNCOMMITTED; `reason` then says why.
    failure: why it failed; None if it did not fail.
    forecast: of a job that names a profile, where its past runs give one.
    """

    job_id: JobId
    pool: PoolId
    tasks: int
    submitted_at_s: float
    started_at_s: float | None
    finished_at_s: float | None
    deadline_at_s: float | None
    deadline_met: bool | None
    state: str
    reason: str
    failure: JobFailure | None = None
    forecast: ResponseForecast | None = None

    @classmethod
    def of(
        cls,
        entry: JobEntry,
        now_s: float,
        *,
        failure: JobFailure | None = None,
        uncommitted: str | None = None,
    ) -> JobOutcome:
        """The outcome in the state at `now_s`.

        uncommitted: why the output of a done job could not be committed; None if it was.
        """
        is_uncommitted = uncommitted is not None and entry.state is JobState.DONE
        return cls(
            job_id=entry.job_id,
            pool=entry.pool.pool_id,
            tasks=entry.job.tasks,
            submitted_at_s=entry.submitted_at_s,
            started_at_s=known_or_none(entry.started_at_s),
            finished_at_s=known_or_none(entry.finished_at_s),
            deadline_at_s=entry.job.own_deadline_at_s,
            deadline_met=_deadline_met(entry, now_s, is_uncommitted=is_uncommitted),
            state=UNCOMMITTED if is_uncommitted else entry.state.value,
            reason=uncommitted or "" if is_uncommitted else entry.reason,
            failure=failure,
        )

    def forecasted(self, forecast: TimeForecast | None) -> JobOutcome:
        """The outcome with a forecast of it, if there is one."""
        if forecast is None:
            return self
        deadline_at_s = self.deadline_at_s
        deadline_s = None if deadline_at_s is None else deadline_at_s - self.submitted_at_s
        found = ResponseForecast.of(forecast, self.response_s, deadline_s)
        return replace(self, forecast=found)

    @property
    def ran_to_an_end(self) -> bool:
        """Whether it was admitted and has ended. Only such jobs count in makespan and sums."""
        return self.finished_at_s is not None and self.state != _REFUSED

    @property
    def waited_s(self) -> float | None:
        """The time from submission to the first task."""
        return None if self.started_at_s is None else self.started_at_s - self.submitted_at_s

    @property
    def ran_s(self) -> float | None:
        """The time from the first task to the end."""
        if self.started_at_s is None or self.finished_at_s is None:
            return None
        return self.finished_at_s - self.started_at_s

    @property
    def response_s(self) -> float | None:
        """The time from submission to the end."""
        return None if self.finished_at_s is None else self.finished_at_s - self.submitted_at_s

    def document(self) -> dict[str, object]:
        """Return the fields as plain JSON values, without the id.

        It has the fields of the forecast only where there is one.
        """
        document: dict[str, object] = dict(zip(_SHOWN, _shown_of(self), strict=True))
        if self.failure is not None:
            document["failure"] = self.failure.document()
        return document if self.forecast is None else document | asdict(self.forecast)


# To copy each value, as `asdict` does, takes ten times as long.
_SHOWN = tuple(one.name for one in fields(JobOutcome) if one.name not in {"job_id", "forecast"})
_shown_of = attrgetter(*_SHOWN)


def _deadline_met(entry: JobEntry, now_s: float, *, is_uncommitted: bool) -> bool | None:
    deadline_at_s = entry.job.own_deadline_at_s
    if deadline_at_s is None:
        return None
    if is_uncommitted:
        return False if now_s > deadline_at_s else None
    if entry.state is JobState.DONE:
        return entry.finished_at_s <= deadline_at_s
    return False if entry.has_ended or now_s > deadline_at_s else None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReplay:
    """How a job ran according to its log, and how long it takes when it is run again alone.

    recorded_s: None if the log does not hold it.
    replayed_s: with the slots that it had; None if the log does not list its tasks.
    """

    recorded_s: float | None
    replayed_s: float | None

    @property
    def replay_error(self) -> float | None:
        """The replayed time over the recorded one, less 1; None if one is unknown."""
        if not self.recorded_s or self.replayed_s is None:
            return None
        return self.replayed_s / self.recorded_s - 1

    def document(self) -> dict[str, object]:
        """Return the fields as plain JSON values, to be added to those of the job."""
        return column_document(REPLAY_COLUMNS, self)


REPLAY_COLUMNS: Sequence[Column[JobReplay]] = (
    Column("recorded_s", "recorded", duration_tight),
    Column("replayed_s", "replayed", duration_tight),
    Column("replay_error", "error", signed),
)
NOT_RECORDED = JobReplay(recorded_s=None, replayed_s=None)


def replay_document(replays: Mapping[JobId, JobReplay] | None, job_id: str) -> dict[str, object]:
    """Fields for the document of a job; empty for a workload that is not from logs."""
    if replays is None:
        return {}
    return replays.get(JobId(job_id), NOT_RECORDED).document()


def replay_summary(replays: Mapping[JobId, JobReplay] | None) -> str | None:
    """A sentence on how well the simulator repeats the jobs of logs; None without such jobs."""
    known = {job: one.replay_error for job, one in (replays or {}).items()}
    errors = {job: error for job, error in known.items() if error is not None}
    if not errors:
        return None
    worst = max(errors, key=lambda job: abs(errors[job]))
    middle = share(median(abs(error) for error in errors.values()))
    jobs = counted(len(errors), "job")
    return (
        f"replay of {jobs} alone, compared with the log: median error {middle},"
        f" largest {signed(errors[worst])} ({shortened(worst, _NAME_LETTERS)})"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptTotals:
    """Totals of all attempts: their number by outcome, and the busy time by kind of slot."""

    attempts: Mapping[str, int]
    busy_s: Mapping[SlotKind, float]

    @classmethod
    def of(cls, attempts: AttemptLog, until_s: float) -> AttemptTotals:
        """Counts every task of every attempt; busy seconds count up to `until_s`."""
        ends, busy_s = attempts.ended, attempts.busy_s
        if attempts.last_end_s > until_s:
            busy_s = _busy_until_s(attempts, until_s)
        named = {state.value: tasks for state, tasks in ends.items()}
        return cls(
            attempts={name: named[name] for name in ("done", "failed", "killed", "lost")},
            busy_s=busy_s,
        )


def _busy_until_s(attempts: Iterable[Attempt], until_s: float) -> dict[SlotKind, float]:
    """Busy slot-seconds up to an instant; only copies and kills end after the last job."""
    busy_s = dict.fromkeys(SlotKind, 0.0)
    for attempt in attempts:
        held_s = min(attempt.finished_at_s, until_s) - attempt.started_at_s
        if held_s > 0:
            busy_s[attempt.slot_kind] += attempt.tasks * attempt.width * held_s
    return busy_s


def utilisation(
    work: AttemptTotals, cluster: Cluster, span_s: float | None, rented_s: float = 0.0
) -> dict[str, float | None]:
    """Busy slot-seconds as a share of slots times `span_s`; None if there are no slots.

    rented_s: seconds of further nodes like the first one, which were there for a while. Containers
    are listed only if some were used: any slot can serve as a container.
    """
    used = [SlotKind.MAP, SlotKind.REDUCE]
    if work.busy_s[SlotKind.CONTAINER]:
        used.append(SlotKind.CONTAINER)
    names = {kind: f"{kind.value}_slots" for kind in used} | {SlotKind.CONTAINER: "containers"}
    room_s = {
        kind: cluster.slots(kind) * (span_s or 0.0) + cluster.nodes[0].slots(kind) * rented_s
        for kind in used
    }
    return {
        names[kind]: work.busy_s[kind] / room_s[kind] if room_s[kind] else None for kind in used
    }


def total_s(lengths: Iterable[float | None]) -> float:
    """The sum of the known lengths, correctly rounded."""
    return math.fsum(length for length in lengths if length is not None)
