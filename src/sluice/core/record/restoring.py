"""A scheduler made of an opening, through the transitions that led to it.

No policy is asked anything. The state takes the facts with the same calls as in the run: a job is
added, admitted and released, an attempt starts, a task is done. So the indexes that policies keep
over the state build themselves, and a release with other indexes reads the opening of an older one.
At the end each policy gets back what it saved for itself.
"""

from __future__ import annotations

import json
import math
from typing import Final

from sluice.core.entries import Attempt, JobEntry, NodeEntry
from sluice.core.indexes.free_slots import SlotSpan
from sluice.core.protocols import Policies
from sluice.core.record.codec import from_plain
from sluice.core.record.machine_record import MachineChange
from sluice.core.record.opening import (
    FORM,
    KINDS_OF_POLICY,
    OpenAttempt,
    Opening,
    OpenJob,
    OpenNode,
    OpenPhase,
    reason_of,
)
from sluice.core.rules import Rules
from sluice.core.scheduler import Scheduler
from sluice.core.state import ClusterState
from sluice.core.transitions import AttemptState, JobInput, JobState
from sluice.model.errors import InvalidInput
from sluice.model.slot_kind import SlotKind

_CAUSE_MAX: Final = 200  # characters
_ENDED_BY: Final = {
    JobState.DONE: JobInput.ALL_DONE,
    JobState.FAILED: JobInput.TASK_GAVE_UP,
    JobState.KILLED: JobInput.KILLED,
    JobState.REFUSED: JobInput.REFUSED,
}


