"""Accounts of Slurm: what `sacct` prints, in any columns, or `sacct --json`.

Needed are JobID (or JobIDRaw), State, Submit, Start, a length (Elapsed, ElapsedRaw or End) and a
number of processors (AllocCPUS, NCPUS, ReqCPUS, or cpu in AllocTRES). Read besides: JobName,
User, Account, Partition, Timelimit or TimelimitRaw (minutes), MaxRSS.

A job holds its processors from start to end, so it becomes one phase of as many tasks, each as long
as the job, which start together; its time limit is its limit. A row whose id has a dot is a step of
a job and only adds its memory; an element of an array (`12_3`) and a part of a heterogeneous job
(`12+0`) are jobs of their own. Jobs that never ran, and those that still do, are skipped. The table
has no size of the cluster: it is taken to be the most processors that were in use at once.
Source of the format: sacct(1), Slurm 24.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.report import Contents, Report, Unreadable, nothing_in_lines
from sluice.ingest.logs.rigid_jobs import Replay, RigidJob, contents_of, failed_choice
from sluice.ingest.logs.sacct_rows import HINT, account_rows, is_account
from sluice.ingest.logs.slurm_values import clock_s, count_in
from sluice.model.cluster import SLOTS_MAX
from sluice.model.ids import checked_id
from sluice.model.settings import number, whole
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import JOBS_MAX

FORMAT = "sacct"
_CPUS_OF_TRES = re.compile(r"(?:^|,)cpu=(\d{1,12})(?:,|$)")
_BYTES = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)([KMGTP]?)")
_UNITS: Final = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}
_WELL: Final = "COMPLETED"
_NOT_OVER: Final = frozenset({"PENDING", "RUNNING", "SUSPENDED", "REQUEUED", "RESIZING"})
_NOTES = (
    "A job is one phase: a task for each processor, each as long as the job.",
    "The tasks of a job start together, as Slurm starts them.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The part of the table that is replayed.

    failed: whether jobs that failed, timed out or were cancelled are submitted; they held
    processors.  least_s: of a job that ended in the second in which it began.  processors: of the
    cluster; None for the most that were in use at once.
    """

    failed: str = failed_choice("jobs")
    least_s: float = number(0.25, "seconds of a job whose length is rounded to 0", above=0.0)
    processors: int | None = whole(
        None, "processors of the cluster; none: the most in use at once", low=1
    )


def recognises(path: Path, head: bytes) -> bool:  # noqa: ARG001  # the name does not matter
    """Names of columns with a job's id and its state, or an object with accounts."""
    return is_account(head)


def read(path: Path, report: Report, options: Options, limits: Limits) -> Contents:
    """The jobs of the table, as runs and as a workload. Raises InvalidInput where there is none."""
    records: dict[str, RigidJob] = {}
    rss_bytes: dict[str, int] = {}
    for position, row in account_rows(path, report, limits):
        if len(records) >= JOBS_MAX:
            break
        with report.skipping(position):
            job_id, dot, _ = row["JobID"].partition(".")
            if dot:
                rss_bytes[job_id] = max(rss_bytes.get(job_id, 0), _bytes(row.get("MaxRSS", "")))
            else:
                records[job_id] = _record(row, records)
    if not records:
        raise nothing_in_lines(path, report, "job that ran and ended", hint=HINT)
    jobs = [replace(one, rss_bytes=rss_bytes.get(one.job_id) or None) for one in records.values()]
    replay = Replay.asked(
        FORMAT,
        "processors",
        options,
        why_slots="the most in use at once (the table has no size)",
        failed="jobs that did not end well",
        kind=SlotKind.MAP,
        repeats_ids=True,
    )
    return contents_of(path, jobs, replay, _NOTES)


# --- rows -----------------------------------------------------------------------------------------


def _record(row: Mapping[str, str], known: Container[str]) -> RigidJob:
    job_id, state = row["JobID"], (row["State"].split() or [""])[0].rstrip("+")
    checked_id(job_id, what="job")
    if job_id in known:
        raise Unreadable(f"job {job_id} is given twice")
    if state in _NOT_OVER:
        raise Unreadable(f"job {job_id} is {state.lower()}")
    submitted_at_s = _instant_s(row, "Submit")
    started_at_s = _instant_s(row, "Start")
    if submitted_at_s is None:
        raise Unreadable(f"job {job_id} has no submission")
    # A job that is cancelled while it waits may have the instant of that as its start.
    if started_at_s is None or row.get("AllocCPUS", row.get("NCPUS")) == "0":
        raise Unreadable(f"job {job_id} never started")
    run_s = _run_s(row, started_at_s)
    if run_s is None:
        raise Unreadable(f"job {job_id} has no length")
    user = row.get("User", "")
    return RigidJob(
        job_id=job_id,
        profile=row.get("JobName", "")[:200] or FORMAT,
        pool=user or row.get("Account", "") or job_id,
        user=user or None,
        queue=row.get("Partition") or None,
        submitted_at_s=submitted_at_s,
        started_at_s=max(started_at_s, submitted_at_s),
        run_s=run_s,
        tasks=_processors(row, job_id),
        is_gang=True,
        limit_s=_limit_s(row),
        is_failed=state != _WELL,
    )


def _instant_s(row: Mapping[str, str], name: str) -> float | None:
    text = row.get(name, "")
    if text in {"", "Unknown", "None", "N/A"}:
        return None
    if text.isdecimal() and len(text) <= 10:  # noqa: PLR2004  # SLURM_TIME_FORMAT=%s
        return float(text)
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        raise Unreadable(f"{name} is {text[:40]!r}") from None
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def _run_s(row: Mapping[str, str], started_at_s: float) -> float | None:
    raw = row.get("ElapsedRaw", "")
    if raw.isdecimal() and len(raw) <= 10:  # noqa: PLR2004  # a number of seconds
        return float(raw)
    elapsed_s = clock_s(row.get("Elapsed", ""))
    ended_at_s = _instant_s(row, "End") if elapsed_s is None else None
    if ended_at_s is not None and ended_at_s >= started_at_s:
        return ended_at_s - started_at_s
    return elapsed_s


def _limit_s(row: Mapping[str, str]) -> float | None:
    raw = row.get("TimelimitRaw", "")
    if raw.isdecimal() and len(raw) <= 9:  # noqa: PLR2004  # a number of minutes
        return float(raw) * 60 or None
    return clock_s(row.get("Timelimit", "")) or None


def _processors(row: Mapping[str, str], job_id: str) -> int:
    for name in ("AllocCPUS", "NCPUS", "ReqCPUS"):
        count = count_in(row.get(name, ""))
        if count is not None and 1 <= count <= SLOTS_MAX:
            return count
    found = _CPUS_OF_TRES.search(row.get("AllocTRES", ""))
    if found is not None and 1 <= int(found[1]) <= SLOTS_MAX:
        return int(found[1])
    raise Unreadable(f"job {job_id} has no number of processors")


def _bytes(text: str) -> int:
    found = _BYTES.fullmatch(text)
    return 0 if found is None else int(float(found[1]) * _UNITS[found[2]])
