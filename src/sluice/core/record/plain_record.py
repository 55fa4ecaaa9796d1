"""The jobs and ended attempts of a run as plain values, which go to another process.

Objects of compiled classes cannot be pickled, and what refers to what would need a deep stack.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from sluice.core.entries import Attempt, JobEntry, NodeEntry, PhaseEntry, PoolEntry
from sluice.core.indexes.free_slots import SlotSpan
from sluice.core.indexes.pending import PendingTasks
from sluice.core.reasons import Reason
from sluice.core.record.attempt_log import AttemptLog
from sluice.model.job import Job

# What an attempt was started with, and what came of it.
_OF_LAUNCH = ("started_at_s", "task", "number", "tasks", "slot_kind")
_OF_ATTEMPT = (
    "state", "finished_at_s", "shuffled_at_s", "progress", "width", "usage", "outputs", "detail",
    "is_moot", "reserved", "lent_slot",
)  # fmt: skip
_OF_JOB = (
    "state", "phases_left", "submitted_at_s", "seniority", "release_seq", "released_at_s",
    "started_at_s", "finished_at_s", "reason", "promised",
)  # fmt: skip

_Values = tuple[Any, ...]


class PlainRecord(NamedTuple):
    """pools, nodes, jobs and attempts: a tuple for each, which names the others by their places."""

    pools: list[_Values]
    nodes: list[_Values]
    jobs: list[_Values]
    attempts: list[_Values]


def packed(entries: Iterable[JobEntry], log: AttemptLog) -> PlainRecord:
    """The jobs of a run that has ended, and its attempts."""
    jobs = list(entries)
    pools = {id(pool): pool for pool in (job.pool for job in jobs)}
    pool_places = {key: place for place, key in enumerate(pools)}
    job_places = {job.job_id: place for place, job in enumerate(jobs)}
    nodes: dict[int, tuple[int, NodeEntry]] = {}
    attempts = []
    for one in log:
        place, _ = nodes.setdefault(id(one.node), (len(nodes), one.node))
        attempts.append((job_places[one.phase.job_id], one.phase.index, place, *_attempt(one)))
    return PlainRecord(
        [(pool.pool, pool.seq) for pool in pools.values()],
        [(node.node, node.index, node.units) for _, node in nodes.values()],
        [(pool_places[id(job.pool)], *_job(job)) for job in jobs],
        attempts,
    )


def unpacked(record: PlainRecord) -> tuple[tuple[JobEntry, ...], AttemptLog]:
    """The jobs and attempts again. Nothing runs, and no task waits."""
    pools = [PoolEntry(pool, seq) for pool, seq in record.pools]
    nodes = [NodeEntry(node, index, units) for node, index, units in record.nodes]
    entries = [_entry(pools[pool], *values) for pool, *values in record.jobs]
    log = AttemptLog()
    for job, index, place, *values in record.attempts:
        attempt = _made(entries[job].phases[index], nodes[place], *values)
        row = log.add(attempt)
        if attempt.is_undone:
            log.undo(row, attempt.undone_why)
    return tuple(entries), log


def _attempt(one: Attempt) -> _Values:
    return (
        [getattr(one, name) for name in _OF_LAUNCH],
        one.slots,
        (one.locality, one.is_copy, _plain(one.reason)),
        None if one.kill_reason is None else _plain(one.kill_reason),
        one.undone_why if one.is_undone else None,
        [getattr(one, name) for name in _OF_ATTEMPT],
    )


def _made(
    phase: PhaseEntry,
    node: NodeEntry,
    launch: list[Any],
    slots: list[tuple[int, int]],
    rest: tuple[Any, Any, Any],
    kill_reason: Reason | None,
    undone_why: str | None,
    values: list[Any],
) -> Attempt:
    """An attempt of the values that `_attempt` gives."""
    started_at_s, task, number, tasks, slot_kind = launch
    span: SlotSpan | None = None
    for first, count in reversed(slots):
        later, span = span, SlotSpan(first, count)
        span.more = later
    assert span is not None  # an attempt holds slots
    made = Attempt(phase, node, started_at_s, task, number, tasks, slot_kind, span, *rest)
    for name, value in zip(_OF_ATTEMPT, values, strict=True):
        if value != getattr(made, name):  # to set one of its rare facts makes room for all
            setattr(made, name, value)
    if kill_reason is not None:
        made.kill_reason = kill_reason
    if undone_why is not None:
        made.undo(undone_why)
    return made


def _job(entry: JobEntry) -> _Values:
    verdict = None if entry.verdict is None else _plain(entry.verdict)
    decisions = tuple((at_s, what, _plain(why)) for at_s, what, why in entry.decisions)
    done = [phase.done for phase in entry.phases]
    values = [getattr(entry, name) for name in _OF_JOB]
    return entry.job, entry.seq, entry.alike, verdict, decisions, done, values


def _entry(
    pool: PoolEntry,
    job: Job,
    seq: int,
    alike: bool,  # noqa: FBT001  # as above
    verdict: Reason | None,
    decisions: tuple[tuple[float, str, Reason], ...],
    done: list[int],
    values: list[Any],
) -> JobEntry:
    """A job of the values that `_job` gives."""
    entry = JobEntry(job, seq, pool, alike=alike)
    phases = []
    for index, phase in enumerate(job.phases):
        made = PhaseEntry(entry, phase, index, PendingTasks(phase.tasks), 1.0, index)
        made.done = done[index]
        phases.append(made)
    entry.set_phases(tuple(phases))
    entry.verdict, entry.decisions = verdict, decisions
    for name, value in zip(_OF_JOB, values, strict=True):
        setattr(entry, name, value)
    return entry


def _plain(reason: Reason) -> Reason:
    return Reason(reason.code, tuple(reason.numbers))