def restore(line: str | bytes, policies: Policies, rules: Rules | None = None) -> Scheduler:
    """A scheduler that goes on from an opening. policies: fresh ones, as those of the run.

    Raises InvalidInput if the line is no opening, is of another form, or contradicts itself.
    """
    try:
        document = json.loads(line)
        form = document["form"]
        if form == FORM:
            return _restored(from_plain(Opening, document), policies, rules)
    except (AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise InvalidInput(f"the opening cannot be read: {repr(error)[:_CAUSE_MAX]}") from error
    raise InvalidInput(f"the opening has form {form!r:.20}, and this release reads form {FORM}")


def _restored(opening: Opening, policies: Policies, rules: Rules | None) -> Scheduler:
    scheduler = Scheduler(policies, pools=tuple(one.pool for one in opening.pools), rules=rules)
    state = scheduler.state
    state.now_s = opening.now_s
    for known in opening.pools:
        state.pools[known.pool.pool_id].is_declared = known.is_declared
    for node in opening.nodes:
        _add_node(state, node)
    jobs = [_add_job(state, job) for job in opening.jobs]
    _place_jobs(state, opening, jobs)
    attempts = _Attempts(state, jobs)
    attempts.finish_all(opening.done)
    for one in opening.running:
        attempts.run(one)
    for kept, entry in zip(opening.jobs, jobs, strict=True):
        _settle(state, kept, entry)
    _number(state, opening)
    _restore_nodes(scheduler, opening)
    for kind in KINDS_OF_POLICY:
        saved = (opening.memory or {}).get(kind)
        if saved:
            getattr(policies, kind).restored(json.loads(saved), state)
    return scheduler


def _add_node(state: ClusterState, kept: OpenNode) -> None:
    node = state.add_node(kept.node)
    node.faults, node.fault, node.cordon = kept.faults, kept.fault, kept.cordon
    node.fault_at_s = _or(kept.fault_at_s, math.nan)
    node.rests_until_s = math.inf if kept.rests_for_ever else _or(kept.rests_until_s, -math.inf)
    if kept.is_cordoned:
        state.machines.cordoned[node.node_id] = node
    if not kept.is_up:
        state.remove_node(node)


def _add_job(state: ClusterState, kept: OpenJob) -> JobEntry:
    state._submitted, state._phases = kept.seq, kept.phase_number  # noqa: SLF001  # see `_opening`
    places = {
        index: phase.locations
        for index, phase in enumerate(kept.phases)
        if phase.locations is not None
    }
    entry = state.add_job(kept.job, places, alike=kept.alike)
    entry.submit_after(kept.submitted_at_s)
    entry.weight = kept.weight
    for phase, was in zip(entry.phases, kept.phases, strict=True):
        phase.pending.set_tried(
            [task for first, n in was.tried for task in range(first, first + n)]
        )
    return entry


def _place_jobs(state: ClusterState, opening: Opening, jobs: list[JobEntry]) -> None:
    """Admit and release the jobs, in the order in which that happened."""
    for place in opening.deferred:
        state.defer(jobs[place])
    admitted = [*opening.waiting]
    released = [place for place, kept in enumerate(opening.jobs) if kept.release_seq >= 0]
    released.sort(key=lambda place: opening.jobs[place].release_seq)
    for place in admitted:
        state.admit(jobs[place], opening.jobs[place].promised)
        state.await_release(jobs[place])
    for place in released:
        kept = opening.jobs[place]
        state.admit(jobs[place], kept.promised)
        state.releases = kept.release_seq
        state.release(jobs[place])


class _Attempts:
    """Starts and ends attempts of jobs that are open."""

    def __init__(self, state: ClusterState, jobs: list[JobEntry]) -> None:
        self._state = state
        self._jobs = jobs

    def finish_all(self, done: tuple[OpenAttempt, ...]) -> None:
        """Let the done tasks be done; outputs that are lost are on no node."""
        lost: set[int] = set()
        for row, one in enumerate(done):
            attempt = self._finish(one)
            if one.lost_why is not None:
                attempt.phase.repeating().lost[row] = one.lost_why
                lost.add(row)
        for node in self._state.node_at if lost else ():
            kept = [row for row in node.done if row not in lost]
            node.forget_done()
            for row in kept:
                node.add_done(row)

    def _finish(self, kept: OpenAttempt) -> Attempt:
        node = self._state.node_at[kept.node]
        slot_kind = kept.slot_kind
        last = max(first + count for first, count in kept.slots)
        if last <= node.free[slot_kind]:  # nothing else runs yet
            span = node.take_slots_at(slot_kind, list(kept.slots))
        else:  # it has come back with fewer slots
            slot_kind = slot_kind if node.free[slot_kind] else SlotKind.CONTAINER
            span = node.take_slots(slot_kind, 1)
        attempt = self._made(kept, node, slot_kind, span)
        if kept.usage is not None:
            attempt.usage, attempt.outputs = kept.usage, kept.outputs
        self._start(attempt)
        self._state.finish(attempt, _or(kept.finished_at_s, kept.started_at_s))
        return attempt

    def run(self, kept: OpenAttempt) -> None:
        """Let an attempt run in the slots that it holds."""
        state, node = self._state, self._state.node_at[kept.node]
        span = node.take_slots_at(kept.slot_kind, list(kept.slots))
        attempt = self._made(kept, node, kept.slot_kind, span)
        attempt.state, attempt.is_moot = kept.state, kept.is_moot
        self._start(attempt)
        if kept.reserved is not None:
            state.reserve(attempt, kept.reserved)
        if kept.state is AttemptState.KILLING:
            state.running.expect(attempt)

    def _made(
        self, kept: OpenAttempt, node: NodeEntry, slot_kind: SlotKind, span: SlotSpan
    ) -> Attempt:
        phase = self._jobs[kept.job].phases[kept.phase]
        attempt = Attempt(
            phase, node, kept.started_at_s, kept.task, kept.number, kept.tasks, slot_kind, span,
            kept.locality, kept.is_copy, reason_of(kept.reason),
        )  # fmt: skip
        attempt.width, attempt.lent_slot = kept.width, kept.lent_slot
        attempt.progress, attempt.scored = kept.progress, kept.scored
        attempt.progress_at_s = _or(kept.progress_at_s, math.nan)
        attempt.shuffled_at_s = _or(kept.shuffled_at_s, math.nan)
        if kept.kill_reason:  # also of one that was done before it could be ended
            attempt.kill_reason = reason_of(kept.kill_reason)
        return attempt

    def _start(self, attempt: Attempt) -> None:
        """Take the tasks, if they wait, and start, in one step: each changes the same counts.

        A task that was done while a copy of it is being killed waits again if its output is lost.
        """
        state, phase = self._state, attempt.phase
        taken = 0 if attempt.is_moot else phase.pending.take_tasks(attempt.task, attempt.tasks)
        if taken and phase.is_open:
            state.startable -= taken
            state._enqueue(phase)  # noqa: SLF001  # as above
        state.join(attempt)


def _settle(state: ClusterState, kept: OpenJob, entry: JobEntry) -> None:
    """Give a job the facts that no transition sets, and end it if it had ended."""
    if kept.started_at_s is not None and entry.state is JobState.QUEUED:
        entry.move(JobInput.TASK_STARTED)  # what it had started waits again, or it has no tasks
    for index, was in enumerate(kept.phases):
        entry.phases[index].ended_at_s = was.ended_at_s
        _repeat(state, entry, index, was)
    ended_by = _ENDED_BY.get(kept.state)
    if ended_by is not None:
        state.end_job(entry, ended_by)
    entry.reason = kept.reason
    entry.verdict = reason_of(kept.verdict) if kept.verdict else None
    entry.decisions = tuple((at_s, what, reason_of(why)) for at_s, what, why in kept.decisions)
    entry.released_at_s = _or(kept.released_at_s, math.nan)
    entry.started_at_s = _or(kept.started_at_s, math.nan)
    entry.finished_at_s = _or(kept.finished_at_s, math.nan)


def _repeat(state: ClusterState, entry: JobEntry, index: int, was: OpenPhase) -> None:
    phase = entry.phases[index]
    if was.retries is None:
        return
    repeats = phase.repeating()
    repeats.retries = dict(was.retries)
    repeats.failures = dict(was.failures or {})
    repeats.causes = {why: set(tasks) for why, tasks in (was.causes or {}).items()}
    running = (
        {(one.task, one.number): one for one in state.running.values() if one.phase is phase}
        if was.copies
        else {}
    )
    repeats.copies = {
        task: [running[task, number] for number in numbers]
        for task, numbers in (was.copies or {}).items()
    }


def _number(state: ClusterState, opening: Opening) -> None:
    """Go on counting where the run was."""
    state._submitted, state._phases = opening.submitted, opening.phases  # noqa: SLF001  # as above
    state.releases = opening.releases
    state.node_changes = opening.node_changes
    state.is_closed = opening.is_closed
    state.ignored.update(opening.ignored or {})


def _restore_nodes(scheduler: Scheduler, opening: Opening) -> None:
    state, rented = scheduler.state, scheduler.rented
    scheduler.events = opening.events
    for place in opening.resting:
        scheduler.resting[state.node_at[place]] = None
    for place, why in opening.leaving:
        node = state.node_at[place]
        rented.leaving[node] = reason_of(why)
        state.machines.leaving[node.node_id] = node
    rented.awaited.extend(reason_of(why) for why in opening.awaited)
    state.machines.to_come = len(opening.awaited)
    for at_s, what, node_id, nodes, why in opening.machine_changes:
        state.machines.changes.append(MachineChange(at_s, what, node_id, nodes, reason_of(why)))
    state.machines.returned.update(opening.returned)
    state.machines.kept_free = opening.kept_free
    rented.wake_at_s = _or(opening.rent_wake_s, -1.0)
    scheduler.jobs.round_wake_s = _or(opening.round_wake_s, -math.inf)


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value
