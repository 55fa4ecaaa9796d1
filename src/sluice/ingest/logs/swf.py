"""The Standard Workload Format of the Parallel Workloads Archive, version 2.2.

A line is a job: 18 numbers, -1 for what is not known; lines that begin with `;` are comments, and
those at the head (`; MaxProcs: 240`) describe the machine. Read here, counting from 1:

    1 job   2 submitted   3 waited   4 ran   5 processors   6 CPU seconds a processor
    7 KB a processor   8 processors asked for   9 seconds asked for   11 status   12 user
    14 executable   15 queue

A job holds its processors from start to end, so it becomes one phase of as many tasks as it has
processors, each as long as the job, which start together. What was asked for is its limit. A job
without a run time is skipped; one that failed or was cancelled (status 0, 4, 5) is
a run without phases, for nothing of it ended well. Source: Chapin et al., "Benchmarks and Standards
for the Evaluation of Parallel Job Schedulers", 1999; definition at the Parallel Workloads Archive.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path

from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.reading import log_lines
from sluice.ingest.logs.report import Contents, Report, Unreadable, nothing_in_lines
from sluice.ingest.logs.rigid_jobs import Replay, RigidJob, contents_of, failed_choice
from sluice.model.cluster import SLOTS_MAX
from sluice.model.settings import number, whole
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import JOBS_MAX

FORMAT = "swf"
_COLUMNS = 18  # some archives append columns of their own
_COLUMNS_READ = (0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 13, 14)
_COLUMNS_NEEDED = 11
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,9})?(?:[eE][+-]?\d{1,2})?")
# The ninth and tenth column are not read, so anything may be in them.
_LINE = re.compile(rb"\s*\d+(\s+-?[0-9.]+){7}(\s+\S+){2}\s+-?[0-9.]+(\s+\S+)*\s*")
_HEAD = re.compile(rb"^;\s*(Version|MaxProcs|MaxNodes|UnixStartTime)\s*:\s*\d", re.MULTILINE)
_HEADER = re.compile(r";\s*(\w{1,40})\s*:\s*(.{0,200})")
_FAILED = frozenset((0, 4, 5))
_SECONDS_MAX = 1e10
_NOTES = (
    "A job is one phase: a task for each processor, each as long as the job.",
    "The format has no bytes.",
    "The tasks of a job start together, as a batch system starts them.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The part of a log that is replayed.

    failed: whether jobs that failed or were cancelled are submitted, too; they held processors.
    rounded_s: how long a job of 0 s is replayed; it ran for less than half a second.
    jobs_max: read the first so many jobs only; None for all.
    """

    failed: str = failed_choice("jobs")
    rounded_s: float = number(0.25, "seconds of a job whose run time is rounded to 0", above=0.0)
    jobs_max: int | None = whole(None, "read the first so many jobs only", low=1)


def recognises(path: Path, head: bytes) -> bool:  # noqa: ARG001  # the name does not matter
    """Lines of 18 numbers, but for comments; or the comments at the head."""
    if _HEAD.search(head):
        return True
    lines = [line for line in head.split(b"\n")[:-1] or [head] if line.strip()]
    records = [line for line in lines if not line.lstrip().startswith(b";")][:100]
    return 3 * sum(_LINE.fullmatch(line) is not None for line in records) > 2 * len(records) > 0


def read(path: Path, report: Report, options: Options, limits: Limits) -> Contents:
    """The jobs of a log, as runs and as a workload. Raises InvalidInput where there is none."""
    header: dict[str, str] = {}
    records: dict[int, RigidJob] = {}
    for position, line in log_lines(path, report, limits):
        text = line.decode("utf-8", "backslashreplace").strip()
        if text.startswith(";"):
            _read_header(text, header)
        elif text:
            if len(records) >= min(options.jobs_max or JOBS_MAX, JOBS_MAX):
                break
            try:
                number, job = _job(text, records)
                records[number] = job
            except Unreadable as error:
                report.skip(position, str(error))
    if not records:
        hint = f"give lines of {_COLUMNS} numbers"
        raise nothing_in_lines(path, report, "job of the Standard Workload Format", hint=hint)
    return _contents(path, list(records.values()), header, options)


