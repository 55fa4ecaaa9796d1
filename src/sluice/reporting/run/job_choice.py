"""Which jobs a chart shows when there are too many for a lane each: those worth a look.

First the jobs that failed or missed their deadline, the latest first; at most half of the lanes.
The other lanes go to those that waited longest and those that ran longest, in turn. The lanes are
in order of submission, and a note says how many were chosen for which reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sluice.core.transitions import JobState
from sluice.reporting.formatting import count
from sluice.reporting.run.outcomes import JobOutcome

JOBS_MAX = 60
_WELL = frozenset({JobState.DONE.value})


@dataclass(frozen=True, slots=True)
class ChosenJobs:
    """Jobs in the order of the run. note: how they were chosen; "" if they are all."""

    jobs: tuple[JobOutcome, ...]
    note: str = ""


def chosen_jobs(jobs: Sequence[JobOutcome], most: int = JOBS_MAX) -> ChosenJobs:
    """All jobs, or the most remarkable ones. most: how many there is room for."""
    if len(jobs) <= most:
        return ChosenJobs(tuple(jobs))
    bad = [place for place, job in enumerate(jobs) if _is_bad(job)]
    bad.sort(key=lambda place: -_late_s(jobs[place]))
    first = bad[: most // 2]
    waited, ran = _alternating(jobs, set(first), most - len(first))
    late = f"{len(first)} of the {count(len(bad))} that were late or failed, " if bad else ""
    note = (
        f"{most} of {count(len(jobs))} jobs are shown: {late}the {len(waited)} jobs that waited"
        f" longest and the {len(ran)} that ran longest."
    )
    chosen = sorted({*first, *waited, *ran})
    return ChosenJobs(tuple(jobs[place] for place in chosen), note)


def _is_bad(job: JobOutcome) -> bool:
    return job.deadline_met is False or job.state not in _WELL


def _late_s(job: JobOutcome) -> float:
    """How long after its deadline a job ended. Jobs that did not end come first."""
    if job.finished_at_s is None or job.deadline_at_s is None:
        return float("inf")
    return job.finished_at_s - job.deadline_at_s


def _alternating(
    jobs: Sequence[JobOutcome], taken: set[int], most: int
) -> tuple[list[int], list[int]]:
    """The places of jobs that waited longest and that ran longest, without those taken."""
    by_wait = _ranked(jobs, lambda job: job.waited_s)
    by_run = _ranked(jobs, lambda job: job.ran_s)
    waited: list[int] = []
    ran: list[int] = []
    for number in range(most):
        ranked, found = (by_run, ran) if number % 2 else (by_wait, waited)
        place = next(place for place in ranked if place not in taken)
        taken.add(place)
        found.append(place)
    return waited, ran


def _ranked(
    jobs: Sequence[JobOutcome], measure: Callable[[JobOutcome], float | None]
) -> Iterable[int]:
    """Places from the greatest measure on; of equal ones, the first."""
    return sorted(range(len(jobs)), key=lambda place: (-(measure(jobs[place]) or 0.0), place))
