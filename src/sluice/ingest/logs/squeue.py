"""The queue of Slurm: what `squeue` prints, in any columns, or `squeue --json`.

Needed are JOBID and ST or STATE; a number of processors comes from CPUS, or else from NODES, a slot
for each. Read besides: NAME, USER, PARTITION, TIME_LIMIT, TIME, PRIORITY, SUBMIT_TIME and the
reason. Columns are separated by `|`, `;`, tabs or commas, or else by blanks, as in the default
layout.

The workload is the queue from the moment of the listing on, which is second 0. A job that runs
holds its processors for what is left of its time limit; one that waits comes after those, in the
order of priority and submission, and runs for its time limit, for nothing else is known of its
length. Jobs without a limit are skipped unless `limit_s` is given, as are held ones. Waiting
elements of an array (`12_[3-9]`) are jobs of their own. Source of the format: squeue(1), Slurm 24.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.live_queue import WAITING_AT_S, LiveQueue, QueuedJob, file_instant, instant
from sluice.ingest.logs.reading import log_head
from sluice.ingest.logs.report import Contents, Report, Unreadable, nothing_found
from sluice.ingest.logs.rigid_jobs import Replay, RigidJob, contents_of
from sluice.ingest.logs.slurm_tables import is_table, table_rows
from sluice.ingest.logs.slurm_values import clock_s, count_in, json_number
from sluice.ingest.logs.whole_json import listed, mapping, whole_json
from sluice.model.cluster import SLOTS_MAX
from sluice.model.ids import checked_id
from sluice.model.settings import number, whole
from sluice.model.workload import JOBS_MAX

FORMAT = "squeue"
_STATE_NAMES: Final = ("STATE", "ST")
_WAITING: Final = frozenset({"PENDING", "PD"})
_RUNNING: Final = frozenset({"RUNNING", "R", "CONFIGURING", "CF"})
_WORDS: Final = {"PD": "pending", "R": "running", "CG": "completing", "S": "suspended"}
_HELD: Final = "JobHeld"
_ARRAY = re.compile(r"(\d{1,12})_\[([\d,:-]{1,10000})(?:%(\d{1,9}))?\]")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?")
_ARRAY_TASKS_MAX: Final = 100_000
_BACKFILL: Final = MappingProxyType({"tasks": "easy"})
_NOTES: Final = (
    (
        "Second 0 is the moment of the listing: running jobs hold their processors for the rest of"
        " their time limit, and waiting ones run for all of it."
    ),
    "The tasks of a job start together, as Slurm starts them.",
)
# Slurm starts a job when all of its processors are free.
_IS_GANG: Final = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """processors: of the cluster; None for those in use, or the largest job.

    limit_s: time limit of jobs that have none; None to skip them.  least_s: time that is left of a
    job that is past its limit.
    """

    processors: int | None = whole(
        None, "processors of the cluster; none: those in use", low=1, high=SLOTS_MAX
    )
    limit_s: float | None = number(
        None, "seconds of a job without a time limit; none: it is skipped", above=0.0
    )
    least_s: float = number(1.0, "seconds that are left of a job past its limit", above=0.0)


class _Row(NamedTuple):
    """A row of the listing. limit_s, processors: None if it does not have them."""

    job_id: str
    name: str
    user: str
    partition: str
    state: str
    reason: str
    processors: int | None
    limit_s: float | None
    ran_s: float
    priority: float
    submitted_at_s: float

    @property
    def is_running(self) -> bool:
        return self.state in _RUNNING


def recognises(path: Path, head: bytes) -> bool:  # noqa: ARG001  # the name does not matter
    """Names of columns with a job's id and its state near the top; or objects that have both."""
    if head.lstrip()[:1] == b"{":
        return all(key in head for key in (b'"job_state"', b'"time_limit"', b'"partition"'))
    return is_table(head, _is_header)


