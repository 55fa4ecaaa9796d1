"""The one reader of Sluice's own traces, which `run --trace` and `simulate --trace` write.

A trace has one line of JSON for each attempt. `trace_line` checks a line. `read` makes a run of
each job, for `import` and `simulate --from-log`, and skips lines that are damaged.
`recorded_lengths` returns the lengths of tasks, for `simulate --lengths-from`, and refuses a
damaged line.

A trace has no submissions and no bytes. A job counts as submitted when its first attempt starts,
which the notes say. Reduces come after all maps of their job. Jobs of two traces may have the same
name, so the name of a run starts with a digest of the lines.
"""

from __future__ import annotations

import hashlib
import math
import re
from array import array
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.reading import DEFAULT_LIMITS, log_lines
from sluice.ingest.logs.report import Contents, NoOptions, Report
from sluice.model.errors import InvalidInput
from sluice.model.history import PastPhase, PastRun, PastTask
from sluice.model.ids import JobId
from sluice.model.workload import JOBS_MAX

FORMAT = "sluice"
Options = NoOptions
PHASES_MAX = 2 * JOBS_MAX
_MARK = re.compile(rb'"slot_index"\s*:\s*\d+')
_OUTCOMES = frozenset(("done", "failed", "killed", "lost"))
_NAME_CHARACTERS_MAX = 200
_INSTANT_S_MAX = 1e15
_HINT = "give a file that `run --trace` or `simulate --trace` has written"
_NOTE = (
    "The trace has no submissions and no bytes: a job counts as submitted when its first attempt"
    " started."
)


# --- a line ---------------------------------------------------------------------------------------


class TraceLine(NamedTuple):
    """One attempt. shuffled_at_s: when its input was fetched; NaN if it fetched nothing."""

    job: str
    phase: str
    task: int
    slot: object
    node: str | None
    started_at_s: float
    shuffled_at_s: float
    finished_at_s: float
    outcome: str
    locality: object

    @property
    def work_s(self) -> float:
        """From the end of the fetch, or the start if there was none, to the end."""
        fetched_at_s = self.shuffled_at_s
        return self.finished_at_s - (
            self.started_at_s if math.isnan(fetched_at_s) else fetched_at_s
        )


class _BadLine(Exception):
    """A line that is not a line of a trace."""


def trace_line(line: bytes) -> TraceLine:
    """The checked fields of a line. Raises _BadLine with what is wrong."""
    try:
        raw = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise _BadLine(f"not valid JSON: {error}") from error
    if not isinstance(raw, dict):
        raise _BadLine("not a JSON object")
    try:
        return _checked(raw)
    except KeyError as error:
        raise _BadLine(f"not a line of a trace: {error} is missing") from error
    except _BadLine as error:
        raise _BadLine(f"not a line of a trace: {error}") from error


def _checked(raw: Mapping[str, Any]) -> TraceLine:
    started_at_s, finished_at_s = _instant(raw["started_at_s"]), _instant(raw["finished_at_s"])
    fetched_at_s = math.nan if raw["shuffled_at_s"] is None else _instant(raw["shuffled_at_s"])
    in_order = math.isnan(fetched_at_s) or started_at_s <= fetched_at_s <= finished_at_s
    if finished_at_s < started_at_s or not in_order:
        raise _BadLine("its instants are out of order")
    outcome, task, node = raw["outcome"], raw["task"], raw.get("node")
    if outcome not in _OUTCOMES or type(task) is not int or not 0 <= task < 2**53:
        raise _BadLine("outcome or task is not valid")
    return TraceLine(
        job=_name(raw["job"]),
        phase=_name(raw["phase"]),
        task=task,
        slot=raw.get("slot"),
        node=_name(node) if isinstance(node, str) else None,
        started_at_s=started_at_s,
        shuffled_at_s=fetched_at_s,
        finished_at_s=finished_at_s,
        outcome=outcome,
        locality=raw.get("locality"),
    )


