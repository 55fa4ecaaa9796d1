"""Checks that hold between any two events: no task is lost, and no task runs twice.

For speed the state keeps counters and indexes in step by hand. Here each of them is counted again
the slow way, from the attempts themselves, so that one that slipped is caught at the event that
moved it. `check` costs time in proportion to everything that ever ran; the tests call it after
every event, a scheduler at work never does.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain, zip_longest

from sluice.core.entries import WHOLE_SLOTS, Attempt, JobEntry, NodeEntry, PhaseEntry
from sluice.core.indexes.by_kind import KINDS
from sluice.core.indexes.free_slots import Interval
from sluice.core.state import ClusterState
from sluice.core.transitions import ATTEMPT_ENDS, AttemptState, JobState
from sluice.model.slot_kind import SlotKind

_HOME = {
    JobState.DEFERRED: "deferred",
    JobState.WAITING: "waiting",
    JobState.QUEUED: "active",
    JobState.RUNNING: "active",
}
_ROUNDING = 1e-6  # what adding and taking away reservations may leave, relative


def check(state: ClusterState) -> None:
    """Raise AssertionError, with what is inconsistent and where, unless the state is consistent."""
    _check_totals(state)
    for job in state.jobs.values():
        _check_job(job, state)
    _check_phases(state)
    on_node = defaultdict(list)
    for attempt in state.running.values():
        _check_running(attempt, state)
        on_node[attempt.node].append(attempt)
    busy = sum(attempt.tasks for attempt in state.running.values())
    assert state.busy == busy, f"busy is {state.busy}, attempts run {busy} tasks"
    for node in state.nodes.values():
        _check_node(node, on_node[node])
        _check_room(node, state)
    _check_closed(state)


def _check_totals(state: ClusterState) -> None:
    startable = sum(
        phase.pending.count for job in state.jobs.values() for phase in job.phases if phase.is_open
    )
    assert state.startable == startable, (
        f"startable is {state.startable}, open phases have {startable} waiting tasks"
    )
    assert state.waiting_jobs() == tuple(state.waiting.values()), (
        f"{len(state.waiting_jobs())} jobs are in line, {len(state.waiting)} wait"
    )
    for jobs in (state.active, *[pool.jobs for pool in state.pools.values()]):
        assert len(jobs) == len(jobs.values()), (
            f"{len(jobs)} released jobs are counted, {len(jobs.values())} have not ended"
        )
    distinct_jobs = sum(not job.alike for job in state.active.values())
    assert state.distinct_jobs == distinct_jobs, (
        f"distinct_jobs is {state.distinct_jobs}, {distinct_jobs} active jobs are"
    )
    for kind in SlotKind:
        slots = sum(node.node.slots(kind) for node in state.nodes.values() if node.is_up)
        assert state.slots[kind] == slots, (
            f"{kind.value} slots are {state.slots[kind]}, nodes that are up have {slots}"
        )


# --- jobs and phases --------------------------------------------------------------------------


def _check_job(job: JobEntry, state: ClusterState) -> None:
    home = _HOME.get(job.state)
    for name in ("deferred", "waiting", "active"):
        is_there = getattr(state, name).get(job.job_id) is job
        assert is_there == (name == home), f"job {job.job_id} is {job.state} and in {name}"
    is_kept = state.promises.get(job.job_id) is job
    assert is_kept == (job.promised > 0 and not job.has_ended), (
        f"job {job.job_id} is {job.state}, was promised {job.promised}, in promises: {is_kept}"
    )
    is_in_pool = job.pool.jobs.get(job.job_id) is job
    assert is_in_pool == (home == "active"), f"job {job.job_id} is {job.state} and in its pool"
    left = sum(not phase.is_done for phase in job.phases)
    assert job.phases_left == left, f"{job.job_id}: phases_left {job.phases_left}, really {left}"
    if job.state is JobState.DONE:
        assert left == 0, f"job {job.job_id} is done, {left} of its phases are not"
    assert job.has_ended == (not math.isnan(job.finished_at_s)), (
        f"job {job.job_id} is {job.state}, its end is at {job.finished_at_s}"
    )


def _check_phases(state: ClusterState) -> None:
    running = defaultdict(list)
    for attempt in state.running.values():
        running[attempt.phase].append(attempt)
    done = defaultdict(list)
    kept_rows = {row for node in state.nodes.values() for row in node.done}
    kept = set()
    log = state.closed
    for row in [row for row in range(len(log)) if log.phase_of(row) is not None]:
        attempt = log[row]
        if attempt.state is AttemptState.DONE and not (attempt.is_moot or attempt.is_undone):
            done[attempt.phase].append(attempt)
            if row in kept_rows:
                kept.add(attempt)
    queued = {kind: state.backlogs[kind].phases() for kind in SlotKind}
    for job in state.jobs.values():
        for phase in job.phases:
            _check_tasks(phase, running[phase], done[phase])
            _check_outputs(phase, done[phase], kept)
            _check_line(phase, queued[phase.kind])
    for lines in (state.backlogs, *[pool.backlogs for pool in state.pools.values()]):
        for kind, line in lines.items():
            assert line.count == len(line.phases()), f"{line.count} phases wait for {kind.value}"


def _check_tasks(phase: PhaseEntry, running: list[Attempt], done: list[Attempt]) -> None:
    """Each task waits, runs or is done: exactly one of them, and once."""
    where = f"{phase.job_id}/{phase.name}"
    count = sum(attempt.launch.tasks for attempt in running)
    assert phase.running == count, f"{where}: running is {phase.running}, attempts run {count}"
    count = sum(attempt.launch.tasks for attempt in done)
    assert phase.done == count, f"{where}: done is {phase.done}, attempts did {count}"
    trying = defaultdict(list)
    for attempt in running:
        if not attempt.is_moot:
            trying[attempt.key.task].append(attempt)
    tries = [attempts[0] for attempts in trying.values()]  # copies count once
    spans = [(attempt.key.task, attempt.launch.tasks) for attempt in tries + done]
    assert _are_disjoint(spans), f"{where}: a task runs or is done twice"
    if phase.job.has_ended:
        assert not trying, f"{where}: has ended, tasks {list(trying)} still run in earnest"
        assert not phase.pending.count, f"{where}: has ended, {phase.pending.count} tasks wait"
        return
    waiting, run = phase.pending.count, sum(attempt.launch.tasks for attempt in tries)
    assert waiting + run + phase.done == phase.tasks, (
        f"{where}: {waiting} wait, {run} run, {phase.done} are done, of {phase.tasks} tasks"
    )
    copies = {task: set(attempts) for task, attempts in trying.items() if len(attempts) > 1}
    kept = {task: set(attempts) for task, attempts in phase.copies.items()}
    assert kept == copies, f"{where}: copies of tasks {list(kept)} are kept, {list(copies)} run"


def _check_outputs(phase: PhaseEntry, done: list[Attempt], kept: set[Attempt]) -> None:
    """The output that an unfinished phase reads is on a node that is up."""
    if not phase.job.has_ended and not all(later.is_done for later in phase.needed_by):
        for attempt in done:
            assert attempt.node.is_up, f"output of {attempt.key} is gone, and a phase needs it"
            assert attempt in kept, f"output of {attempt.key} would be lost without notice"


def _check_line(phase: PhaseEntry, queued: set[PhaseEntry]) -> None:
    """A phase is in its backlogs exactly while it may start and has waiting tasks."""
    where = f"{phase.job_id}/{phase.name}"
    is_active = _HOME.get(phase.job.state) == "active"
    assert phase.is_open == (is_active and phase.left_before == 0), (
        f"{where}: is_open is {phase.is_open}, its job is {phase.job.state},"
        f" {phase.left_before} tasks are left before it"
    )
    assert phase.is_queued == (phase.is_open and phase.pending.count > 0), (
        f"{where}: is_queued is {phase.is_queued} with {phase.pending.count} waiting tasks"
    )
    for line in (queued, phase.job.pool.backlogs[phase.kind].phases()):
        assert (phase in line) == phase.is_queued, f"{where}: is_queued and its backlogs disagree"


# --- nodes and slots --------------------------------------------------------------------------


def _check_node(node: NodeEntry, attempts: list[Attempt]) -> None:
    for kind in SlotKind:
        taken = [a.slots for a in attempts if a.launch.slot_kind is kind]
        _check_slots(node, kind, list(chain.from_iterable(taken)))
    in_containers = [a.launch.slot_kind is SlotKind.CONTAINER for a in attempts]
    assert all(in_containers) or not any(in_containers), (
        f"{node.node_id}: typed slots and containers are held at one time"
    )
    held = [a.reserved.amounts() for a in attempts if a.reserved is not None]
    # Nothing may have been reserved yet, of other resources neither.
    for amount, *parts in zip_longest(node.reserved.amounts(), *held, fillvalue=0.0):
        assert math.isclose(amount, math.fsum(parts), rel_tol=_ROUNDING, abs_tol=_ROUNDING), (
            f"{node.node_id}: {amount} is reserved, its attempts hold {math.fsum(parts)}"
        )


def _check_room(node: NodeEntry, state: ClusterState) -> None:
    """The index of nodes with room has the node exactly for the kinds that it has free."""
    assert state.node_at[node.index] is node, f"{node.node_id} is not at its index"
    for kind in KINDS:
        members = state.open_nodes.of(kind)
        is_mixed = any(
            node.used(other)
            for other in KINDS
            if (other is SlotKind.CONTAINER) != (kind is SlotKind.CONTAINER)
        )
        assert is_mixed == node.is_mixed(kind), f"{node.node_id}: is_mixed({kind.value}) is wrong"
        is_open = node.is_up and node.free[kind] > 0 and not is_mixed
        assert (members.first_from(node.index) == node.index) == is_open, (
            f"{node.node_id}: {node.free[kind]} free {kind.value} slots, the index says otherwise"
        )


def _check_slots(node: NodeEntry, kind: SlotKind, taken: list[Interval]) -> None:
    """Free slots and held ones make up the node's, without gap or overlap."""
    where = f"{node.node_id}, {kind.value} slots"
    most = node.all_units(kind)
    room = node.free.of(kind).intervals()
    free, used = _total(room), _total(taken)
    assert node.free[kind] == free, f"{where}: free is {node.free[kind]}, intervals say {free}"
    assert free + used == most, f"{where}: {free} free and {used} held are not {most}"
    spans = [*room, *taken]
    assert _are_disjoint(spans), f"{where}: one is held twice, or held and free: {sorted(spans)}"
    assert all(first >= 0 and first + count <= most for first, count in spans), (
        f"{where}: {spans} reach outside 0..{most}"
    )


