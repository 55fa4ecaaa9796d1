"""Why no size of a cluster meets the deadlines: what more nodes cannot shorten, and whose it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from sluice.bootstrap.nights.simulation import SimulatedNight
from sluice.model.job import Job
from sluice.reporting.formatting import duration, visible


def critical_path_s(job: Job) -> float:
    """Least length of a job on any number of slots: its longest chain of longest tasks, seconds."""
    ends_s: list[float] = []
    for phase in job.phases:
        longest_s = 0.0 if phase.lengths is None else phase.lengths.max_s(phase.tasks)
        ends_s.append(max((ends_s[place] for place in phase.after), default=0.0) + longest_s)
    return job.driver_s + max(ends_s, default=0.0)


def cause_of(
    nights: Iterable[tuple[Sequence[Job], SimulatedNight]], deadline_s: float | None
) -> str | None:
    """A clause that says what makes most of these nights late; None if all are in time.

    nights: the jobs of each drawn night, and how it went on the largest cluster.
    deadline_s: of the whole night; None if only jobs have deadlines.
    """
    # By kind of cause and job, so that nights with different lengths count as one cause.
    found: Counter[tuple[str, str]] = Counter()
    texts: dict[tuple[str, str], str] = {}
    for jobs, night in nights:
        known = _impossible(jobs, deadline_s) or _late(night, deadline_s)
        if known is not None:
            kind, job_id, text = known
            found[kind, job_id] += 1
            texts.setdefault((kind, job_id), text)
    return texts[found.most_common(1)[0][0]] if found else None


def _impossible(jobs: Sequence[Job], deadline_s: float | None) -> tuple[str, str, str] | None:
    """The kind of cause, the job and a clause; None if enough slots could meet all deadlines."""
    first_at_s = min(job.submitted_at_s for job in jobs)
    for job in sorted(jobs, key=lambda job: -job.submitted_at_s):
        name, path_s = visible(str(job.job_id)), critical_path_s(job)
        after_s = job.submitted_at_s - first_at_s
        if deadline_s is not None and after_s >= deadline_s:
            text = f"job {name} arrives {duration(after_s)} after the first, after the deadline"
            return "arrival", name, f"{text} of {duration(deadline_s)}"
        own_s = None if job.deadline_at_s is None else job.deadline_at_s - job.submitted_at_s
        if own_s is not None and path_s > own_s:
            text = f"the critical path of job {name} takes {duration(path_s)}"
            return "path", name, f"{text} and its deadline is {duration(own_s)}"
        if deadline_s is not None and after_s + path_s > deadline_s:
            text = f"the critical path of job {name} takes {duration(path_s)}"
            left = f"{duration(deadline_s - after_s)} after its arrival"
            return "path", name, f"{text} and the deadline is {left}"
    return None


def _late(night: SimulatedNight, deadline_s: float | None) -> tuple[str, str, str] | None:
    """The job that is late on the largest cluster, although enough slots could help it."""
    if night.late:
        name = visible(str(night.late[0]))
        return "late", name, f"job {name} is late, for want of slots"
    if deadline_s is None or night.span_s <= deadline_s:
        return None
    name = visible(str(night.last))
    return "last", name, f"job {name} ends last, for want of slots"
