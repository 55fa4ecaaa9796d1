"""The opening: what a running cluster is at one instant, as facts that a later release can read.

A journal that grows for months cannot be replayed from its start. An opening takes the place of
the events before it. It holds what happened (nodes, open jobs, the tasks that are done and where
their outputs are, the attempts that run), and nothing that a release could compute differently:
no index, no order that follows from something else. `sluice.core.record.restoring` makes a
scheduler of it.

Left out are jobs that have ended, unless something of them still runs, a job to come waits for them
or the task policy has still to do with them, and attempts whose outcome no longer counts. A message
about them is counted as ignored.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from sluice.core.entries import Attempt, JobEntry, NodeEntry, PhaseEntry
from sluice.core.indexes.free_slots import Interval
from sluice.core.indexes.pending import LocatedTasks
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.record.codec import as_plain
from sluice.core.scheduler import Policies, Scheduler
from sluice.core.state import ClusterState
from sluice.core.transitions import AttemptState, JobState
from sluice.model.attempts import Usage
from sluice.model.cluster import Locality, Node
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId, NodeId
from sluice.model.job import Job
from sluice.model.queues import Pool
from sluice.model.resources import Resources
from sluice.model.slot_kind import SlotKind

FORM: Final = 1  # of the document; a reader refuses one that it does not know
KINDS_OF_POLICY: Final = ("admission", "release", "tasks", "pools")

# The name of a code, then each of its numbers as JSON.
ReasonText = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPool:
    """A pool, in the order in which they became known."""

    pool: Pool
    is_declared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenNode:
    """A node that is or was there, in the order in which they first joined.

    rests_until_s: None if it does not rest; one that is set aside or cordoned rests for ever.
    """

    node: Node
    is_up: bool = True
    faults: int = 0
    fault: str = ""
    fault_at_s: float | None = None
    rests_until_s: float | None = None
    rests_for_ever: bool = False
    cordon: str = ""
    is_cordoned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPhase:
    """A phase of an open job.

    locations: per task, the nodes with its input; None if it may run anywhere. tried: tasks that
    have run or wait to run again, as (first, how many). The rest is by task, as in `Repeats`;
    copies: the numbers of the attempts that run.
    """

    locations: tuple[tuple[NodeId, ...], ...] | None = None
    tried: tuple[Interval, ...] = ()
    ended_at_s: float = 0.0
    retries: Mapping[int, int] | None = None
    failures: Mapping[int, int] | None = None
    causes: Mapping[str, tuple[int, ...]] | None = None
    copies: Mapping[int, tuple[int, ...]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenJob:
    """A job, in the order of submission. phase_number: of its first phase, among all phases."""

    job: Job
    seq: int
    phase_number: int
    submitted_at_s: float
    state: JobState
    phases: tuple[OpenPhase, ...]
    alike: bool = False
    weight: float = 1.0
    release_seq: int = -1
    released_at_s: float | None = None
    started_at_s: float | None = None
    finished_at_s: float | None = None
    reason: str = ""
    promised: int = 0
    verdict: ReasonText = ()
    decisions: tuple[tuple[float, str, ReasonText], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAttempt:
    """An attempt that runs, or a done one that counts; job and node by their place.

    lost_why: its output is gone, and nothing needs it now.
    """

    job: int
    phase: int
    task: int
    number: int
    node: int
    started_at_s: float
    slot_kind: SlotKind
    slots: tuple[Interval, ...]
    reason: ReasonText
    state: AttemptState
    tasks: int = 1
    locality: Locality | None = None
    is_copy: bool = False
    is_moot: bool = False
    width: float = 1.0
    lent_slot: int = -1
    progress: float = 0.0
    progress_at_s: float | None = None
    shuffled_at_s: float | None = None
    scored: float = 0.0
    reserved: Resources | None = None
    kill_reason: ReasonText = ()
    finished_at_s: float | None = None
    usage: Usage | None = None
    outputs: tuple[str, ...] = ()
    lost_why: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """The whole of it. deferred, waiting, resting, leaving, awaited: places, in their order.

    machine_changes: those of rented nodes that are there, and the requests for those to come.
    returned: nodes whose names may be used again.
    memory: what each policy remembers, by its kind, as JSON.
    """

    form: int
    now_s: float
    events: int
    submitted: int
    releases: int
    phases: int
    node_changes: int
    is_closed: bool
    pools: tuple[OpenPool, ...]
    nodes: tuple[OpenNode, ...]
    jobs: tuple[OpenJob, ...]
    done: tuple[OpenAttempt, ...]
    running: tuple[OpenAttempt, ...]
    deferred: tuple[int, ...] = ()
    waiting: tuple[int, ...] = ()
    resting: tuple[int, ...] = ()
    leaving: tuple[tuple[int, ReasonText], ...] = ()
    awaited: tuple[ReasonText, ...] = ()
    machine_changes: tuple[tuple[float, str, str, int, ReasonText], ...] = ()
    kept_free: int = 0
    round_wake_s: float | None = None
    rent_wake_s: float | None = None
    ignored: Mapping[str, int] | None = None
    memory: Mapping[str, str] | None = None
    returned: tuple[NodeId, ...] = ()


def opening_of(scheduler: Scheduler) -> str:
    """The opening of a scheduler between two events, as one line of JSON.

    Raises InvalidInput if one of its policies cannot save what it remembers.
    """
    plain = as_plain(_opening(scheduler))
    return json.dumps(plain, separators=(",", ":"), allow_nan=False)


def _opening(scheduler: Scheduler) -> Opening:
    state, rented = scheduler.state, scheduler.rented
    unfinished = {one.job_id: one for one in scheduler.policies.tasks.unfinished_jobs()}
    found = unfinished | {one.job_id: one for one in _open_jobs(state)}
    jobs = sorted(found.values(), key=lambda job: job.seq)
    places = {job.job_id: place for place, job in enumerate(jobs)}
    return Opening(
        form=FORM,
        now_s=state.now_s,
        events=scheduler.events,
        submitted=state._submitted,  # noqa: SLF001  # a part of the record of the state
        releases=state.releases,
        phases=state._phases,  # noqa: SLF001  # as above
        node_changes=state.node_changes,
        is_closed=state.is_closed,
        pools=tuple(
            OpenPool(pool=one.pool, is_declared=one.is_declared) for one in state.pools.values()
        ),
        nodes=tuple(_node(one, state) for one in state.node_at),
        jobs=tuple(_job(job) for job in jobs),
        done=tuple(_done(state, places)),
        running=tuple(_attempt(one, places) for one in state.running.values()),
        deferred=tuple(places[job_id] for job_id in state.deferred),
        waiting=tuple(places[job_id] for job_id in state.waiting),
        resting=tuple(node.index for node in scheduler.resting),
        leaving=tuple((node.index, reason_text(why)) for node, why in rented.leaving.items()),
        awaited=tuple(reason_text(reason) for reason in rented.awaited),
        machine_changes=tuple(
            (at_s, what, node_id, nodes, reason_text(why))
            for at_s, what, node_id, nodes, why in state.machines.present()
        ),
        returned=tuple(sorted(state.machines.returned)),
        kept_free=state.machines.kept_free,
        round_wake_s=_finite(scheduler.jobs.round_wake_s),
        rent_wake_s=rented.wake_at_s,
        ignored=dict(state.ignored),
        memory=dict(_memory(scheduler.policies)),
    )


def _memory(policies: Policies) -> Iterator[tuple[str, str]]:
    for kind in KINDS_OF_POLICY:
        policy = getattr(policies, kind)
        saved = policy.saved()
        if saved is None:
            raise InvalidInput(
                f"the {kind} policy {policy.name or type(policy).__name__} cannot save what it"
                " remembers"
            )
        if saved:
            yield kind, json.dumps(saved, allow_nan=False)


def _open_jobs(state: ClusterState) -> list[JobEntry]:
    """The jobs that have not ended, have an attempt that runs, or that a job to come waits for."""
    busy = {attempt.phase.job_id for attempt in state.running.values()}
    awaited = {
        name
        for job_id, names in state.to_come.items()
        if job_id not in state.jobs
        for name in names
    }
    return [
        job
        for job in state.jobs.values()
        if not job.has_ended or job.job_id in busy or job.job_id in awaited
    ]


def _node(entry: NodeEntry, state: ClusterState) -> OpenNode:
    return OpenNode(
        node=entry.node,
        is_up=entry.is_up,
        faults=entry.faults,
        fault=entry.fault,
        fault_at_s=_finite(entry.fault_at_s),
        rests_until_s=_finite(entry.rests_until_s),
        rests_for_ever=entry.rests_until_s == math.inf,
        cordon=entry.cordon,
        is_cordoned=entry.node_id in state.machines.cordoned,
    )


def _job(entry: JobEntry) -> OpenJob:
    return OpenJob(
        job=entry.job,
        seq=entry.seq,
        phase_number=entry.phases[0].number if entry.phases else 0,
        submitted_at_s=entry.submitted_at_s,
        state=entry.state,
        phases=tuple(_phase(phase) for phase in entry.phases),
        alike=entry.alike,
        weight=entry.weight,
        release_seq=entry.release_seq,
        released_at_s=_finite(entry.released_at_s),
        started_at_s=_finite(entry.started_at_s),
        finished_at_s=_finite(entry.finished_at_s),
        reason=entry.reason,
        promised=entry.promised,
        verdict=() if entry.verdict is None else reason_text(entry.verdict),
        decisions=tuple((at_s, what, reason_text(why)) for at_s, what, why in entry.decisions),
    )


def _phase(entry: PhaseEntry) -> OpenPhase:
    pending, repeats = entry.pending, entry.repeats
    return OpenPhase(
        locations=tuple(pending.locations) if isinstance(pending, LocatedTasks) else None,
        tried=tuple(_intervals(pending.tried())),
        ended_at_s=entry.ended_at_s,
        retries=dict(repeats.retries) if repeats else None,
        failures=dict(repeats.failures) if repeats else None,
        causes={why: tuple(sorted(of)) for why, of in repeats.causes.items()} if repeats else None,
        copies=dict(_copies(repeats.copies)) if repeats else None,
    )


def _copies(running: Mapping[int, Iterable[Attempt]]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The attempts of each task that run; those of an ended job are left there as they end."""
    for task, twins in running.items():
        numbers = tuple(one.number for one in twins if not one.has_ended)
        if numbers:
            yield task, numbers


