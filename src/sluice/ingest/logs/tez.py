"""Tez: the history that SimpleHistoryLoggingService writes, `history.txt.appattempt_..`.

Each record is a JSON object of its own line, ended by a control character: an entity of a type, its
events and what else is known. A DAG is a job and each of its vertices a stage, after the vertices
from which its plan has an edge; a task is the attempt of it that succeeded. A DAG that failed or
was killed is a run without phases; one whose end is missing is left out. Bytes are not read.
Source of the format: Apache Tez 0.9 and 0.10, HistoryEventJsonConversion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import orjson

from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.reading import log_lines
from sluice.ingest.logs.report import Contents, NoOptions, Report, Unreadable, nothing_found
from sluice.ingest.logs.stage_runs import RUNS_MAX, StageRun
from sluice.ingest.logs.whole_json import mapping, objects_in, text_in

FORMAT = "tez"
Options = NoOptions
_SEPARATORS: Final = b"\x01 \t\r"
_DAG = re.compile(r"dag_(\d{1,20}_\d{1,12}_\d{1,9})")
_VERTEX = re.compile(r"vertex_(\d{1,20}_\d{1,12}_\d{1,9})_(\d{1,9})")
_ATTEMPT = re.compile(r"attempt_(\d{1,20}_\d{1,12}_\d{1,9})_(\d{1,9})_(\d{1,9})_\d{1,9}")
_MILLISECONDS: Final = 1000.0
_INSTANT_MAX_MS: Final = 1e15
_WELL: Final = "SUCCEEDED"
_NOTES = (
    "A DAG is a job and a vertex a stage, after the vertices that feed it.",
    "Bytes are not read.",
)


@dataclass(slots=True)
class _Dag:
    """The known facts of a DAG so far. attempts: by vertex, then by task. edges: child, parents."""

    dag_id: str
    name: str = ""
    queue: str = ""
    status: str = ""
    submitted_s: float | None = None
    ended_s: float | None = None
    vertices: dict[str, str] = field(default_factory=dict)
    edges: dict[str, list[str]] = field(default_factory=dict)
    starts_s: dict[str, float] = field(default_factory=dict)
    attempts: dict[str, dict[str, tuple[float, float]]] = field(default_factory=dict)
    failed: dict[str, int] = field(default_factory=dict)


def recognises(path: Path, head: bytes) -> bool:  # noqa: ARG001  # the name does not matter
    """Records about entities of Tez."""
    return b'"entitytype"' in head and b'"TEZ_' in head


def read(path: Path, report: Report, options: Options, limits: Limits) -> Contents:  # noqa: ARG001  # there is nothing to choose
    """The DAGs of the history. Raises InvalidInput where none has ended."""
    dags: dict[str, _Dag] = {}
    for position, line in log_lines(path, report, limits):
        with report.skipping(position):
            if record := line.strip(_SEPARATORS):
                _take(_parsed(record), dags)
    runs = [_run(dag, report) for dag in dags.values()]
    found = [run for run in runs if run is not None and run.has_run]
    if not found:
        raise nothing_found(
            path,
            report,
            "DAG that has ended",
            hint="give the whole history of an application that is over",
        )
    return Contents(runs=tuple(run.past_run(FORMAT, _NOTES) for run in found), notes=_NOTES)


def _parsed(record: bytes) -> Mapping[str, Any]:
    try:
        value = orjson.loads(record)
    except orjson.JSONDecodeError as error:
        raise Unreadable(f"no JSON: {error}") from None
    if not isinstance(value, dict):
        raise Unreadable("it is no object")
    return value


def _take(record: Mapping[str, Any], dags: dict[str, _Dag]) -> None:
    kind, entity = text_in(record, "entitytype"), text_in(record, "entity")
    about = mapping(record.get("otherinfo"))
    events = dict(_events(record))
    if kind == "TEZ_DAG_ID" and (found := _DAG.fullmatch(entity)):
        _take_dag(_dag(found[1], dags), record, about, events)
    elif kind == "TEZ_VERTEX_ID" and (found := _VERTEX.fullmatch(entity)):
        name = text_in(about, "vertexName")
        if name:
            _dag(found[1], dags).vertices[found[2]] = name
    elif kind == "TEZ_TASK_ATTEMPT_ID" and (found := _ATTEMPT.fullmatch(entity)):
        _take_attempt(_dag(found[1], dags), entity, found, about, events)
    elif not kind.startswith("TEZ_"):
        raise Unreadable(f"an entity of unknown type {kind[:40]!r}")


def _dag(dag_id: str, dags: dict[str, _Dag]) -> _Dag:
    if dag_id not in dags and len(dags) >= RUNS_MAX:
        raise Unreadable(f"more than {RUNS_MAX} DAGs")
    return dags.setdefault(dag_id, _Dag(dag_id))


def _take_dag(
    dag: _Dag, record: Mapping[str, Any], about: Mapping[str, Any], events: Mapping[str, float]
) -> None:
    plan = mapping(about.get("dagPlan"))
    dag.name = dag.name or text_in(plan, "dagName") or _filter(record, "dagName")
    dag.queue = dag.queue or text_in(about, "queueName") or _filter(record, "queueName")
    for edge in objects_in(plan.get("edges")):
        child, parent = text_in(edge, "outputVertexName"), text_in(edge, "inputVertexName")
        if child and parent:
            dag.edges.setdefault(child, []).append(parent)
    if "DAG_SUBMITTED" in events:
        dag.submitted_s = events["DAG_SUBMITTED"]
    if "DAG_FINISHED" in events:
        dag.status = text_in(about, "status")
        dag.ended_s = _instant_s(about.get("endTime")) or events["DAG_FINISHED"]


def _take_attempt(
    dag: _Dag,
    entity: str,
    found: re.Match[str],
    about: Mapping[str, Any],
    events: Mapping[str, float],
) -> None:
    vertex, task = found[2], found[3]
    if "TASK_ATTEMPT_STARTED" in events:
        dag.starts_s[entity] = events["TASK_ATTEMPT_STARTED"]
    if "TASK_ATTEMPT_FINISHED" not in events:
        return
    status = text_in(about, "status")
    if status == "FAILED":
        dag.failed[vertex] = dag.failed.get(vertex, 0) + 1
    if status != _WELL:
        return
    start_s = _instant_s(about.get("startTime")) or dag.starts_s.get(entity)
    end_s = _instant_s(about.get("endTime")) or events["TASK_ATTEMPT_FINISHED"]
    if start_s is None:
        raise Unreadable(f"{entity}: it ends, but its start is missing")
    if end_s < start_s:
        raise Unreadable(f"{entity}: it ends before it starts")
    dag.attempts.setdefault(vertex, {})[task] = (start_s, end_s)


def _run(dag: _Dag, report: Report) -> StageRun | None:
    if dag.ended_s is None:
        report.skip(0, f"dag_{dag.dag_id} is left out, for its end is missing")
        return None
    name = dag.name or f"dag_{dag.dag_id}"
    run = StageRun(f"{FORMAT}/dag_{dag.dag_id}", name, queue=dag.queue)
    run.is_failed = dag.status != _WELL
    run.lasted(dag.ended_s if dag.submitted_s is None else dag.submitted_s, dag.ended_s)
    for vertex, tasks in dag.attempts.items():
        stage_name = dag.vertices.get(vertex, f"vertex {int(vertex)}")
        stage = run.stage(stage_name)
        stage.times += tasks.values()
        stage.failed += dag.failed.get(vertex, 0)
        stage.parents = tuple(dag.edges.get(stage_name, ()))
        for start_s, end_s in tasks.values():
            run.lasted(start_s, end_s)
    return run


# --- values ---------------------------------------------------------------------------------------


def _events(record: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for event in objects_in(record.get("events")):
        at_s = _instant_s(event.get("ts"))
        if at_s is not None:
            yield text_in(event, "eventtype"), at_s


def _instant_s(value: object) -> float | None:
    """Seconds of an instant in milliseconds; None where it is none, or 0, Tez's word for none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value / _MILLISECONDS if 0 < value <= _INSTANT_MAX_MS else None


def _filter(record: Mapping[str, Any], key: str) -> str:
    """A filter by which records are found; it is a text, or a list of one."""
    value = mapping(record.get("primaryfilters")).get(key)
    return text_in({key: value[0] if isinstance(value, list) and value else value}, key)
