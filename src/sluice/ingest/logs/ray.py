"""Ray: the timeline that `ray timeline` and `ray.timeline()` write, in Chrome's trace format.

Read are the events "task::NAME" of workers: one for each attempt of a task or of an actor's method,
from `ts` for `dur` microseconds, with the task's id. Its parts (deserialize_arguments, execute,
store_outputs) are within it. A Ray job (the end of a task id) is a job, and each function a stage,
after those that had ended when it began, for the format has no graph. Of several attempts of a task
the last one counts; those before it failed. Placement groups are not in the format: tasks start one
by one.
Source of the format: Ray 2, chrome_tracing_dump; tried on files of 2.55.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.report import Contents, NoOptions, Report, Unreadable
from sluice.ingest.logs.stage_runs import NAME_MAX, RUNS_MAX, StageRun
from sluice.ingest.logs.whole_json import whole_json
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
_Attempts = dict[tuple[str, str, str], list[tuple[float, float]]]  # by job, function and task


def recognises(path: Path, head: bytes) -> bool:  # noqa: ARG001  # the name does not matter
    """Chrome trace events, tasks or parts of tasks among them."""
    return head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in {b"[", b"{"} and (
        b'"task:' in head and b'"cat"' in head and b'"dur"' in head
    )


def read(path: Path, report: Report, options: Options, limits: Limits) -> Contents:  # noqa: ARG001  # there is nothing to choose
    """The jobs of the timeline. Raises InvalidInput where it has no task."""
    attempts: _Attempts = {}
    jobs: set[str] = set()
    for position, event in enumerate(_events(path, whole_json(path, report, limits)), start=1):
        try:
            key, times = _attempt(event)
        except Unreadable as error:
            report.skip(position, str(error))
            continue
        if times in attempts.get(key, ()):
            report.skip(position, f"task {key[2][:40]} of {key[1][:40]} is given twice")
            continue
        if key[0] not in jobs and len(jobs) == RUNS_MAX:
            report.skip(position, f"more than {RUNS_MAX} jobs")
            continue
        jobs.add(key[0])
        attempts.setdefault(key, []).append(times)
    if not attempts:
        why = f" ({report.skipped[0].why})" if report.skipped else ""
        raise InvalidInput(
            f"it holds no task that ran{why}",
            where=str(path),
            hint="write the timeline before ray.shutdown(), when tasks have ended",
        )
    runs = [one.past_run(FORMAT, _NOTES) for one in _runs(attempts)]
    return Contents(runs=tuple(runs), notes=_NOTES)


def _events(path: Path, found: object) -> Iterator[Mapping[str, Any]]:
    """The events of tasks, but none of their parts or of the driver."""
    listed = found.get("traceEvents") if isinstance(found, dict) else found
    if not isinstance(listed, list):
        raise InvalidInput(
            "it has no list of events", where=str(path), hint="give the file of `ray timeline`"
        )
    for one in listed:
        event = one if isinstance(one, dict) else {}
        if str(event.get("cat", "")).startswith(_TASK):
            yield event


def _attempt(event: Mapping[str, Any]) -> tuple[tuple[str, str, str], tuple[float, float]]:
    given = event.get("args")
    about: Mapping[str, Any] = given if isinstance(given, dict) else {}
    function = str(event["cat"]).removeprefix(_TASK).strip()[:NAME_MAX]
    task = _text(about.get("task_id"))
    if not function or not task:
        raise Unreadable("a task without a name or a task_id")
    start_s, length_s = _seconds(event.get("ts")), _seconds(event.get("dur"))
    if start_s is None or length_s is None:
        raise Unreadable(f"task {task[:40]} of {function[:40]} has no start or length")
    job = _text(about.get("job_id")) or task[-_JOB_DIGITS:]
    return (job, function, task), (start_s, start_s + length_s)


def _text(value: object) -> str:
    return value.strip()[:NAME_MAX] if isinstance(value, str) else ""


def _seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    seconds = value / _MICROSECONDS if abs(value) <= _INSTANT_MAX_S * _MICROSECONDS else math.inf
    return seconds if 0 <= seconds < math.inf else None


def _runs(attempts: _Attempts) -> list[StageRun]:
    runs: dict[str, StageRun] = {}
    for (job, function, _), times in attempts.items():
        run = runs.setdefault(job, StageRun(f"{FORMAT}/{job}", job))
        for start_s, end_s in times:
            run.lasted(start_s, end_s)
        stage = run.stage(function)
        stage.times.append(max(times))
        stage.failed += len(times) - 1
    return list(runs.values())
