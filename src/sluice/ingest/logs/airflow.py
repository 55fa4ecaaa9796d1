"""Airflow: the task instances of DAG runs, as the REST API gives them, or as a table.

JSON: `{"task_instances": [..]}` of `/dags/~/dagRuns/~/taskInstances`, or the list alone. CSV: an
export of the table `task_instance`. `airflow tasks states-for-dag-run -o json` has the date of the
run for its name. Read are dag_id, dag_run_id (run_id, or the date), task_id, map_index, state,
start_date, end_date, queued_when (queued_dttm), try_number and pool.

A DAG run is a job, and each of its tasks a stage of one task, or of as many as it was mapped to.
The list has no edges of the graph: a stage comes after those that had ended when it began. A run in
which a task failed is a run without phases, for nothing of it ended well. One that is not over, or
has a task without times, is skipped as a whole; tasks that Airflow skipped are left out.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from sluice.ingest.logs.instants import iso_instant_s
from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.reading import log_bytes
from sluice.ingest.logs.report import Contents, NoOptions, Report, Unreadable, nothing_found
from sluice.ingest.logs.stage_runs import NAME_MAX, RUNS_MAX, StageRun
from sluice.ingest.logs.whole_json import mapping, parsed
from sluice.model.errors import InvalidInput

FORMAT = "airflow"
Options = NoOptions
_KEYS: Final = {"dag_id", "task_id", "state", "start_date", "end_date"}
_WELL: Final = "success"
_RUN_NAMES: Final = ("dag_run_id", "run_id", "logical_date", "execution_date")  # surest first
_LEFT_OUT: Final = frozenset({"skipped", "removed"})
_FAILED: Final = frozenset({"failed", "upstream_failed", "shutdown"})
_NOTES = (
    "A DAG run is a job: a task is a stage, after those that had ended when it began.",
    "The format has no bytes.",
)


def recognises(path: Path, head: bytes) -> bool:  # noqa: ARG001  # the name does not matter
    """Task instances: their keys in JSON, or as the columns of a first line."""
    first = head.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0]
    if first[:1] in {b"{", b"["}:
        return all(f'"{key}"'.encode() in head for key in ("dag_id", "task_id", "start_date"))
    text = first.decode("utf-8", "replace").strip()
    return set(text.replace('"', "").split(_delimiter(text))) >= _KEYS


def _delimiter(header: str) -> str:
    """The delimiter of a table: European exports have semicolons, others commas or tabs."""
    return max(",;\t", key=header.count)


def read(path: Path, report: Report, options: Options, limits: Limits) -> Contents:  # noqa: ARG001  # there is nothing to choose
    """The DAG runs of the list. Raises InvalidInput where there is none."""
    content = log_bytes(path, report, limits)
    runs: dict[tuple[str, str], StageRun] = {}
    for position, instance in enumerate(_instances(path, content), start=1):
        with report.skipping(position):
            _take(instance, runs)
    is_none_over = all(run.is_partial for run in runs.values())
    for (dag, name), run in runs.items():
        if is_none_over and run.stages:
            run.is_partial = False
            report.skip(0, f"run {name} of {dag} is not over: its tasks that ended are the run")
        elif run.is_partial:
            report.skip(0, f"run {name} of {dag} is left out, for a part of it is missing")
    found = [run for run in runs.values() if run.has_run]
    if not found:
        raise nothing_found(
            path,
            report,
            "task instance that ran",
            hint="give the JSON of /api/v1/dags/~/dagRuns/~/taskInstances, or task_instance as CSV",
        )
    return Contents(runs=tuple(run.past_run(FORMAT, _NOTES) for run in found), notes=_NOTES)


def _instances(path: Path, content: bytes) -> Iterator[Mapping[str, Any]]:
    if content.lstrip()[:1] not in {b"{", b"["}:
        try:
            text = content.decode("utf-8-sig", "backslashreplace").lstrip()
            delimiter = _delimiter(text.partition("\n")[0])
            yield from csv.DictReader(io.StringIO(text), delimiter=delimiter)
        except csv.Error as error:
            raise InvalidInput(
                f"it is not valid CSV: {error}", where=str(path), hint="export the table again"
            ) from None
        return
    found: Any = parsed(path, content)
    listed = found.get("task_instances") if isinstance(found, dict) else found
    if not isinstance(listed, list):
        raise InvalidInput(
            "it has no list of task_instances", where=str(path), hint="give the whole answer"
        )
    yield from map(mapping, listed)


def _take(instance: Mapping[str, Any], runs: dict[tuple[str, str], StageRun]) -> None:
    dag, task = _text(instance, "dag_id"), _text(instance, "task_id")
    name = next(filter(None, (_text(instance, key) for key in _RUN_NAMES)), "")
    if not dag or not task or not name:
        raise Unreadable("it has no dag_id, run or task_id")
    state = _text(instance, "state").lower()
    if state in _LEFT_OUT:
        return
    if (dag, name) not in runs and len(runs) >= RUNS_MAX:
        raise Unreadable(f"more than {RUNS_MAX} DAG runs")
    run = runs.setdefault((dag, name), StageRun(f"{dag}/{name}", dag))
    if state not in {_WELL, *_FAILED}:
        run.is_partial = True
        raise Unreadable(f"task {task} of {dag} is {state or 'without a state'}")
    run.is_failed = run.is_failed or state in _FAILED
    start_s, end_s = _instant_s(instance, "start_date"), _instant_s(instance, "end_date")
    if start_s is None or end_s is None or end_s < start_s:
        if state in _FAILED:
            return
        run.is_partial = True
        raise Unreadable(f"task {task} of {dag} has no start or end")
    queued_s = _instant_s(instance, "queued_when") or _instant_s(instance, "queued_dttm") or start_s
    run.lasted(min(queued_s, start_s), end_s)
    run.queue = run.queue or _text(instance, "pool")
    if state == _WELL:
        run.stage(task).times.append((start_s, end_s))


def _text(instance: Mapping[str, Any], key: str) -> str:
    value = instance.get(key)
    return "" if value is None else str(value).strip()[:NAME_MAX]


def _instant_s(instance: Mapping[str, Any], key: str) -> float | None:
    return iso_instant_s(_text(instance, key), key)
