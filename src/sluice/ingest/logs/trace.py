"""Sluice's own traces, written by `run --trace` and `simulate --trace`: one attempt a line.

Each job of a trace is a run. A trace has no submission times and no bytes: a job counts as
submitted when its first attempt started, as the notes say. Reduces come after all maps of a job.
A run needs a unique id, because other traces may use the same job names: the beginning of a digest
over the lines precedes the job's name.
"""

from __future__ import annotations

import hashlib
import math
import re
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.reading import log_lines
from sluice.ingest.logs.report import Contents, NoOptions, Report
from sluice.model.errors import InvalidInput
from sluice.model.history import PastPhase, PastRun, PastTask
from sluice.model.workload import JOBS_MAX

FORMAT = "sluice"
Options = NoOptions
PHASES_MAX = 2 * JOBS_MAX
_MARK = re.compile(rb'"slot_index"\s*:\s*\d+')
_OUTCOMES = frozenset(("done", "failed", "killed", "lost"))
_NAME_CHARACTERS_MAX = 200
_INSTANT_S_MAX = 1e15
_UNTOLD = math.nan
_NOTE = (
    "The trace has no submission times and no bytes:"
    " a job counts as submitted when its first attempt started."
)


def recognises(path: Path, head: bytes) -> bool:  # noqa: ARG001  # the name does not matter
    """A line of JSON with a slot."""
    return _MARK.search(head) is not None and b'"outcome"' in head


def read(path: Path, report: Report, options: NoOptions, limits: Limits) -> Contents:  # noqa: ARG001  # there is nothing to choose
    """The jobs of a trace. Raises InvalidInput where no task in it ended well."""
    jobs = _Jobs(limits.timeline_tasks_max)
    digest = hashlib.sha256()
    for number, line in log_lines(path, report, limits):
        digest.update(line)
        if line.isspace():
            continue
        try:
            jobs.take(orjson.loads(line))
        except orjson.JSONDecodeError as error:
            report.skip(number, f"no JSON: {error}")
        except (_NoTraceLine, KeyError, TypeError) as error:
            what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            report.skip(number, f"no line of a trace: {what}")
    runs = jobs.runs(digest.hexdigest()[:12])
    if not runs:
        raise InvalidInput(
            "no task in it ended well",
            where=str(path),
            hint="give a file that `run --trace` or `simulate --trace` has written",
        )
    return Contents(runs=runs, notes=(_NOTE,))


class _NoTraceLine(Exception):
    """A line that says something else than a trace line does."""


class _Phase:
    """Sums over the tasks of a phase, and the tasks themselves while they are few."""

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
    """All jobs of a trace, as far as it was read."""

    def __init__(self, tasks_kept_max: int) -> None:
        self._jobs: dict[str, _Job] = {}
        self._nodes: dict[str | None, int] = {None: 0}
        self._phases = 0
        self._kept, self._kept_max = 0, tasks_kept_max

    def take(self, record: Mapping[str, Any]) -> None:
        """Count an attempt. Raises _NoTraceLine, KeyError or TypeError before it changed a sum."""
        start_s, end_s = _instant(record["started_at_s"]), _instant(record["finished_at_s"])
        fetched_s = record["shuffled_at_s"]
        fetched_s = _UNTOLD if fetched_s is None else _instant(fetched_s)
        outcome, which = record["outcome"], record["task"]
        if end_s < start_s or not (start_s <= fetched_s <= end_s or math.isnan(fetched_s)):
            raise _NoTraceLine("its instants are out of order")
        if outcome not in _OUTCOMES or type(which) is not int or not 0 <= which < 2**53:
            raise _NoTraceLine("outcome or task is none")
        job, phase = self._places(record)
        job.began_s, job.ended_s = min(job.began_s, start_s), max(job.ended_s, end_s)
        phase.failed += outcome == "failed"
        if outcome != "done":
            return
        phase.tasks += 1
        phase.total_s += end_s - start_s
        phase.max_s = max(phase.max_s, end_s - start_s)
        self._keep(phase, which, (start_s, end_s, fetched_s), record.get("node"))

    def _keep(
        self, phase: _Phase, which: int, instants: tuple[float, float, float], node: object
    ) -> None:
        self._kept += 1
        if self._kept > self._kept_max:
            if self._kept == self._kept_max + 1:
                for one in (one for job in self._jobs.values() for one in job.phases.values()):
                    one.forget_tasks()
            return
        name = _name(node) if isinstance(node, str) else None
        phase.which.append(which)
        phase.nodes.append(self._nodes.setdefault(name, len(self._nodes)))
        phase.starts_s.append(instants[0])
        phase.ends_s.append(instants[1])
        phase.fetched_s.append(instants[2])

    def _places(self, record: Mapping[str, Any]) -> tuple[_Job, _Phase]:
        job_id, name = _name(record["job"]), _name(record["phase"])
        job = self._jobs.get(job_id)
        phase = None if job is None else job.phases.get(name)
        if job is not None and phase is not None:
            return job, phase
        if len(self._jobs) >= JOBS_MAX or self._phases >= PHASES_MAX:
            raise _NoTraceLine("more jobs than a workload may have")
        self._phases += 1
        job = self._jobs.setdefault(job_id, _Job())
        kind = "reduce" if record["slot"] == "reduce" or name == "reduce" else "map"
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


def _name(record: object) -> str:
    if not isinstance(record, str) or not 1 <= len(record) <= _NAME_CHARACTERS_MAX:
        raise _NoTraceLine(f"{str(record)[:40]!r} is not a name")
    return "".join(one if one.isprintable() else " " for one in record)


def _instant(record: object) -> float:
    if type(record) not in {int, float} or not 0 <= record < _INSTANT_S_MAX:  # type: ignore[operator]  # a number
        raise _NoTraceLine(f"{str(record)[:40]!r} is not an instant")
    return float(record)  # type: ignore[arg-type]  # as above


def _known(number: float) -> float | None:
    return None if math.isnan(number) else number
