"""Airflow: the task instances of DAG runs, as the REST API gives them, or as a table.

JSON: `{"task_instances": [..]}` of `/dags/~/dagRuns/~/taskInstances`, or the list alone. CSV: an
export of the table `task_instance`. Read are dag_id, dag_run_id (run_id), task_id, map_index,
state, start_date, end_date, queued_when (queued_dttm), try_number and pool.

A DAG run is a job, and each of its tasks a stage of one task, or of as many as it was mapped to.
The list has no edges of the graph: a stage comes after those that had ended when it began. A run in
which a task failed is a run without phases, for nothing of it ended well. One that is not over, or
has a task without times, is skipped as a whole; tasks that Airflow skipped are left out.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import orjson

from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.reading import log_bytes
from sluice.ingest.logs.report import Contents, NoOptions, Report
from sluice.model.errors import InvalidInput
from sluice.model.history import PastPhase, PastRun, PastTask

FORMAT = "airflow"
Options = NoOptions
_KEYS: Final = {"dag_id", "task_id", "state", "start_date", "end_date"}
_VALUES_MAX: Final = 10**7
_NAME_MAX: Final = 200
_RUNS_MAX: Final = 100_000
_WELL: Final = "success"
_LEFT_OUT: Final = frozenset({"skipped", "removed"})
_FAILED: Final = frozenset({"failed", "upstream_failed", "shutdown"})
_NOTES = (
    "A DAG run is a job: a task is a stage, after those that had ended when it began.",
    "The format has no bytes.",
)


class _Unreadable(Exception):
    """A task instance that cannot be used."""


@dataclass(slots=True)
class _Run:
    """One DAG run while its tasks are read. tasks: by name, (start, end) in seconds."""

    dag: str
    name: str
    submitted_at_s: float = math.inf
    ended_at_s: float = 0.0
    pool: str = ""
    is_failed: bool = False
    is_partial: bool = False
    tasks: dict[str, list[tuple[float, float]]] = field(default_factory=dict)


def recognises(path: Path, head: bytes) -> bool:  # noqa: ARG001  # the name does not matter
    """Task instances: their keys in JSON, or as the columns of a first line."""
    first = head.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0]
    if first[:1] in {b"{", b"["}:
        return all(f'"{key}"'.encode() in head for key in ("dag_id", "task_id", "start_date"))
    return set(first.decode("utf-8", "replace").strip().split(",")) >= _KEYS


def read(path: Path, report: Report, options: Options, limits: Limits) -> Contents:  # noqa: ARG001  # there is nothing to choose
    """The DAG runs of the list. Raises InvalidInput where there is none."""
    content = log_bytes(path, report, limits)
    runs: dict[tuple[str, str], _Run] = {}
    for position, instance in enumerate(_instances(path, content), start=1):
        try:
            _take(instance, runs)
        except _Unreadable as error:
            report.skip(position, str(error))
    for run in runs.values():
        if run.is_partial:
            report.skip(0, f"run {run.name} of {run.dag} is left out, for a part of it is missing")
    whole = [run for run in runs.values() if not run.is_partial]
    found = [run for run in whole if run.tasks or run.is_failed]
    if not found:
        skipped = report.skipped
        why = f" ({skipped[0].why})" if skipped else ""
        raise InvalidInput(
            f"it holds no task instance that ran{why}",
            where=str(path),
            hint="give the JSON of /api/v1/dags/~/dagRuns/~/taskInstances, or task_instance as CSV",
        )
    return Contents(runs=tuple(_past_run(run) for run in found), notes=_NOTES)


def _instances(path: Path, content: bytes) -> Iterator[Mapping[str, Any]]:
    if content.lstrip()[:1] not in {b"{", b"["}:
        try:
            yield from csv.DictReader(io.StringIO(content.decode("utf-8-sig", "backslashreplace")))
        except csv.Error as error:
            raise InvalidInput(
                f"it is not valid CSV: {error}", where=str(path), hint="export the table again"
            ) from None
        return
    if sum(content.count(mark) for mark in (b",", b"{", b"[")) > _VALUES_MAX:
        raise InvalidInput(
            f"it holds more than {_VALUES_MAX} values", where=str(path), hint="cut it into parts"
        )
    try:
        found = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise InvalidInput(
            f"it is not JSON: {error}", where=str(path), hint="give the whole list, in UTF-8"
        ) from None
    listed = found.get("task_instances") if isinstance(found, dict) else found
    if not isinstance(listed, list):
        raise InvalidInput(
            "it has no list of task_instances", where=str(path), hint="give the whole answer"
        )
    yield from (one if isinstance(one, dict) else {} for one in listed)


def _take(instance: Mapping[str, Any], runs: dict[tuple[str, str], _Run]) -> None:
    dag, task = _text(instance, "dag_id"), _text(instance, "task_id")
    name = _text(instance, "dag_run_id") or _text(instance, "run_id")
    if not dag or not task or not name:
        raise _Unreadable("it has no dag_id, run or task_id")
    state = _text(instance, "state").lower()
    if state in _LEFT_OUT:
        return
    if (dag, name) not in runs and len(runs) >= _RUNS_MAX:
        raise _Unreadable(f"more than {_RUNS_MAX} DAG runs")
    run = runs.setdefault((dag, name), _Run(dag, name))
    if state not in {_WELL, *_FAILED}:
        run.is_partial = True
        raise _Unreadable(f"task {task} of {dag} is {state or 'without a state'}")
    run.is_failed = run.is_failed or state in _FAILED
    start_s, end_s = _instant_s(instance, "start_date"), _instant_s(instance, "end_date")
    if start_s is None or end_s is None or end_s < start_s:
        if state in _FAILED:
            return
        run.is_partial = True
        raise _Unreadable(f"task {task} of {dag} has no start or end")
    queued_s = _instant_s(instance, "queued_when") or _instant_s(instance, "queued_dttm") or start_s
    run.submitted_at_s = min(run.submitted_at_s, queued_s, start_s)
    run.ended_at_s = max(run.ended_at_s, end_s)
    run.pool = run.pool or _text(instance, "pool")
    if state == _WELL:
        run.tasks.setdefault(task, []).append((start_s, end_s))


def _text(instance: Mapping[str, Any], key: str) -> str:
    value = instance.get(key)
    return "" if value is None else str(value).strip()[:_NAME_MAX]


def _instant_s(instance: Mapping[str, Any], key: str) -> float | None:
    text = _text(instance, key)
    if not text or text.lower() in {"none", "null"}:
        return None
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        raise _Unreadable(f"{key} is {text[:40]!r}") from None
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def _past_run(run: _Run) -> PastRun:
    submitted_at_s = run.submitted_at_s if run.submitted_at_s < math.inf else None
    began_s = submitted_at_s or 0.0
    phases = [] if run.is_failed else [_phase(*one, began_s) for one in run.tasks.items()]
    return PastRun(
        run_id=f"{run.dag}/{run.name}",
        profile=run.dag,
        source=FORMAT,
        phases=tuple(sorted(phases, key=lambda one: one.timeline[0].started_at_s)),
        succeeded=not run.is_failed,
        submitted_at_s=submitted_at_s,
        elapsed_s=None if submitted_at_s is None else run.ended_at_s - submitted_at_s,
        queue=run.pool or None,
        notes=_NOTES,
    )


def _phase(name: str, times: Sequence[tuple[float, float]], began_s: float) -> PastPhase:
    lengths_s = [end_s - start_s for start_s, end_s in times]
    timeline = tuple(
        PastTask(started_at_s=start_s - began_s, finished_at_s=end_s - began_s)
        for start_s, end_s in sorted(times)
    )
    return PastPhase(
        name=name,
        kind="map",
        tasks=len(times),
        avg_s=min(math.fsum(lengths_s) / len(lengths_s), max(lengths_s)),
        max_s=max(lengths_s),
        timeline=timeline,
    )