def _name(value: object) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= _NAME_CHARACTERS_MAX:
        raise _BadLine(f"{str(value)[:40]!r} is not a name")
    return value


def _instant(value: object) -> float:
    if type(value) not in {int, float} or not 0 <= value < _INSTANT_S_MAX:  # type: ignore[operator]  # a number
        raise _BadLine(f"{str(value)[:40]!r} is not an instant")
    return float(value)  # type: ignore[arg-type]  # as above


# --- lengths of tasks -----------------------------------------------------------------------------


def recorded_lengths(
    path: str | Path, factors: Mapping[str, float] | None = None
) -> Callable[[JobId, str, int], float | None]:
    """Seconds of work of a task, by job, phase and task, without its fetch; None if not recorded.

    factors: how many times longer a task takes, by its locality ("rack", "any"), for a simulation
    that lengthens it again by where it runs then. Of a task that was done more than once, the
    first counts. Raises InvalidInput, with the line, if the file cannot be read or is not a trace.
    """
    lengths_s: dict[tuple[str, str, int], float] = {}
    report = Report()
    for number, line in log_lines(Path(path), report, DEFAULT_LIMITS):
        try:
            found = trace_line(line)
        except _BadLine as error:
            raise _refused(path, number, str(error)) from error
        if found.outcome == "done":
            factor = (factors or {}).get(str(found.locality), 1.0)
            name = (found.job, found.phase, found.task)
            lengths_s.setdefault(name, found.work_s / factor)
    for skipped in report.skipped:
        raise _refused(path, skipped.line, skipped.why)
    return lambda job_id, phase, task: lengths_s.get((job_id, phase, task))


def _refused(path: str | Path, line: int, why: str) -> InvalidInput:
    where = f"{path} line {line}" if line else str(path)
    return InvalidInput(why, where=where, hint=_HINT)


# --- runs of jobs ---------------------------------------------------------------------------------


def recognises(path: Path, head: bytes) -> bool:  # noqa: ARG001  # the name does not matter
    """Whether a line of JSON names a slot and an outcome."""
    return _MARK.search(head) is not None and b'"outcome"' in head


def read(path: Path, report: Report, options: NoOptions, limits: Limits) -> Contents:  # noqa: ARG001  # the format has no options
    """The jobs of a trace. Raises InvalidInput if no task in it ended well."""
    jobs = _Jobs(limits.timeline_tasks_max)
    digest = hashlib.sha256()
    for number, line in log_lines(path, report, limits):
        digest.update(line)
        if line.isspace():
            continue
        try:
            jobs.take(trace_line(line))
        except _BadLine as error:
            report.skip(number, str(error))
    runs = jobs.runs(digest.hexdigest()[:12])
    if not runs:
        raise InvalidInput("no task in it ended well", where=str(path), hint=_HINT)
    return Contents(runs=runs, notes=(_NOTE,))


class _Phase:
    """Sums over the tasks of a phase, and the tasks themselves as long as they are few."""

    __slots__ = ("ends_s", "failed", "fetched_s", "kind", "max_s", "nodes", "starts_s", "tasks",
                 "total_s", "which")  # fmt: skip

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.tasks = self.failed = 0
        self.total_s = self.max_s = 0.0
        self.which, self.nodes = array("q"), array("q")
        self.starts_s, self.ends_s, self.fetched_s = array("d"), array("d"), array("d")

    def forget_tasks(self) -> None:
        for column in (self.which, self.nodes, self.starts_s, self.ends_s, self.fetched_s):
            del column[:]

    def timeline(self, began_s: float, nodes: list[str | None]) -> tuple[PastTask, ...]:
        order = sorted(range(len(self.which)), key=lambda at: (self.which[at], self.starts_s[at]))
        return tuple(
            PastTask(
                started_at_s=self.starts_s[at] - began_s,
                finished_at_s=self.ends_s[at] - began_s,
                fetched_at_s=_known(self.fetched_s[at] - began_s),
                node=nodes[self.nodes[at]],
            )
            for at in order
        )


