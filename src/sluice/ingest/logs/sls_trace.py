"""Jobs of SLS's traces: when each came and went, and the containers it ran.

A phase is all containers of one type. A trace has no sizes, no failures, and no name of a
job but its id. A container gives its length in one of three ways, and may represent many:

    container.start.ms, container.end.ms    or container.duration.ms, or duration.ms (older)
    count                                   so many containers of this length
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sluice.ingest.logs.hadoop_values import (
    Members,
    Unreadable,
    instant_ms,
    items,
    members,
    text,
    whole,
)
from sluice.ingest.logs.report import Report
from sluice.ingest.logs.sls_options import Options
from sluice.model.history import PastPhase, PastRun, PastTask
from sluice.model.job import TASKS_MAX
from sluice.model.workload import JOBS_MAX

FORMAT = "sls"

_MAP_PRIORITY_MIN = 20  # SLS: maps have priority 20, reduces 10


def trace_notes(options: Options) -> tuple[str, ...]:
    """Return what is to be said of every trace."""
    return (
        "SLS has no sizes and no failures: bytes are 0, every container counts as a success.",
        f"profile = {options.profile}: SLS's jobs have no name, so profiles are named after it.",
    )


@dataclass(frozen=True, slots=True)
class JobPlace:
    """The trace of a job, the line, and the report for missing fields.

    Traces count their jobs from 1, so a run is named after both.
    """

    trace: str
    line: int
    report: Report


@dataclass(slots=True)
class _Containers:
    """Containers of one type."""

    is_reduce: bool
    count: int = 0
    total_ms: int = 0
    longest_ms: int = 0
    first_ms: int | None = None
    timeline: list[PastTask] | None = field(default_factory=list)


def run_of(fields: Members, options: Options, place: JobPlace) -> PastRun:
    """The run of a job. Raises Unreadable where it has no container that counts."""
    job_id = text(fields.get("job.id")) or f"job at line {place.line}"
    started_ms = instant_ms(fields.get("job.start.ms"))
    ended_ms = instant_ms(fields.get("job.end.ms"))
    phases = _phases(fields, started_ms or 0, place, job_id)
    if not phases:
        raise Unreadable(f"job {job_id} has no container with a length")
    has_length = started_ms is not None and ended_ms is not None and ended_ms >= started_ms
    names = {"queue": fields.get("job.queue.name"), "user": fields.get("job.user")}
    return PastRun(
        run_id=f"{place.trace}/{job_id}",
        profile=text(names.get(options.profile)) or job_id,
        source=FORMAT,
        phases=phases,
        submitted_at_s=None if started_ms is None else started_ms / 1000,
        elapsed_s=((ended_ms or 0) - (started_ms or 0)) / 1000 if has_length else None,
        queue=text(fields.get("job.queue.name")) or None,
        notes=tuple(_run_notes(fields, started_ms)),
    )


def _run_notes(fields: Members, started_ms: int | None) -> Iterator[str]:
    if started_ms is None:
        yield "The job has no submission time: times count from the start of the trace."
    copies = whole(fields.get("job.count"), JOBS_MAX) or 1
    if copies > 1:
        yield f"The trace has {copies} copies of the job (job.count): it is imported once."


def _phases(fields: Members, origin_ms: int, place: JobPlace, job_id: str) -> tuple[PastPhase, ...]:
    """A phase a type, those of reduces last; else in the order in which they began."""
    by_type: dict[str, _Containers] = {}
    for index, one in enumerate(items(fields.get("job.tasks"))):
        try:
            _add(members(one), by_type, origin_ms)
        except Unreadable as error:
            place.report.skip(place.line, f"job {job_id}, container {index + 1}: {error}")
    ordered = sorted(
        by_type.items(), key=lambda entry: (entry[1].is_reduce, entry[1].first_ms or 0)
    )
    before = tuple(at for at, (_, one) in enumerate(ordered) if not one.is_reduce)
    return tuple(_phase(name, one, before) for name, one in ordered)


def _add(fields: Members, by_type: dict[str, _Containers], origin_ms: int) -> None:
    started_ms, length_ms = _times_ms(fields)
    count = max(1, whole(fields.get("count", 1), TASKS_MAX) or 1)
    name = _type_of(fields)
    found = by_type.setdefault(name, _Containers(is_reduce="reduce" in name.lower()))
    if found.count + count > TASKS_MAX:
        raise Unreadable(f"more than {TASKS_MAX} containers of type {name!r}")
    found.count += count
    found.total_ms += count * length_ms
    found.longest_ms = max(found.longest_ms, length_ms)
    # SLS reads lengths alone: in some traces all containers start at 0, before their job.
    if started_ms is None or started_ms < origin_ms or count > 1:
        found.timeline = None
    if started_ms is not None:
        found.first_ms = min(started_ms, started_ms if found.first_ms is None else found.first_ms)
        if found.timeline is not None:
            start_s = (started_ms - origin_ms) / 1000
            end_s = (started_ms + length_ms - origin_ms) / 1000
            node = text(fields.get("container.host")) or None
            task = PastTask(started_at_s=start_s, finished_at_s=end_s, node=node)
            found.timeline.append(task)


def _type_of(fields: Members) -> str:
    """The type; if it is missing, SLS's priorities separate maps from reduces."""
    priority = whole(fields.get("container.priority", _MAP_PRIORITY_MIN), TASKS_MAX)
    is_map = priority is None or priority >= _MAP_PRIORITY_MIN
    return text(fields.get("container.type"))[:100] or ("map" if is_map else "reduce")


def _times_ms(fields: Members) -> tuple[int | None, int]:
    """When a container started, if known, and how long it ran."""
    started_ms = instant_ms(fields.get("container.start.ms"))
    ended_ms = instant_ms(fields.get("container.end.ms"))
    length_ms = instant_ms(fields.get("container.duration.ms", fields.get("duration.ms")))
    if length_ms is None and started_ms is not None and ended_ms is not None:
        length_ms = ended_ms - started_ms
    if length_ms is None or length_ms <= 0:
        raise Unreadable("its length is missing, or not above 0")
    return started_ms, length_ms


def _phase(name: str, found: _Containers, before: tuple[int, ...]) -> PastPhase:
    return PastPhase(
        name=name,
        kind="reduce" if found.is_reduce else "map",
        tasks=found.count,
        avg_s=found.total_ms / found.count / 1000,
        max_s=found.longest_ms / 1000,
        timeline=tuple(found.timeline or ()),
        after=before if found.is_reduce else (),
    )