def _intervals(tasks: Iterable[int]) -> Iterator[Interval]:
    """Ascending numbers as (first, how many)."""
    numbers = list(tasks)
    if not numbers:
        return
    breaks = [at + 1 for at, (one, two) in enumerate(pairwise(numbers)) if two != one + 1]
    for start, end in pairwise([0, *breaks, len(numbers)]):
        yield numbers[start], end - start


def _done(state: ClusterState, places: Mapping[JobId, int]) -> Iterator[OpenAttempt]:
    """The done attempts of open jobs that count, in the order of their end."""
    log = state.closed
    for row in range(len(log)):
        phase = log.phase_of(row)
        if phase is None or phase.job_id not in places:
            continue
        attempt = log.attempt(row)
        if attempt.state is AttemptState.DONE and not attempt.is_moot and not attempt.is_undone:
            lost = None if phase.repeats is None else phase.repeats.lost.get(row)
            yield _attempt(attempt, places, lost)


def _attempt(
    attempt: Attempt, places: Mapping[JobId, int], lost_why: str | None = None
) -> OpenAttempt:
    why, runs = attempt.kill_reason, not attempt.has_ended
    return OpenAttempt(
        job=places[attempt.phase.job_id],
        phase=attempt.phase.index,
        task=attempt.task,
        number=attempt.number,
        node=attempt.node.index,
        started_at_s=attempt.started_at_s,
        slot_kind=attempt.slot_kind,
        slots=attempt.slots,
        reason=reason_text(attempt.reason),
        state=attempt.state,
        tasks=attempt.tasks,
        locality=attempt.locality,
        is_copy=attempt.is_copy,
        is_moot=attempt.is_moot,
        width=attempt.width,
        lent_slot=attempt.lent_slot,
        progress=attempt.progress if runs else 0.0,
        progress_at_s=_finite(attempt.progress_at_s) if runs else None,
        shuffled_at_s=_finite(attempt.shuffled_at_s),
        scored=attempt.scored if runs else 0.0,
        reserved=attempt.reserved if runs else None,
        kill_reason=() if why is None else reason_text(why),
        finished_at_s=_finite(attempt.finished_at_s),
        usage=attempt.usage,
        outputs=attempt.outputs,
        lost_why=lost_why,
    )


def reason_text(reason: Reason) -> ReasonText:
    """The reason as text that does not change when its words do."""
    return (reason.code.name, *(json.dumps(one) for one in reason.numbers))


def reason_of(text: Sequence[str]) -> Reason:
    """The reason that `reason_text` made text of. Raises KeyError or ValueError for other text."""
    numbers = tuple((name, number) for name, number in map(json.loads, text[1:]))
    return Reason(ReasonCode[text[0]], numbers)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
