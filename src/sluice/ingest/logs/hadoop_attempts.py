"""Attempts of MapReduce tasks, and the phases that they make up.

A phase is made of the attempts that ended well, each from its own launch to its own finish: an
attempt that failed or was killed is not in the averages. Lengths are counted in whole
milliseconds, as Hadoop writes them, so that an average is never above the maximum by rounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sluice.ingest.logs.hadoop_values import SUM_MAX
from sluice.model.history import PastPhase, PastTask, TaskCosts

MAP, REDUCE = "map", "reduce"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The amounts that one attempt read, wrote and used. None: not measured."""

    input_bytes: int = 0
    output_bytes: int = 0
    shuffle_read_bytes: int = 0
    shuffle_write_bytes: int = 0
    input_records: int = 0
    output_records: int = 0
    cpu_ms: int | None = None
    rss_bytes: int | None = None
    spilled_records: int | None = None
    gc_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt that ended well; kind is MAP or REDUCE, instants in milliseconds of the epoch.

    is_remote: whether it ran on another node than its input; None if it has none, or is unknown.
    """

    kind: str
    task: int
    number: int
    started_ms: int
    finished_ms: int
    fetched_ms: int | None
    node: str
    work: Work
    is_remote: bool | None = None


def phases_of(
    attempts: Iterable[Attempt],
    failed: Mapping[str, int],
    submitted_ms: int,
    remote_maps: int | None = None,
) -> tuple[PastPhase, ...]:
    """The map phase, then the reduce phase; one in which nothing ended well is left out.

    failed: how many attempts of a kind did not end well.  submitted_ms: what instants count from.
    remote_maps: as the job counted them; used where the attempts do not show it.
    """
    by_kind: dict[str, list[Attempt]] = {MAP: [], REDUCE: []}
    for attempt in attempts:
        by_kind[attempt.kind].append(attempt)
    phases: list[PastPhase] = []
    for kind, attempts_of_kind in by_kind.items():
        if attempts_of_kind:
            attempts_of_kind.sort(key=lambda attempt: (attempt.task, attempt.number))
            after = (0,) if phases else ()
            phase = _phase(kind, attempts_of_kind, failed.get(kind, 0), submitted_ms, after)
            counted = remote_maps if kind == MAP else None
            phases.append(replace(phase, costs=_costs(attempts_of_kind, counted)))
    return tuple(phases)


def _phase(
    kind: str, attempts: Sequence[Attempt], failed: int, submitted_ms: int, after: tuple[int, ...]
) -> PastPhase:
    lengths_ms = [attempt.finished_ms - attempt.started_ms for attempt in attempts]
    work = [attempt.work for attempt in attempts]
    return PastPhase(
        name=kind,
        kind=kind,
        tasks=len(attempts),
        avg_s=sum(lengths_ms) / len(attempts) / 1000,
        max_s=max(lengths_ms) / 1000,
        failed=failed,
        input_bytes=_sum(one.input_bytes for one in work),
        output_bytes=_sum(one.output_bytes for one in work),
        shuffle_read_bytes=_sum(one.shuffle_read_bytes for one in work),
        shuffle_write_bytes=_sum(one.shuffle_write_bytes for one in work),
        input_records=_sum(one.input_records for one in work),
        output_records=_sum(one.output_records for one in work),
        cpu_s=_cpu_s(work),
        rss_bytes_max=max((one.rss_bytes for one in work if one.rss_bytes), default=None),
        timeline=tuple(_task(attempt, submitted_ms) for attempt in attempts),
        after=after,
    )


def _costs(attempts: Sequence[Attempt], remote_counted: int | None) -> TaskCosts | None:
    """None if no attempt has any. remote_counted: attempts away from their input, by the job."""
    spilled = [one.work.spilled_records for one in attempts if one.work.spilled_records is not None]
    gc_ms = [
        min(one.work.gc_ms, one.finished_ms - one.started_ms)
        for one in attempts
        if one.work.gc_ms is not None
    ]
    remote = [one for one in attempts if one.is_remote]
    is_placed = any(one.is_remote is not None for one in attempts)
    if not (spilled or gc_ms or is_placed or remote_counted is not None):
        return None
    if not is_placed and remote_counted is not None:
        remote_counted = min(remote_counted, len(attempts))  # it counts failed attempts, too
    return TaskCosts(
        gc_s=sum(gc_ms) / 1000 if gc_ms else None,
        spilled_records=_sum(spilled) if spilled else None,
        remote_tasks=len(remote) if is_placed else remote_counted,
        remote_s=sum(one.finished_ms - one.started_ms for one in remote) / 1000,
    )


def _sum(amounts: Iterable[int]) -> int:
    return min(sum(amounts), SUM_MAX)


def _cpu_s(work: Sequence[Work]) -> float | None:
    """Seconds over all attempts, None if all are 0: nodes that cannot measure write 0."""
    total_ms = sum(one.cpu_ms for one in work if one.cpu_ms)
    return total_ms / 1000 if total_ms else None


def _task(attempt: Attempt, submitted_ms: int) -> PastTask:
    fetched_ms = attempt.fetched_ms
    return PastTask(
        started_at_s=(attempt.started_ms - submitted_ms) / 1000,
        finished_at_s=(attempt.finished_ms - submitted_ms) / 1000,
        fetched_at_s=None if fetched_ms is None else (fetched_ms - submitted_ms) / 1000,
        node=attempt.node or None,
        input_bytes=attempt.work.input_bytes + attempt.work.shuffle_read_bytes,
        input_records=attempt.work.input_records,
    )


def fetched_ms_within(fetched_ms: int | None, started_ms: int, finished_ms: int) -> int | None:
    """When a reduce had all its input; None where that is not inside its own time.

    >>> fetched_ms_within(15, 10, 20), fetched_ms_within(0, 10, 20)
    (15, None)
    """
    if fetched_ms is not None and started_ms <= fetched_ms <= finished_ms:
        return fetched_ms
    return None


def host_of(place: str) -> str:
    """The node of a place, which may be written below its rack.

    >>> host_of("/default-rack/node1")
    'node1'
    """
    return place.strip().rpartition("/")[2]