def read(path: Path, report: Report, options: Options, limits: Limits) -> Contents:
    """The jobs that run and wait. Raises InvalidInput where there is none."""
    is_json = log_head(path).lstrip()[:1] == b"{"
    rows = (_json_rows if is_json else _table_rows)(path, report, limits)
    jobs: dict[str, tuple[_Row, RigidJob]] = {}
    for position, row in rows:
        with report.skipping(position):
            for job in _jobs(row, options):
                if job.job_id in jobs:
                    raise Unreadable(f"job {job.job_id} is given twice")
                if len(jobs) < JOBS_MAX:
                    jobs[job.job_id] = (row, job)
    if not jobs:
        raise nothing_found(
            path,
            report,
            "job that runs or waits and has a time limit",
            hint="give what `squeue -o '%i|%j|%u|%P|%T|%C|%D|%l|%M|%Q|%V|%r'` prints, or set"
            " limit_s",
        )
    in_order = sorted(jobs.values(), key=lambda one: _rank(one[0]))
    replay = Replay.asked(FORMAT, "processors", options)
    found = contents_of(path, [job for _, job in in_order], replay, _NOTES)
    # Slurm starts jobs out of turn, and so does the forecast of `sluice eta`.
    listed = None if found.workload is None else replace(found.workload, scheduler=_BACKFILL)
    return replace(found, workload=listed)


def read_queue(path: Path, report: Report, limits: Limits) -> LiveQueue:
    """Return what runs and waits, also without a time limit.

    Raises InvalidInput where there is none.
    """
    as_of = file_instant(path)
    if log_head(path).lstrip()[:1] == b"{":
        document = _json_document(path, report, limits)
        rows, now_s = _rows_in(document, report), json_number(document.get("last_update"))
        as_of = as_of if now_s is None else instant(now_s)
    else:
        rows = _table_rows(path, report, limits)
    found: dict[str, tuple[_Row, QueuedJob]] = {}
    for position, row in rows:
        with report.skipping(position):
            for job in _queued(row):
                found.setdefault(job.job_id, (row, job))
    if not found:
        raise nothing_found(
            path, report, "job that runs or waits", hint="give what `squeue -a` prints"
        )
    in_order = sorted(found.values(), key=lambda one: _rank(one[0]))
    return LiveQueue(
        format=FORMAT,
        jobs=tuple(job for _, job in in_order[:JOBS_MAX]),
        as_of=as_of,
        backfills=True,
        notes=tuple(dict.fromkeys(note for row, _ in in_order for note in _array_limit(row))),
    )


def _array_limit(row: _Row) -> Iterator[str]:
    """That so many tasks of an array may run at once, where its user says so."""
    if (found := _ARRAY.fullmatch(row.job_id)) and found[3]:
        yield (
            f"The limit of array {found[1]} (%{found[3]} at once) is not in it:"
            " its tasks may start later."
        )


def _rank(row: _Row) -> tuple[bool, float, float]:
    return (not row.is_running, -row.priority, row.submitted_at_s)


# --- tables ---------------------------------------------------------------------------------------


def _is_header(cells: Sequence[str]) -> bool:
    return "JOBID" in cells and any(name in cells for name in _STATE_NAMES)


def _table_rows(path: Path, report: Report, limits: Limits) -> Iterator[tuple[int, _Row]]:
    for position, cells in table_rows(path, report, limits, _is_header):
        yield position, _row(cells)


def _row(cells: Mapping[str, str]) -> _Row:
    counts = (count_in(cells.get(name, "")) for name in ("CPUS", "NODES"))
    return _Row(
        job_id=cells["JOBID"],
        name=cells.get("NAME", ""),
        user=cells.get("USER", ""),
        partition=cells.get("PARTITION", ""),
        state=next(cells[name] for name in _STATE_NAMES if name in cells),
        reason=cells.get("REASON", cells.get("NODELIST(REASON)", "")),
        processors=next((one for one in counts if one is not None), None),
        limit_s=clock_s(cells.get("TIME_LIMIT") or cells.get("TIME_LIMI", "")),
        ran_s=clock_s(cells.get("TIME", "")) or 0.0,
        priority=_priority(cells.get("PRIORITY", "")),
        submitted_at_s=_instant_s(cells.get("SUBMIT_TIME", "")),
    )


def _priority(text: str) -> float:
    return float(text) if re.fullmatch(r"\d{1,12}(\.\d{1,15})?", text) else 0.0


