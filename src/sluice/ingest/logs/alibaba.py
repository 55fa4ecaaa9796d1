"""Alibaba: `batch_task.csv` of the cluster trace of 2018, with or without a line of names.

Columns: task_name, instance_num, job_name, task_type, status, start_time, end_time, plan_cpu (100 a
core), plan_mem. A job is a job and each of its tasks a stage of `instance_num` tasks. The name has
the graph: `R3_1_2` is stage 3 after stages 1 and 2; names of another form wait for nothing. The
table has no single instances: each is taken to last as long as its stage did. It has no size of the
cluster either: that is taken to be the most instances at once. A job with a task that failed is a
run without phases; one with a task that was not over is left out.
Source of the format: alibaba/clusterdata, cluster-trace-v2018.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.reading import log_lines
from sluice.ingest.logs.report import Contents, NoOptions, Report, Unreadable, nothing_found
from sluice.ingest.logs.rigid_jobs import most_at_once
from sluice.ingest.logs.stage_runs import NAME_MAX, RUNS_MAX, Stage, StageRun
from sluice.model.cluster import SLOTS_MAX

FORMAT = "alibaba"
Options = NoOptions
_COLUMNS: Final = 9
_HEAD: Final = b"task_name,"
_ROW = re.compile(
    rb"[^,\n]{1,200},\d{1,9}(?:\.0)?,j_\d+,[^,\n]*,[A-Z][a-z]+,[\d.]*,[\d.]*,[\d.]*,[\d.]*\r?"
)
_GRAPH = re.compile(r"[A-Za-z]+(\d{1,6})((?:_\d{1,6})*)(?:_[A-Za-z]\w*)?")
_WELL: Final = "Terminated"
_FAILED: Final = frozenset({"Failed", "Cancelled", "Interrupted"})
_NOTES = (
    "A task of the trace is a stage; each of its instances is taken to last as long as the stage.",
    "The format has no bytes.",
)


class _Row(NamedTuple):
    """One line; its instants are seconds of the trace."""

    job: str
    task: str
    instances: int
    status: str
    start_s: float
    end_s: float


def recognises(path: Path, head: bytes) -> bool:  # noqa: ARG001  # the name does not matter
    """Lines of nine columns with a job in the third; or their names."""
    lines = head.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if lines[0].startswith(_HEAD) and b"job_name" in lines[0]:
        return True
    rows = [line for line in lines[:-1] or lines if line.strip()][:100]
    return 3 * sum(_ROW.fullmatch(line) is not None for line in rows) > 2 * len(rows) > 0


def read(path: Path, report: Report, options: Options, limits: Limits) -> Contents:  # noqa: ARG001  # there is nothing to choose
    """The jobs of the table. Raises InvalidInput where none is whole."""
    runs: dict[str, StageRun] = {}
    for position, line in log_lines(path, report, limits):
        if position == 1 and line.removeprefix(b"\xef\xbb\xbf").startswith(_HEAD):
            continue
        try:
            _take(_row(line.decode("utf-8", "backslashreplace")), runs)
        except Unreadable as error:
            report.skip(position, str(error))
    for name, run in runs.items():
        if run.is_partial:
            report.skip(0, f"job {name} is left out, for a part of it is missing")
    found = [run for run in runs.values() if run.has_run]
    if not found:
        raise nothing_found(path, report, "job that is whole", hint="give batch_task.csv")
    for run in found:
        _link(run)
    slots = _most_instances(found)
    return Contents(
        runs=tuple(run.past_run(FORMAT, _NOTES, {"map": slots}) for run in found),
        notes=(*_NOTES, f"slots = {slots}: the most instances at once (the trace has no size)."),
    )


def _row(text: str) -> _Row:
    try:
        cells = next(csv.reader([text.strip()]), [])
    except csv.Error as error:
        raise Unreadable(f"it is not valid CSV: {error}") from None
    if len(cells) != _COLUMNS:
        raise Unreadable(f"it has {len(cells)} columns, not {_COLUMNS}")
    # A data frame writes whole numbers as 1.0 where a cell of the column is empty.
    whole = (cell.strip().removesuffix(".0") for cell in cells)
    task, instances, job, _, status, start, end, _, _ = whole
    if not task or not job:
        raise Unreadable("it has no task or no job")
    if not instances.isdecimal() or not 1 <= int(instances[:10]) <= SLOTS_MAX:
        raise Unreadable(f"{task[:40]} of {job[:40]} has {instances[:20] or 'no'} instances")
    return _Row(
        job[:NAME_MAX], task[:NAME_MAX], int(instances[:10]), status, _number(start), _number(end)
    )


def _number(text: str) -> float:
    """Seconds; NaN where there are none."""
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 12 else math.nan  # noqa: PLR2004  # 30 years


def _take(row: _Row, runs: dict[str, StageRun]) -> None:
    if row.job not in runs and len(runs) >= RUNS_MAX:
        raise Unreadable(f"more than {RUNS_MAX} jobs")
    run = runs.setdefault(row.job, StageRun(row.job, row.job))
    if row.status in _FAILED:
        run.is_failed = True
        return
    if row.status != _WELL or not 0 < row.start_s <= row.end_s:
        run.is_partial = True
        raise Unreadable(
            f"{row.task[:40]} of {row.job[:40]} has no start or end"
            if row.status == _WELL
            else f"{row.task[:40]} of {row.job[:40]} is {row.status[:20] or 'without a status'}"
        )
    if row.task in run.stages:
        raise Unreadable(f"{row.task[:40]} of {row.job[:40]} is given twice")
    run.lasted(row.start_s, row.end_s)
    run.stages[row.task] = Stage(times=[(row.start_s, row.end_s)], tasks=row.instances)


def _link(run: StageRun) -> None:
    """Give the stages their parents, by the numbers in the names."""
    graph = {name: found for name in run.stages if (found := _GRAPH.fullmatch(name))}
    named = {int(found[1]): name for name, found in graph.items()}
    for name, found in graph.items():
        numbers = (int(one) for one in found[2].split("_") if one)
        run.stages[name].parents = tuple(named[one] for one in numbers if one in named)


def _most_instances(runs: Iterable[StageRun]) -> int:
    return most_at_once(
        (start_s, max(end_s, math.nextafter(start_s, math.inf)), stage.tasks)
        for run in runs
        for stage in run.stages.values()
        for start_s, end_s in stage.times
    )
