"""Jobs that wait for other jobs: `after` names jobs of the file, and no circle of them.

A job cannot be submitted before the jobs that it waits for, so its `submitted_at_s` becomes the
latest of its own and of all jobs before it. A `deadline_s` counts from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from itertools import islice

from sluice.ingest.errors import SHOWN_MAX, FieldError, quoted
from sluice.ingest.suggestions import suggestion
from sluice.model.ids import JobId
from sluice.model.job import Job


def submitted_in_turn(
    jobs: tuple[Job, ...], counts_deadline: Callable[[int], bool]
) -> tuple[tuple[Job, ...], list[FieldError]]:
    """The jobs, each submitted no earlier than those it waits for, and the errors in `after`.

    counts_deadline: whether the deadline of the job at a place counts from its submission.
    """
    if not any(job.after for job in jobs):
        return jobs, []
    places = {job.job_id: place for place, job in enumerate(jobs)}
    faults = list(islice(_stray_names(jobs, places), SHOWN_MAX))
    if faults:
        return jobs, faults
    try:
        order = list(TopologicalSorter({job.job_id: job.after for job in jobs}).static_order())
    except CycleError as error:
        names = " after ".join(quoted(name) for name in reversed(error.args[1]))
        return jobs, [FieldError(("jobs",), f"form a circle: {names}", "break the circle in after")]
    moved = list(jobs)
    for job_id in order:
        place = places[job_id]
        job = moved[place]
        if not job.after:
            continue
        last = max((moved[places[name]] for name in job.after), key=lambda one: one.submitted_at_s)
        fault = _late(job, last, place, counts=counts_deadline(place))
        if fault is not None:
            faults.append(fault)
        elif last.submitted_at_s > job.submitted_at_s:
            moved[place] = _moved(job, last.submitted_at_s, counts=counts_deadline(place))
    return tuple(moved), faults[:SHOWN_MAX]


def _stray_names(jobs: Sequence[Job], places: Mapping[JobId, int]) -> Iterator[FieldError]:
    for place, job in enumerate(jobs):
        for number, name in enumerate(job.after):
            if name == job.job_id:
                yield FieldError(
                    ("jobs", place, "after", number), "names the job itself", "remove it"
                )
            elif name not in places:
                others = [str(one) for one in places if one != job.job_id]
                yield FieldError(
                    ("jobs", place, "after", number),
                    f"names the unknown job {quoted(name)}",
                    suggestion(name, others),
                )


def _late(job: Job, last: Job, place: int, *, counts: bool) -> FieldError | None:
    """The error of a deadline that is over before a job before it is even submitted."""
    deadline_at_s = job.deadline_at_s
    if counts or deadline_at_s is None or last.submitted_at_s < deadline_at_s:
        return None
    return FieldError(
        ("jobs", place, "deadline_at_s"),
        f"is {deadline_at_s:g}, and job {quoted(last.job_id)} before it can be submitted at"
        f" {last.submitted_at_s:g} at the earliest",
        "give a later deadline",
    )


def _moved(job: Job, at_s: float, *, counts: bool) -> Job:
    """The job as it is submitted at a later instant."""
    deadline_at_s = job.deadline_at_s
    if counts and deadline_at_s is not None:
        deadline_at_s += at_s - job.submitted_at_s
    return replace(job, submitted_at_s=at_s, deadline_at_s=deadline_at_s)
