"""Ray: what `ray timeline` and `ray.timeline()` write, or `ray list tasks --detail` prints.

Of a timeline, in Chrome's trace format, the events "task::NAME" of workers are read: one for each
attempt of a task or of an actor's method, from `ts` for `dur` microseconds, with the task's id. Its
parts (deserialize_arguments, execute, store_outputs) are within it. A Ray job (the end of a task
id) is a job, and each function a stage, after those that had ended when it began, for the format
has no graph. Of several attempts of a task the last one counts; those before it failed. Placement
groups are not in the format: tasks start one by one. A list of tasks, in JSON or YAML, has an
object for each attempt, with its times in milliseconds and its state; a task whose last attempt
failed is a failed one.
Source of the formats: Ray 2, chrome_tracing_dump (tried on files of 2.55), and
ray.util.state.common.TaskState.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, Final

from sluice.ingest.document import read_document
from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.reading import log_bytes
from sluice.ingest.logs.report import Contents, NoOptions, Report, Unreadable, nothing_found
from sluice.ingest.logs.stage_runs import NAME_MAX, RUNS_MAX, StageRun
from sluice.ingest.logs.whole_json import BLANKS, mapping, parsed, text_in
from sluice.model.errors import InvalidInput

FORMAT = "ray"
Options = NoOptions
_TASK: Final = "task::"
_JOB_DIGITS: Final = 8  # at the end of the id of a task
_MICROSECONDS: Final = 1e6
_INSTANT_MAX_S: Final = 1e11
_NOTES = (
    "A Ray job is a job: a function is a stage, after those that had ended when it began.",
    "A task lasts from its start on a worker to its end, with its arguments and outputs.",
    "The format has no bytes, no failures and no waiting.",
)
_MILLISECONDS: Final = 1e3
_LIST_NOTES = (
    *_NOTES[:2],
    "The list has no bytes; ray lists the first 100 tasks only, unless --limit asks for more.",
)
_Attempts = dict[tuple[str, str, str], list[tuple[float, float]]]  # by job, function and task
_Key = tuple[str, str, str]


def recognises(path: Path, head: bytes) -> bool:  # noqa: ARG001  # the name does not matter
    """Chrome trace events, tasks or parts of tasks among them, or a list of states of tasks."""
    if b"attempt_number" in head and b"func_or_class_name" in head and b"task_id" in head:
        return True
    return head.lstrip(BLANKS)[:1] in {b"[", b"{"} and (
        b'"task:' in head and b'"cat"' in head and b'"dur"' in head
    )


def read(path: Path, report: Report, options: Options, limits: Limits) -> Contents:  # noqa: ARG001  # there is nothing to choose
    """The jobs of the timeline. Raises InvalidInput where it has no task."""
    attempts: _Attempts = {}
    failed: set[tuple[_Key, tuple[float, float]]] = set()
    jobs: set[str] = set()
    document = _document(path, report, limits)
    is_list = _is_list(document)
    records = document if is_list and isinstance(document, list) else _events(path, document)
    for position, record in enumerate(records, start=1):
        with report.skipping(position):
            key, times, is_failed = _listed(record) if is_list else (*_attempt(record), False)
            if times in attempts.get(key, ()):
                raise Unreadable(f"task {key[2][:40]} of {key[1][:40]} is given twice")
            if key[0] not in jobs and len(jobs) == RUNS_MAX:
                raise Unreadable(f"more than {RUNS_MAX} jobs")
            jobs.add(key[0])
            attempts.setdefault(key, []).append(times)
            if is_failed:
                failed.add((key, times))
    if not attempts:
        raise nothing_found(
            path,
            report,
            "task that ran",
            hint="give `ray list tasks --detail`, when tasks have ended"
            if is_list
            else "write the timeline before ray.shutdown(), when tasks have ended",
        )
    notes = _LIST_NOTES if is_list else _NOTES
    runs = [one.past_run(FORMAT, notes) for one in _runs(attempts, failed)]
    return Contents(runs=tuple(runs), notes=notes)


def _document(path: Path, report: Report, limits: Limits) -> object:
    """The file's value; `ray list tasks --detail` prints YAML unless it is asked for JSON."""
    content = log_bytes(path, report, limits)
    if content.lstrip(BLANKS)[:1] in {b"[", b"{"}:
        return parsed(path, content)
    return read_document(content, source=str(path)).value


def _is_list(document: object) -> bool:
    """Whether it lists states of tasks, and not events."""
    return isinstance(document, list) and any(
        isinstance(one, dict) and "attempt_number" in one for one in document
    )


def _listed(state: object) -> tuple[_Key, tuple[float, float], bool]:
    """An attempt of a task, and whether it failed. Raises Unreadable for what did not run."""
    about = mapping(state)
    function, task = text_in(about, "func_or_class_name"), text_in(about, "task_id")
    if not function or not task:
        raise Unreadable("a task without a func_or_class_name or a task_id")
    if about.get("type") == "DRIVER_TASK":
        raise Unreadable(f"{function[:40]} is the driver")
    given = about.get("start_time_ms"), about.get("end_time_ms")
    start_s, end_s = (_seconds(one, _MILLISECONDS) for one in given)
    if start_s is None or end_s is None or end_s < start_s:
        raise Unreadable(f"task {task[:40]} of {function[:40]} has no start or end")
    job = text_in(about, "job_id") or task[-_JOB_DIGITS:]
    return (job, function, task), (start_s, end_s), about.get("state") == "FAILED"


def _events(path: Path, found: object) -> Iterator[Mapping[str, Any]]:
    """The events of tasks, but none of their parts or of the driver."""
    listed = found.get("traceEvents") if isinstance(found, dict) else found
    if not isinstance(listed, list):
        raise InvalidInput(
            "it has no list of events", where=str(path), hint="give the file of `ray timeline`"
        )
    for one in listed:
        event = mapping(one)
        if str(event.get("cat", "")).startswith(_TASK):
            yield event


def _attempt(event: Mapping[str, Any]) -> tuple[_Key, tuple[float, float]]:
    about = mapping(event.get("args"))
    function = str(event["cat"]).removeprefix(_TASK).strip()[:NAME_MAX]
    task = text_in(about, "task_id")
    if not function or not task:
        raise Unreadable("a task without a name or a task_id")
    start_s, length_s = _seconds(event.get("ts")), _seconds(event.get("dur"))
    if start_s is None or length_s is None:
        raise Unreadable(f"task {task[:40]} of {function[:40]} has no start or length")
    job = text_in(about, "job_id") or task[-_JOB_DIGITS:]
    return (job, function, task), (start_s, start_s + length_s)


def _seconds(value: object, units: float = _MICROSECONDS) -> float | None:
    """units: of the value in a second."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    seconds = value / units if abs(value) <= _INSTANT_MAX_S * units else math.inf
    return seconds if 0 <= seconds < math.inf else None


def _runs(
    attempts: _Attempts, failed: AbstractSet[tuple[_Key, tuple[float, float]]]
) -> list[StageRun]:
    runs: dict[str, StageRun] = {}
    for key, times in attempts.items():
        job, function, _ = key
        run = runs.setdefault(job, StageRun(f"{FORMAT}/{job}", job))
        for start_s, end_s in times:
            run.lasted(start_s, end_s)
        stage = run.stage(function)
        last = max(times)
        ended_well = (key, last) not in failed
        if ended_well:
            stage.times.append(last)
        stage.failed += len(times) - ended_well
    return list(runs.values())
