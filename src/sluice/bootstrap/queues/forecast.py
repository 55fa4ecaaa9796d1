"""Forecasts of a live queue: past runs, possible lengths, and many simulated futures.

The length of each job is drawn from what similar jobs took in the past: of a job that runs, only
what is longer than it has run so far. Each draw of all lengths gives one future, in which the queue
is worked off in its order, with or without backfill. Quantiles over the futures are the interval;
the reason why a job waits is that of one likely future, in which each job takes its middle length.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from types import MappingProxyType
from typing import NamedTuple

from sluice.core.reasons import Reason, ReasonCode
from sluice.estimate.run_lengths import (
    OpenJob,
    PastLength,
    PossibleLengths,
    RunLengths,
    drawn_delays,
    drawn_lengths_s,
    drawn_places,
    left_s,
    length_at,
    quantile,
)
from sluice.ingest.logs.live_queue import LiveQueue, QueuedJob
from sluice.ingest.logs.report import LogRead
from sluice.model.history import PastRun
from sluice.model.job import Job
from sluice.planning.queues.starts import LastInLine, QueueEntry, starts
from sluice.reporting.eta.result import JobEta, When

_Future = tuple[list[float], list[float]]  # starts, and lengths from then on


class _Draws(NamedTuple):
    """Draws of each replication: lengths of all jobs, the place of the last, a factor of waits."""

    lengths_s: list[list[float]]
    places: list[float]
    delays: list[float]


def past_lengths(logs: Iterable[LogRead]) -> list[PastLength]:
    """Return what ended in these logs, the oldest first."""
    found: list[tuple[float, PastLength]] = []
    for log in logs:
        jobs = {} if log.workload is None else {str(one.job_id): one for one in log.workload.jobs}
        for run in log.runs:
            name = run.run_id.partition("/")[2]
            job = jobs.get(name) or jobs.get(name.rpartition("@")[0])  # some add the submission
            length_s = _run_s(run, job)
            if not length_s:
                continue
            found.append(
                (
                    (run.submitted_at_s or 0.0) + (run.elapsed_s or 0.0),
                    PastLength(
                        name=run.name or run.profile,
                        user=str((job and job.customer) or run.queue or ""),
                        slots=max((phase.tasks for phase in run.phases), default=1),
                        limit_s=None if job is None else job.limit_s,
                        run_s=length_s,
                    ),
                )
            )
    return [past for _, past in sorted(found, key=lambda one: one[0])]


def _run_s(run: PastRun, job: Job | None) -> float | None:
    """Run time in seconds, without the wait if the log has both; None if unknown."""
    if job is not None and len(job.phases) == 1 and job.phases[0].lengths is not None:
        return job.phases[0].lengths.max_s(job.phases[0].tasks)
    return run.elapsed_s


def sized_jobs(queue: LiveQueue, past: Sequence[PastLength]) -> tuple[list[QueuedJob], int]:
    """The jobs with slots, and of how many these are a guess: the median of past runs, or 1."""
    by_name: dict[str, list[int]] = {}
    for run in past:
        by_name.setdefault(run.name, []).append(run.slots)
    found, guessed = [], 0
    for job in queue.jobs:
        if job.slots is not None:
            found.append(job)
            continue
        guessed += 1
        found.append(job._replace(slots=round(median(by_name.get(job.name, [1])))))
    return found, guessed


class QueueForecast:
    """When the jobs of a queue start and end. slots: of the cluster.

    known: possible lengths of jobs of which more is known than the past says, by id.
    """

    def __init__(
        self,
        jobs: Sequence[QueuedJob],
        past: RunLengths,
        slots: int,
        *,
        backfills: bool,
        known: Mapping[str, PossibleLengths] = MappingProxyType({}),
    ) -> None:
        self._jobs = jobs
        self._slots = slots
        self._backfills = backfills
        self._running = sum(job.ran_s is not None for job in jobs)
        self._past = past
        self._open = [_open(job) for job in jobs]
        self._possible = [
            known.get(given.job_id) or past.of(job)
            for given, job in zip(jobs, self._open, strict=True)
        ]
        self._entries = [
            QueueEntry(job.slots, _estimate_s(job, possible))
            for job, possible in zip(self._open, self._possible, strict=True)
        ]
        self._drawn: dict[tuple[int, int], _Draws] = {}
        self._lines: list[LastInLine] = []  # one for each future of those ahead of the last job

    def enlarge(self, more: int) -> None:
        """Let the cluster have so many slots more. A queue that this one is a copy of keeps its."""
        self._slots, self._lines = self._slots + more, []

    def last_eta(self, level: float, replications: int, seed: int) -> JobEta:
        """The last job of the queue alone."""
        at = len(self._jobs) - 1
        futures = self._last_futures(self._open[at], self._possible[at], replications, seed)
        expected_s = self.expected_s()
        likely = self._line(expected_s).starts(self._entries[at], expected_s[at])
        return self._eta(at, futures, self._reasons(likely)[at], level)

    def last_ends_s(
        self,
        replications: int,
        seed: int,
        instead: tuple[QueuedJob, PossibleLengths | None] | None = None,
        by_s: float = math.inf,
    ) -> list[float]:
        """When the last job of the queue ends in each future, ascending.

        instead: a job of the same user and name in its place, and its possible lengths; None to
        ask what past runs say. What is ahead of it goes on as before.
        by_s: later ends are infinite.
        """
        job, possible = self._open[-1], self._possible[-1]
        if instead is not None:
            job = _open(instead[0])
            possible = instead[1] or self._past.of(job)
        futures = self._last_futures(job, possible, replications, seed, by_s)
        return sorted(began + left for began, left in futures)

    def _last_futures(
        self,
        job: OpenJob,
        possible: PossibleLengths | None,
        replications: int,
        seed: int,
        by_s: float = math.inf,
    ) -> list[tuple[float, float]]:
        """The start of the last job in each future if it is this one, and how long it runs."""
        entry = QueueEntry(job.slots, _estimate_s(job, possible))
        found = []
        for lengths_s, place, delay in zip(*self._draws(replications, seed), strict=True):
            length_s = length_at(job, possible, place)
            # Whatever ends later than this ends later than by_s after the delay, too.
            line_by_s = by_s / min(1.0, delay)
            start_s = delay * self._line(lengths_s).start_s(entry, length_s, by_s=line_by_s)
            found.append((start_s if start_s + length_s <= by_s else math.inf, length_s))
        return found

    def _line(self, lengths_s: Sequence[float]) -> LastInLine:
        """The line ahead of the last job. Futures that are alike, as by limits, have one."""
        for line in self._lines:
            if line.is_behind(lengths_s):
                return line
        self._lines.append(
            LastInLine(
                self._entries, lengths_s, self._slots, running=self._running,
                backfills=self._backfills,
            )
        )  # fmt: skip
        return self._lines[-1]

    def _draws(self, replications: int, seed: int) -> _Draws:
        """The futures. Waits change only where lengths are those of past runs: others are sure."""
        key = (replications, seed)
        if key not in self._drawn:
            draw = random.Random(seed)
            places = drawn_places(self._open, self._past, replications, draw)
            is_guessed = any(one is not None and not one.is_whole for one in self._possible)
            self._drawn[key] = _Draws(
                drawn_lengths_s(self._open, self._possible, places),
                places[-1],
                drawn_delays(replications, draw) if is_guessed else [1.0] * replications,
            )
        return self._drawn[key]

    def etas(self, level: float, replications: int, seed: int) -> list[JobEta]:
        """Each job, in the order of the queue."""
        futures = self._futures(replications, seed)
        reasons = self._reasons(self._starts(self.expected_s()))
        return [
            self._eta(at, _of(at, futures), reasons[at], level) for at in range(len(self._jobs))
        ]

    def _futures(self, replications: int, seed: int) -> list[_Future]:
        lengths, _, delays = self._draws(replications, seed)
        return [
            ([delay * start_s for start_s in self._starts(lengths_s)], lengths_s)
            for lengths_s, delay in zip(lengths, delays, strict=True)
        ]

    def expected_s(self) -> list[float]:
        """Return the seconds left of each job if it takes as long as it does in the middle."""
        return [
            left_s(job, _middle_s(job, possible))
            for job, possible in zip(self._open, self._possible, strict=True)
        ]

    def _starts(self, lengths_s: Sequence[float]) -> list[float]:
        return starts(
            self._entries, lengths_s, self._slots, running=self._running, backfills=self._backfills
        )

    def _eta(
        self, at: int, futures: Sequence[tuple[float, float]], reason: Reason | None, level: float
    ) -> JobEta:
        job, possible = self._jobs[at], self._possible[at]
        is_running = at < self._running
        began = sorted(start_s for start_s, _ in futures)
        ended = sorted(start_s + run_s for start_s, run_s in futures)
        by_limits = possible is None
        return JobEta(
            job_id=job.job_id,
            slots=job.slots or 1,
            is_running=is_running,
            starts_in_s=_when(began, level, is_bound=by_limits and not is_running)
            if math.isfinite(began[-1])
            else When(expected=None, low=None, high=None),
            ends_in_s=_when(ended, level, is_bound=by_limits)
            if math.isfinite(ended[-1])
            else When(expected=None, low=None, high=None),
            reason=reason,
            runs=0 if possible is None else possible.runs,
            kind=None if possible is None else possible.kind,
        )

    @property
    def unknown(self) -> list[str]:
        """The jobs without past runs or a limit: they count as jobs that do not end."""
        return [self._jobs[at].job_id for at in self._unknown()]

    def _unknown(self) -> list[int]:
        return [
            at
            for at, possible in enumerate(self._possible)
            if possible is None and self._open[at].limit_s is None
        ]

    def _reasons(self, likely: Sequence[float]) -> list[Reason | None]:
        """Why each job that waits does not run yet, by the likely future."""
        running = range(self._running)
        free = max(0, self._slots - sum(self._entries[at].slots for at in running))
        slots = self._slots
        waits = [
            at
            for at in range(self._running, len(likely))
            if likely[at] > 0 and self._entries[at].slots <= slots
        ]
        never = [at for at in self._unknown() if math.isfinite(likely[at])]
        held = sum(self._entries[at].slots for at in never)
        found: list[Reason | None] = [None] * len(likely)
        ahead = tasks = 0
        for at in range(self._running, len(likely)):
            needs = self._entries[at].slots
            numbers = (("tasks", needs), ("free", free), ("slots", slots))
            if needs > slots:
                found[at] = Reason(ReasonCode.NEEDS_TOGETHER, numbers)
            elif likely[at] <= 0:
                found[at] = Reason(ReasonCode.FIRST_IN_LINE)
            elif math.isinf(likely[at]) and (at == waits[0] or needs > slots - held):
                of_unknown = (("held", held), ("job", self._jobs[never[0]].job_id))
                found[at] = Reason(ReasonCode.AWAITS_UNKNOWN, (*numbers, *of_unknown))
            elif at == waits[0]:
                found[at] = Reason(ReasonCode.RESERVED_FROM, (*numbers, ("at_s", likely[at])))
            elif needs <= free and math.isfinite(likely[waits[0]]):
                first = (("next", self._jobs[waits[0]].job_id), ("at_s", likely[waits[0]]))
                found[at] = Reason(ReasonCode.WOULD_DELAY, (*numbers, *first))
            else:
                found[at] = Reason(ReasonCode.BEHIND_IN_LINE, (("ahead", ahead), ("tasks", tasks)))
            if likely[at] > 0:
                ahead, tasks = ahead + 1, tasks + needs
        return found


def running_jobs(jobs: Iterable[QueuedJob]) -> list[OpenJob]:
    """Those that run, as past runs that have not ended yet."""
    return [_open(job) for job in jobs if job.ran_s]


def _open(job: QueuedJob) -> OpenJob:
    return OpenJob(job.name, job.user, job.slots or 1, job.limit_s, job.ran_s or 0.0)


def _of(at: int, futures: Sequence[_Future]) -> list[tuple[float, float]]:
    """The start of one job in each future, and how long it runs from then on."""
    return [(began[at], left[at]) for began, left in futures]


def _estimate_s(job: OpenJob, possible: PossibleLengths | None) -> float:
    """Return the seconds left as the scheduler expects them: the limit, or the longest likely."""
    if job.limit_s is not None:
        return left_s(job, job.limit_s)
    return math.inf if possible is None else left_s(job, possible.lengths_s[-1])


def _middle_s(job: OpenJob, possible: PossibleLengths | None) -> float:
    if possible is None:
        return math.inf if job.limit_s is None else job.limit_s
    return possible.at(0.5, job)


def _when(ascending: Sequence[float], level: float, *, is_bound: bool) -> When:
    """The quantiles. is_bound: these are limits, so that all that is known is the latest."""
    tail = (1 - level) / 2
    return When(
        expected=quantile(ascending, 0.5),
        low=None if is_bound else quantile(ascending, tail),
        high=quantile(ascending, 1 - tail),
    )
