"""SWIM traces (tab-separated, one job a line) as workloads.

A line holds: job id, submission in seconds, gap since the job before, bytes that the maps read,
bytes shuffled, bytes that the reduces write, and in some files two paths. There are no task counts
and no durations, so both are made from sizes by the rates in `SwimOptions`; `notes` lists them,
and is shown with every result. A job that shuffles nothing is map-only: its maps write.

    maps      = ceil(input / block_bytes), at least 1
    map_s     = task_s + (input [+ output if map-only]) / maps / map_bytes_per_s
    reduces   = ceil(max(shuffle, output) / reduce_bytes), at least 1
    fetch_s   = shuffle / reduces / fetch_bytes_per_s
    reduce_s  = task_s + (shuffle + output) / reduces / reduce_bytes_per_s

Sizes inside a job are taken to be even, so the longest task is the average one. The gap repeats the
submissions and is not used. Source of the format: SWIM, the Statistical Workload Injector for
MapReduce (SWIMProjectUCB/SWIM), workloadSuite.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.options import check_options, settings_in
from sluice.ingest.logs.reading import log_lines
from sluice.ingest.logs.report import Contents, Report, Skipped, Unreadable, nothing_in_lines
from sluice.ingest.reading import read_source, source_name
from sluice.model.errors import InvalidInput
from sluice.model.history import PastPhase, PastRun
from sluice.model.ids import JobId, PoolId, checked_id
from sluice.model.job import TASKS_MAX, Job, Phase
from sluice.model.lengths import ConstantLengths
from sluice.model.settings import number, whole
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import JOBS_MAX, Workload

FORMAT = "swim"
_COLUMNS = ("job", "submit", "gap", "map_input", "shuffle", "reduce_output")
_HINT = f"give tab-separated lines of {', '.join(_COLUMNS)}"
_COLUMNS_MAX = 8  # with the paths of input and output
_SECONDS = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,9})?")
_BYTES = re.compile(r"[0-9]{1,18}")
_LINE = re.compile(
    rb"[^\t\n]{1,200}\t[0-9.]+\t-?[0-9.]+\t[0-9]+\t[0-9]+\t[0-9]+(\t[^\t\n]*){0,2}\t?\r?"
)
_SHOWN = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class SwimOptions:
    """The values that a SWIM trace lacks: sizes in bytes, rates in bytes per second, above 0.

    task_s: seconds of every task in addition to its bytes (starting, committing).
    jobs_max: read the first so many jobs only; None for all.
    """

    block_bytes: int = whole(128 * 1024 * 1024, "input of one map", low=1)
    reduce_bytes: int = whole(
        1024 * 1024 * 1024, "shuffled or written bytes of one reduce, whichever is more", low=1
    )
    map_bytes_per_s: float = number(10e6, "what one map reads (and, map-only, writes)", above=0.0)
    fetch_bytes_per_s: float = number(20e6, "what one reduce fetches", above=0.0)
    reduce_bytes_per_s: float = number(20e6, "what one reduce reads and writes", above=0.0)
    task_s: float = number(2.0, "seconds of every task in addition to its bytes", above=0.0)
    jobs_max: int | None = whole(None, "read the first so many jobs only", low=1)

    def __post_init__(self) -> None:
        check_options(self, "SWIM options")

    def notes(self) -> list[str]:
        """The values that were chosen, one line each, to show with results.

        >>> SwimOptions().notes()[0]
        'block_bytes = 134217728: input of one map (not in the trace)'
        """
        return [
            f"{name} = {_plain(getattr(self, name))}: {setting.meaning} (not in the trace)"
            for name, setting in settings_in(SwimOptions).items()
            if name != "jobs_max"
        ]


Options = SwimOptions


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class SwimTrace:
    """The jobs of a trace as a workload without a cluster, and what was left out or chosen."""

    workload: Workload
    skipped: tuple[Skipped, ...]
    notes: tuple[str, ...]


class _Line(NamedTuple):
    job: str
    submitted_at_s: float
    map_input_bytes: int
    shuffle_bytes: int
    output_bytes: int


def recognises(path: Path, head: bytes) -> bool:  # noqa: ARG001  # the name does not matter
    """Two lines in three, of those that are whole, are lines of SWIM's."""
    lines = [line for line in head.split(b"\n")[:-1] or [head] if line.strip()][:100]
    return 3 * sum(_LINE.fullmatch(line) is not None for line in lines) > 2 * len(lines)


def read(path: Path, report: Report, options: SwimOptions, limits: Limits) -> Contents:
    """The jobs of a trace: as a workload, and as runs whose lengths were made from sizes.

    Raises InvalidInput where there is no job in it.
    """
    lines = _jobs(_texts(log_lines(path, report, limits)), report, options)
    jobs_by_id = {job.job_id: (job, line) for job, line in lines}
    if not jobs_by_id:
        raise nothing_in_lines(path, report, "SWIM job", hint=_HINT)
    profile, notes = path.name.split(".")[0] or FORMAT, tuple(options.notes())
    runs = tuple(_run(job, line, profile, notes) for job, line in jobs_by_id.values())
    jobs = tuple(job for job, _ in jobs_by_id.values())
    workload = Workload(cluster=None, jobs=jobs, source=str(path))
    return Contents(runs=runs, notes=notes, workload=workload)


def load_swim(path: str | Path, *, options: SwimOptions | None = None) -> SwimTrace:
    """The jobs of a SWIM trace; "-" reads standard input.

    Lines without a usable job are skipped and reported. Raises InvalidInput where
    the file cannot be read, is too large, or holds no job at all.
    """
    source = str(path)
    content = read_source(source)
    return parse_swim(content, source=source_name(source), options=options or SwimOptions())


