"""SWIM traces (tab-separated, one job a line) as workloads.

A line holds: job id, submission in seconds, gap since the job before, bytes that the maps read,
bytes shuffled, bytes that the reduces write, and in some files two paths. There are no task counts
and no durations, so both are made from sizes by the rates in `SwimOptions`; `notes` tells them,
and belongs beside every result. A job that shuffles nothing is map-only: its maps write.

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

import math
import re
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sluice.ingest.reading import read_source, source_name
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId, PoolId, checked_id
from sluice.model.job import TASKS_MAX, Job, Phase, SlotKind
from sluice.model.lengths import ConstantLengths
from sluice.model.workload import JOBS_MAX, Workload

_COLUMNS = ("job", "submit", "gap", "map_input", "shuffle", "reduce_output")
_COLUMNS_WITH_PATHS = 8
_SECONDS = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,9})?")
_BYTES = re.compile(r"[0-9]{1,18}")
_SHOWN = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class SwimOptions:
    """What a SWIM trace does not say: sizes in bytes, rates in bytes per second, above 0.

    task_s: seconds that every task takes beside its bytes (starting, committing).
    jobs_max: read the first so many jobs only; None for all.
    """

    block_bytes: int = 128 * 1024 * 1024
    reduce_bytes: int = 1024 * 1024 * 1024
    map_bytes_per_s: float = 10e6
    fetch_bytes_per_s: float = 20e6
    reduce_bytes_per_s: float = 20e6
    task_s: float = 2.0
    jobs_max: int | None = None

    def __post_init__(self) -> None:
        for name in self._rates():
            if not 0 < getattr(self, name) < math.inf:
                raise InvalidInput(
                    f"{name} is {getattr(self, name)}",
                    where="SWIM options",
                    mend="give a finite number above 0",
                )
        if self.jobs_max is not None and self.jobs_max < 1:
            raise InvalidInput(
                f"jobs_max is {self.jobs_max}", where="SWIM options", mend="give 1 or more"
            )

    @staticmethod
    def _rates() -> tuple[str, ...]:
        sizes = ("block_bytes", "reduce_bytes")
        return (*sizes, "map_bytes_per_s", "fetch_bytes_per_s", "reduce_bytes_per_s", "task_s")

    def notes(self) -> list[str]:
        """The values that were chosen, one line each, to stand beside results.

        >>> SwimOptions().notes()[0]
        'block_bytes = 134217728: input of one map (not in the trace)'
        """
        meanings = (
            "input of one map",
            "shuffled or written bytes of one reduce, whichever is more",
            "what one map reads (and, map-only, writes)",
            "what one reduce fetches",
            "what one reduce reads and writes",
            "seconds of every task beside its bytes",
        )
        return [
            f"{name} = {getattr(self, name):g}: {meaning} (not in the trace)"
            if isinstance(getattr(self, name), float)
            else f"{name} = {getattr(self, name)}: {meaning} (not in the trace)"
            for name, meaning in zip(self._rates(), meanings, strict=True)
        ]


class SkippedLine(NamedTuple):
    """A line that tells no job, and why; lines count from 1."""

    line: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SwimTrace:
    """The jobs of a trace as a workload without a cluster, and what was left out or chosen."""

    workload: Workload
    skipped: tuple[SkippedLine, ...]
    notes: tuple[str, ...]


class _Unreadable(Exception):
    """One line of a trace tells no job."""


class _Line(NamedTuple):
    job: str
    submitted_at_s: float
    map_input_bytes: int
    shuffle_bytes: int
    output_bytes: int


def load_swim(path: str | Path, *, options: SwimOptions | None = None) -> SwimTrace:
    """The jobs of a SWIM trace; "-" reads standard input.

    Lines that tell no job are skipped and reported, none is guessed at. Raises InvalidInput where
    the file cannot be read, is too large, or holds no job at all.
    """
    source = str(path)
    content = read_source(source)
    return parse_swim(content, source=source_name(source), options=options or SwimOptions())


def parse_swim(content: bytes, *, source: str, options: SwimOptions) -> SwimTrace:
    """As `load_swim`, from bytes."""
    jobs: dict[str, Job] = {}
    skipped: list[SkippedLine] = []
    most = JOBS_MAX if options.jobs_max is None else min(options.jobs_max, JOBS_MAX)
    for number, text in _lines(content):
        if len(jobs) == most:
            if options.jobs_max is None:
                skipped.append(SkippedLine(number, f"above {JOBS_MAX} jobs; the rest is left out"))
            break
        try:
            job = _job(_read_line(text, jobs), options)
        except (_Unreadable, InvalidInput) as error:
            skipped.append(SkippedLine(number, str(error)))
        else:
            jobs[job.job_id] = job
    if not jobs:
        raise _no_jobs(source, skipped)
    workload = Workload(cluster=None, jobs=tuple(jobs.values()), source=source)
    return SwimTrace(workload=workload, skipped=tuple(skipped), notes=tuple(options.notes()))


def _no_jobs(source: str, skipped: list[SkippedLine]) -> InvalidInput:
    why = f" (line {skipped[0].line}: {skipped[0].why})" if skipped else ""
    return InvalidInput(
        f"it holds no SWIM job{why}",
        where=source,
        mend=f"give tab-separated lines of {', '.join(_COLUMNS)}",
    )


def _lines(content: bytes) -> Iterator[tuple[int, str]]:
    """Numbered lines with something in them; bytes that are no UTF-8 show as escapes."""
    for number, line in enumerate(content.split(b"\n"), start=1):
        text = line.rstrip(b"\r").decode("utf-8", "backslashreplace")
        if text.strip():
            yield number, text


def _read_line(text: str, known: Container[str]) -> _Line:
    cells = [cell.strip() for cell in text.split("\t")]
    if len(cells) not in (len(_COLUMNS), _COLUMNS_WITH_PATHS):
        raise _Unreadable(f"{len(cells)} columns, not {len(_COLUMNS)} or {_COLUMNS_WITH_PATHS}")
    if cells[0] in known:
        raise _Unreadable(f"job id {cells[0][:_SHOWN]!r} stands twice")
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
        raise _Unreadable(f"{_COLUMNS[column]} is {text[:_SHOWN]!r}, not a number of 0 or more")
    return text


def _job(line: _Line, options: SwimOptions) -> Job:
    phases = [_map_phase(line, options)]
    if line.shuffle_bytes:
        phases.append(_reduce_phase(line, options))
    if sum(phase.tasks for phase in phases) > TASKS_MAX:
        raise _Unreadable(f"more than {TASKS_MAX} tasks")
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