class _Job:
    __slots__ = ("began_s", "ended_s", "phases")

    def __init__(self) -> None:
        self.began_s, self.ended_s = math.inf, 0.0
        self.phases: dict[str, _Phase] = {}


class _Jobs:
    """The jobs of the lines that were read so far."""

    def __init__(self, tasks_kept_max: int) -> None:
        self._jobs: dict[str, _Job] = {}
        self._nodes: dict[str | None, int] = {None: 0}
        self._phases = 0
        self._kept, self._kept_max = 0, tasks_kept_max

    def take(self, line: TraceLine) -> None:
        """Count an attempt. Raises _BadLine, before any sum changes, for too many jobs."""
        job, phase = self._places(line)
        start_s, end_s = line.started_at_s, line.finished_at_s
        job.began_s, job.ended_s = min(job.began_s, start_s), max(job.ended_s, end_s)
        phase.failed += line.outcome == "failed"
        if line.outcome != "done":
            return
        phase.tasks += 1
        phase.total_s += end_s - start_s
        phase.max_s = max(phase.max_s, end_s - start_s)
        self._keep(phase, line)

    def _keep(self, phase: _Phase, line: TraceLine) -> None:
        self._kept += 1
        if self._kept > self._kept_max:
            if self._kept == self._kept_max + 1:
                for one in (one for job in self._jobs.values() for one in job.phases.values()):
                    one.forget_tasks()
            return
        node = None if line.node is None else _printable(line.node)
        phase.which.append(line.task)
        phase.nodes.append(self._nodes.setdefault(node, len(self._nodes)))
        phase.starts_s.append(line.started_at_s)
        phase.ends_s.append(line.finished_at_s)
        phase.fetched_s.append(line.shuffled_at_s)

    def _places(self, line: TraceLine) -> tuple[_Job, _Phase]:
        job_id, name = _printable(line.job), _printable(line.phase)
        job = self._jobs.get(job_id)
        phase = None if job is None else job.phases.get(name)
        if job is not None and phase is not None:
            return job, phase
        if len(self._jobs) >= JOBS_MAX or self._phases >= PHASES_MAX:
            raise _BadLine("more jobs than a workload may have")
        self._phases += 1
        job = self._jobs.setdefault(job_id, _Job())
        kind = "reduce" if line.slot == "reduce" or name == "reduce" else "map"
        return job, job.phases.setdefault(name, _Phase(kind))

    def runs(self, digest: str) -> tuple[PastRun, ...]:
        nodes = list(self._nodes)
        return tuple(
            _run(job_id, job, digest, nodes)
            for job_id, job in self._jobs.items()
            if any(phase.tasks for phase in job.phases.values())
        )


def _run(job_id: str, job: _Job, digest: str, nodes: list[str | None]) -> PastRun:
    ran = [(name, phase) for name, phase in job.phases.items() if phase.tasks]
    ran.sort(key=lambda one: one[1].kind)  # maps first; else as they came
    maps = tuple(at for at, (_, phase) in enumerate(ran) if phase.kind == "map")
    phases = tuple(
        PastPhase(
            name=name,
            kind=phase.kind,
            tasks=phase.tasks,
            avg_s=min(phase.total_s / phase.tasks, phase.max_s),  # a sum of floats may round up
            max_s=phase.max_s,
            failed=phase.failed,
            timeline=phase.timeline(job.began_s, nodes),
            after=maps if phase.kind == "reduce" else (),
        )
        for name, phase in ran
    )
    return PastRun(
        run_id=f"{digest}/{job_id}",
        profile=job_id,
        source=FORMAT,
        phases=phases,
        succeeded=len(ran) == len(job.phases),
        submitted_at_s=job.began_s,
        elapsed_s=job.ended_s - job.began_s,
        notes=(_NOTE,),
    )


def _printable(name: str) -> str:
    return "".join(one if one.isprintable() else " " for one in name)


def _known(number: float) -> float | None:
    return None if math.isnan(number) else number