def parse_swim(content: bytes, *, source: str, options: SwimOptions) -> SwimTrace:
    """Do what `load_swim` does, from bytes."""
    report = Report()
    numbered = enumerate(content.split(b"\n"), start=1)
    jobs = tuple(job for job, _ in _jobs(_texts(numbered), report, options))
    if not jobs:
        raise nothing_in_lines(source, report, "SWIM job", hint=_HINT)
    workload = Workload(cluster=None, jobs=jobs, source=source)
    return SwimTrace(workload=workload, skipped=report.skipped, notes=tuple(options.notes()))


def _jobs(
    texts: Iterable[tuple[int, str]], report: Report, options: SwimOptions
) -> Iterator[tuple[Job, _Line]]:
    """Each job with its line; other lines go to the report."""
    known: set[str] = set()
    most = min(options.jobs_max or JOBS_MAX, JOBS_MAX)
    for position, text in texts:
        if len(known) == most:
            if options.jobs_max is None:
                report.skip(position, f"above {JOBS_MAX} jobs; the rest is left out")
            break
        try:
            line = _read_line(text, known)
            job = _job(line, options)
        except (Unreadable, InvalidInput) as error:
            report.skip(position, str(error))
        else:
            known.add(job.job_id)
            yield job, line


def _texts(lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, str]]:
    """Numbered lines with something in them; bytes that are no UTF-8 show as escapes."""
    for position, line in lines:
        text = line.rstrip(b"\r").decode("utf-8", "backslashreplace")
        if text.strip():
            yield position, text


def _read_line(text: str, known: Container[str]) -> _Line:
    cells = [cell.strip() for cell in text.split("\t")]
    while len(cells) > len(_COLUMNS) and not cells[-1]:
        cells.pop()  # SWIM ends its lines with paths by a TAB
    if not len(_COLUMNS) <= len(cells) <= _COLUMNS_MAX:
        raise Unreadable(f"{len(cells)} columns, not {len(_COLUMNS)} to {_COLUMNS_MAX}")
    if cells[0] in known:
        raise Unreadable(f"job id {cells[0][:_SHOWN]!r} is given twice")
    return _Line(
        checked_id(cells[0], what="job"),
        float(_cell(cells, 1, _SECONDS)),
        int(_cell(cells, 3, _BYTES)),
        int(_cell(cells, 4, _BYTES)),
        int(_cell(cells, 5, _BYTES)),
    )


def _cell(cells: list[str], column: int, pattern: re.Pattern[str]) -> str:
    text = cells[column]
    if pattern.fullmatch(text) is None:
        raise Unreadable(f"{_COLUMNS[column]} is {text[:_SHOWN]!r}, not a number of 0 or more")
    return text


def _job(line: _Line, options: SwimOptions) -> Job:
    phases = [_map_phase(line, options)]
    if line.shuffle_bytes:
        phases.append(_reduce_phase(line, options))
    if sum(phase.tasks for phase in phases) > TASKS_MAX:
        raise Unreadable(f"more than {TASKS_MAX} tasks")
    return Job(
        job_id=JobId(line.job),
        pool=PoolId(line.job),
        phases=tuple(phases),
        submitted_at_s=line.submitted_at_s,
    )


def _map_phase(line: _Line, options: SwimOptions) -> Phase:
    tasks = max(1, -(-line.map_input_bytes // options.block_bytes))
    worked = line.map_input_bytes + (0 if line.shuffle_bytes else line.output_bytes)
    map_s = options.task_s + worked / tasks / options.map_bytes_per_s
    return Phase(name="map", kind=SlotKind.MAP, tasks=tasks, lengths=ConstantLengths(map_s, map_s))


def _reduce_phase(line: _Line, options: SwimOptions) -> Phase:
    tasks = max(1, -(-max(line.shuffle_bytes, line.output_bytes) // options.reduce_bytes))
    fetch_s = line.shuffle_bytes / tasks / options.fetch_bytes_per_s
    worked = line.shuffle_bytes + line.output_bytes
    reduce_s = options.task_s + worked / tasks / options.reduce_bytes_per_s
    return Phase(
        name="reduce",
        kind=SlotKind.REDUCE,
        tasks=tasks,
        lengths=ConstantLengths(reduce_s, reduce_s),
        fetch=ConstantLengths(fetch_s, fetch_s),
        after=(0,),
    )


def _run(job: Job, line: _Line, profile: str, notes: tuple[str, ...]) -> PastRun:
    """The job as if it had run: its bytes are the trace's, its lengths the options'."""
    maps, *reduces = (_past_phase(phase) for phase in job.phases)
    phases = [
        replace(
            maps,
            input_bytes=line.map_input_bytes,
            shuffle_write_bytes=line.shuffle_bytes,
            output_bytes=0 if reduces else line.output_bytes,
        ),
        *(
            replace(one, shuffle_read_bytes=line.shuffle_bytes, output_bytes=line.output_bytes)
            for one in reduces
        ),
    ]
    return PastRun(
        run_id=f"{profile}/{job.job_id}",
        profile=profile,
        source=FORMAT,
        phases=tuple(phases),
        submitted_at_s=job.submitted_at_s,
        notes=notes,
    )


def _past_phase(phase: Phase) -> PastPhase:
    assert phase.lengths is not None, "every phase was given lengths"
    fetch_s = 0.0 if phase.fetch is None else phase.fetch.avg_s(phase.tasks)
    length_s = fetch_s + phase.lengths.avg_s(phase.tasks)
    return PastPhase(
        name=phase.name,
        kind=phase.kind.value,
        tasks=phase.tasks,
        avg_s=length_s,
        max_s=length_s,
        after=phase.after,
    )