def _instant_s(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return 0.0  # it only decides between jobs of one priority


# --- JSON -----------------------------------------------------------------------------------------


def _json_rows(path: Path, report: Report, limits: Limits) -> Iterator[tuple[int, _Row]]:
    yield from _rows_in(_json_document(path, report, limits), report)


def _json_document(path: Path, report: Report, limits: Limits) -> Mapping[str, Any]:
    return mapping(whole_json(path, report, limits))


def _rows_in(document: Mapping[str, Any], report: Report) -> Iterator[tuple[int, _Row]]:
    now_s = json_number(document.get("last_update"))
    for job in listed(document.get("jobs")):
        if isinstance(job, dict):
            yield 0, _json_row(job, now_s)
        else:
            report.skip(0, "a job is not an object")


def _json_row(job: Mapping[str, Any], now_s: float | None) -> _Row:
    states = job.get("job_state")
    minutes = json_number(job.get("time_limit"))
    started_at_s = json_number(job.get("start_time"))
    counts = (json_number(job.get(name)) for name in ("cpus", "node_count"))
    is_timed = now_s is not None and started_at_s is not None
    return _Row(
        job_id=_json_id(job),
        name=str(job.get("name") or ""),
        user=str(job.get("user_name") or ""),
        partition=str(job.get("partition") or ""),
        state=str(states[0] if isinstance(states, list) and states else states)[:40],
        reason=str(job.get("state_reason") or ""),
        processors=next((int(one) for one in counts if one), None),
        limit_s=None if minutes is None else minutes * 60,
        ran_s=max(0.0, (now_s or 0.0) - (started_at_s or 0.0)) if is_timed else 0.0,
        priority=json_number(job.get("priority")) or 0.0,
        submitted_at_s=json_number(job.get("submit_time")) or 0.0,
    )


def _json_id(job: Mapping[str, Any]) -> str:
    array, tasks = json_number(job.get("array_job_id")), job.get("array_task_string")
    task = json_number(job.get("array_task_id"))
    if array and task is not None:
        return f"{array:.0f}_{task:.0f}"
    if array and isinstance(tasks, str) and tasks:
        return f"{array:.0f}_[{tasks}]"
    return str(job.get("job_id", ""))


# --- jobs -----------------------------------------------------------------------------------------


def _jobs(row: _Row, options: Options) -> Iterator[RigidJob]:
    """The jobs of a row: several for the waiting elements of an array. Raises Unreadable."""
    for job in _queued(row):
        limit_s = job.limit_s or options.limit_s
        if limit_s is None or job.slots is None:
            raise Unreadable(f"job {row.job_id} has no time limit")
        length_s = max(limit_s - row.ran_s, options.least_s) if row.is_running else limit_s
        yield RigidJob(
            job_id=job.job_id,
            profile=row.name or FORMAT,
            pool=row.user or job.job_id,
            tasks=job.slots,
            submitted_at_s=0.0 if row.is_running else WAITING_AT_S,
            started_at_s=0.0 if row.is_running else None,
            run_s=length_s,
            is_gang=_IS_GANG,
            queue=row.partition or None,
            user=row.user or None,
            limit_s=length_s,
        )


def _queued(row: _Row) -> Iterator[QueuedJob]:
    """Do what `_jobs` does, also without a time limit."""
    if not row.is_running and row.state not in _WAITING:
        raise Unreadable(f"job {row.job_id} is {_WORDS.get(row.state, row.state[:40].lower())}")
    if _HELD in row.reason:
        raise Unreadable(f"job {row.job_id} is held")
    if row.processors is None or not 1 <= row.processors <= SLOTS_MAX:
        raise Unreadable(f"job {row.job_id} has no number of processors")
    for job_id in _ids(row.job_id):
        yield QueuedJob(
            job_id=checked_id(job_id, what="job"),
            name=row.name or FORMAT,
            user=row.user,
            slots=row.processors,
            limit_s=row.limit_s or None,
            ran_s=row.ran_s if row.is_running else None,
        )


def _ids(text: str) -> list[str]:
    """The ids of a row's jobs.

    >>> _ids("7"), _ids("12_[3-9:3,20%2]")
    (['7'], ['12_3', '12_6', '12_9', '12_20'])
    """
    if "[" not in text:
        return [text]
    found = _ARRAY.fullmatch(text)
    ranges = [_RANGE.fullmatch(part) for part in found[2].split(",")] if found else [None]
    tasks: list[int] = []
    for one in ranges:
        if one is None:
            raise Unreadable(f"job {text[:40]} has a list of tasks that is cut off, use squeue -r")
        first, last, step = int(one[1]), int(one[2] or one[1]), int(one[3] or 1)
        if step < 1 or last - first >= _ARRAY_TASKS_MAX or len(tasks) >= _ARRAY_TASKS_MAX:
            raise Unreadable(f"job {text[:40]} has more than {_ARRAY_TASKS_MAX} tasks")
        tasks += range(first, last + 1, step)
    return [f"{text.partition('_')[0]}_{task}" for task in tasks]