def _check_running(attempt: Attempt, state: ClusterState) -> None:
    key, node = attempt.key, attempt.node
    assert state.running.get(key) is attempt, f"attempt {key} runs under another's key"
    assert attempt.state not in ATTEMPT_ENDS, f"attempt {key} is {attempt.state} and runs"
    assert node.is_up, f"attempt {key} runs on {node.node_id}, which is gone"
    assert state.nodes[node.node_id] is node, f"attempt {key} runs on a former {node.node_id}"
    launch = attempt.launch
    assert _total(launch.slots) == launch.tasks, f"attempt {key}: slots != tasks"
    is_typed = launch.slot_kind is not SlotKind.CONTAINER
    width = state.units[attempt.phase.kind] if is_typed else 1
    assert attempt.slots == launch.slots or state.units is not WHOLE_SLOTS, (
        f"attempt {key} was launched in slots {launch.slots} and holds {attempt.slots}"
    )
    assert _total(attempt.slots) == width * launch.tasks, (
        f"attempt {key} holds {_total(attempt.slots)} units, its tasks take {width} each"
    )
    assert not attempt.is_moot or attempt.state is AttemptState.KILLING, (
        f"attempt {key} is moot, but it was not asked to end"
    )


# --- history ----------------------------------------------------------------------------------


def _check_closed(state: ClusterState) -> None:
    seen = set(state.running)
    assert len(seen) == len(state.running)
    for attempt in state.closed:
        key = attempt.key
        assert key not in seen, f"attempt {key} is twice in the history"
        seen.add(key)
        assert attempt.state in ATTEMPT_ENDS, f"attempt {key} is closed and {attempt.state}"
        assert attempt.finished_at_s >= attempt.started_at_s, (
            f"attempt {key} ended at {attempt.finished_at_s}, before {attempt.started_at_s}"
        )
        assert not attempt.is_undone or attempt.state is AttemptState.DONE, (
            f"attempt {key} is undone but was never done"
        )


def _total(intervals: Iterable[Interval]) -> int:
    return sum(count for _, count in intervals)


def _are_disjoint(intervals: Sequence[Interval]) -> bool:
    end = -math.inf
    for first, count in sorted(intervals):
        if first < end:
            return False
        end = first + count
    return True