def _read_header(text: str, header: dict[str, str]) -> None:
    found = _HEADER.fullmatch(text)
    if found and len(header) < 100:  # noqa: PLR2004  # the format knows some twenty
        header.setdefault(found[1], found[2].strip())


def _job(text: str, known: Container[int]) -> tuple[int, RigidJob]:
    """The job of a line, and its number. Raises Unreadable."""
    cells = text.split()
    if len(cells) < _COLUMNS_NEEDED:
        raise Unreadable(f"{len(cells)} columns, not {_COLUMNS}")
    cells += ["-1"] * (_COLUMNS - len(cells))
    numbers = {column: _number(cells[column]) for column in _COLUMNS_READ}
    job, submitted_at_s, wait_s, run_s = (numbers[column] for column in range(4))
    processors = numbers[4] if numbers[4] > 0 else numbers[7]
    if run_s < 0:
        raise Unreadable(f"job {job:g} has no run time")
    if not 1 <= processors <= SLOTS_MAX:
        raise Unreadable(f"job {job:g} has no number of processors")
    if int(job) in known:
        raise Unreadable(f"job {job:g} is given twice")
    if job < 0 or submitted_at_s < 0:
        raise Unreadable(f"job {job:g} submitted at {submitted_at_s:g}")
    user, executable, queue = (int(numbers[column]) for column in (11, 13, 14))
    name = str(int(job))
    return int(job), RigidJob(
        job_id=name,
        profile=_profile(user, executable),
        pool=f"user {user}" if user >= 0 else name,
        tasks=int(processors),
        submitted_at_s=submitted_at_s,
        started_at_s=submitted_at_s + wait_s if wait_s >= 0 else None,
        run_s=run_s,
        is_gang=True,
        is_failed=int(numbers[10]) in _FAILED,
        queue=f"queue {queue}" if queue >= 0 else None,
        limit_s=_limit_s(cells[8]),
        rss_bytes=int(numbers[6] * 1024) if numbers[6] > 0 else None,
        cpu_s=numbers[5] * int(processors) if numbers[5] >= 0 else None,
    )


def _limit_s(cell: str) -> float | None:
    """The time that the user asked for; some archives have other words in that column."""
    asked_s = float(cell) if _NUMBER.fullmatch(cell) else 0.0
    return asked_s if 0 < asked_s <= _SECONDS_MAX else None


def _number(cell: str) -> float:
    value = float(cell) if _NUMBER.fullmatch(cell) else math.nan
    if not abs(value) <= _SECONDS_MAX:
        raise Unreadable(f"{cell[:40]!r} where a number should be")
    return value


def _contents(
    path: Path, jobs: list[RigidJob], header: dict[str, str], options: Options
) -> Contents:
    began = header.get("UnixStartTime", "")
    is_dated = began.isascii() and began.isdigit() and len(began) < 12  # noqa: PLR2004  # a date
    short = sum(job.run_s == 0 for job in jobs)
    rounded = f"rounded_s = {options.rounded_s:g}: {short} jobs of 0 s are replayed so long."
    replay = Replay(
        source=FORMAT,
        slots_name="processors",
        slots=_machine(header, max(one.tasks for one in jobs)) or None,
        least_s=options.rounded_s,
        keeps_failed=options.failed == "keep",
        why_slots="the most in use at once (the head has no size)",
        why_given="",
        failed="jobs that failed or were cancelled",
        more=(rounded,) if short else (),
        kind=SlotKind.MAP,
        log=began if is_dated else path.name.split(".")[0] or FORMAT,
        first_s=0.0,
        epoch_s=float(began) if is_dated else 0.0,
    )
    return contents_of(path, jobs, replay, _NOTES)


def _machine(header: dict[str, str], most: int) -> int:
    """Processors of the machine; 0 if not in the head. most: processors of the largest job.

    Where a job has more processors than the machine has nodes, a node has several.
    """
    for name, least in (("MaxProcs", 1), ("MaxNodes", most)):
        text = header.get(name, "").split(" ")[0]
        if text.isascii() and text.isdigit() and least <= int(text[:10]) <= SLOTS_MAX:
            return int(text)
    return 0


def _profile(user: int, executable: int) -> str:
    """The format names no jobs: runs of one executable are one job."""
    words = f"executable {executable}" if executable >= 0 else ""
    return " of ".join(one for one in (words, f"user {user}" if user >= 0 else "") if one) or FORMAT
