"""The state of the cluster: the one place with mutable state.

Policies read it and never write it. Each event changes a handful of counters and indexes in
O(log n); nothing is counted by walking over jobs or nodes. `start`, `finish` and `close` are the
only ways in which an attempt begins and ends, so what they keep in step stays in step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from mypy_extensions import i64

from sluice.core.entries import Attempt, JobEntry, PhaseEntry, PoolEntry
from sluice.core.indexes.backlog import Backlog
from sluice.core.indexes.by_kind import KINDS
from sluice.core.indexes.observers import AttemptObserver, AttemptWatchers, Observer
from sluice.core.indexes.open_nodes import OpenNodes
from sluice.core.indexes.pending import LocatedTasks, PendingTasks, Surroundings
from sluice.core.indexes.released_jobs import ReleasedJobs
from sluice.core.indexes.running import RunningAttempts
from sluice.core.indexes.touched import TouchedPhases
from sluice.core.node_entry import WHOLE_SLOTS, NodeEntry, SlotUnits
from sluice.core.record.attempt_log import AttemptLog
from sluice.core.record.machine_record import MachineRecord
from sluice.core.transitions import (
    ATTEMPT_TRANSITIONS,
    AttemptInput,
    AttemptState,
    JobInput,
    JobState,
)
from sluice.model.cluster import Node
from sluice.model.ids import JobId, NodeId, PoolId
from sluice.model.job import Job, Phase
from sluice.model.queues import Pool
from sluice.model.resources import Resources
from sluice.model.slot_kind import SlotKind

Locations = Mapping[int, tuple[tuple[NodeId, ...], ...]]

_CONTAINER: Final = SlotKind.CONTAINER
_FINISHED: Final = ATTEMPT_TRANSITIONS[AttemptInput.FINISHED]
_RUNNING: Final = JobState.RUNNING  # a look-up on the Enum itself takes 0.1 us
_LAUNCHED: Final = AttemptState.LAUNCHED
_DONE: Final = AttemptState.DONE
_ADMITTED: Final = JobInput.ADMITTED
_RELEASED: Final = JobInput.RELEASED
_TASK_STARTED: Final = JobInput.TASK_STARTED
_ALL_DONE: Final = JobInput.ALL_DONE
_QUEUED: Final = JobState.QUEUED


class ClusterState:
    """Everything the scheduler knows. Read by policies, written by the scheduler alone.

    slowstart: share of the tasks of the phases before that must be done before a phase starts.
    """

    def __init__(self, pools: tuple[Pool, ...] = (), *, slowstart: float = 1.0) -> None:
        self.slowstart = slowstart
        self.now_s = 0.0
        self.jobs: dict[JobId, JobEntry] = {}  # every job that was submitted, until it is forgotten
        self.is_closed = False  # the last job has arrived
        self.deferred: dict[JobId, JobEntry] = {}  # not yet admitted
        self.waiting: dict[JobId, JobEntry] = {}  # admitted, not released
        self.active: ReleasedJobs[JobEntry] = ReleasedJobs()
        self.to_come: Mapping[JobId, Sequence[JobId]] = {}  # `after` of all jobs of the run
        self.drivers: Mapping[JobId, Job] = {}  # simulated jobs whose driver works before any task
        self.ended: list[JobEntry] | None = None  # since a driver emptied it; None: not kept
        self.promises: dict[JobId, JobEntry] = {}  # admitted with containers of its own, not ended
        self.busy = 0  # tasks that run
        self.pools: dict[PoolId, PoolEntry] = {}
        self.nodes: dict[NodeId, NodeEntry] = {}
        self.node_at: list[NodeEntry] = []  # by index
        self.open_nodes = OpenNodes()
        self.rack_of: dict[NodeId, str] = {}
        self.surroundings = Surroundings(self.rack_of)
        self.running = RunningAttempts()
        self.closed = AttemptLog()  # every attempt that ended, in the order of its end
        self.backlogs: dict[SlotKind, Backlog[PhaseEntry]] = {kind: Backlog() for kind in SlotKind}
        self.slots: dict[SlotKind, int] = dict.fromkeys(SlotKind, 0)
        self.startable = 0  # waiting tasks that could start if they were given room
        self.distinct_jobs = 0  # active jobs whose tasks are not alike
        self.observers: tuple[Observer, ...] = ()  # all indexes, in the order of registration
        self.index_updates: tuple[Callable[[], None], ...] = ()  # of observers that wait for a use
        self._touched: TouchedPhases | None = None  # the first: most policies have no other
        self._more_touched: tuple[TouchedPhases, ...] = ()
        self._watchers = AttemptWatchers()
        self.units: SlotUnits = WHOLE_SLOTS
        self.has_any_slot = False  # the task policy gives any slot to any kind of task
        self.node_changes = 0  # how often a node came or went
        self.machines = MachineRecord()  # those that are rented while jobs run
        self.ignored: Counter[str] = Counter()
        self._submitted: i64 = 0  # jobs so far, with those that were withdrawn
        self.releases: i64 = 0  # of jobs so far
        self._phases: i64 = 0
        self._in_line: tuple[JobEntry, ...] | None = ()  # the values of `waiting`; None: outdated
        for pool in pools:
            self.pool_entry(pool.pool_id, pool)

    def observe(self, observer: Observer, settle: Callable[[], None] | None = None) -> None:
        """Call the observer at each change. settle: updates its index, if that waits for a use."""
        self.observers = (*self.observers, observer)
        self.index_updates = (*self.index_updates, settle) if settle else self.index_updates

    def touched_phases(self, settle: Callable[[], None] | None = None) -> TouchedPhases:
        """Where each phase that changes is entered; cheaper than an observer. settle: as there."""
        touched = TouchedPhases()
        if self._touched is None:
            self._touched = touched
        else:
            self._more_touched = (*self._more_touched, touched)
        self.index_updates = (*self.index_updates, settle) if settle else self.index_updates
        return touched

    def observe_attempts(self, observer: AttemptObserver) -> None:
        """Call the observer at the start and end of every attempt; see also `AttemptIndex`."""
        self._watchers.add(observer)

    # --- writing: nodes and jobs --------------------------------------------------------------

    def pool_entry(self, pool_id: PoolId, pool: Pool | None = None) -> PoolEntry:
        """The entry of a pool, made if there is none. pool: as the workload declares it."""
        entry = self.pools.get(pool_id)
        if entry is None:
            declared = pool is not None
            entry = PoolEntry(pool or Pool(pool_id=pool_id), len(self.pools), is_declared=declared)
            self.pools[pool_id] = entry
        return entry

    def add_node(self, node: Node) -> NodeEntry:
        known = self.nodes.get(node.node_id)
        self.node_changes += 1
        index = known.index if known else len(self.nodes)
        entry = NodeEntry(node, index, self.units, self.open_nodes)
        self.nodes[node.node_id] = entry
        self.node_at[index : index + 1] = [entry]
        self.rack_of[node.node_id] = node.rack
        for kind in KINDS:
            self.slots[kind] += node.slots(kind)
        return entry

    def remove_node(self, entry: NodeEntry) -> None:
        self.node_changes += 1
        entry.is_up = False
        entry.enter_room()
        for kind in KINDS:
            self.slots[kind] -= entry.node.slots(kind)

    def add_job(self, job: Job, locations: Locations, *, alike: bool) -> JobEntry:
        entry = JobEntry(job, self._submitted, self.pool_entry(job.pool), alike=alike)
        self._submitted += 1
        first = self._phases
        phases = tuple(self._phase_entry(entry, one, first, locations) for one in job.phases)
        entry.set_phases(phases)
        self.jobs[entry.job_id] = entry
        return entry

    def _phase_entry(
        self, job: JobEntry, phase: Phase, first: i64, locations: Locations
    ) -> PhaseEntry:
        """The entry of a job's next phase. first: the number of its first one."""
        index = self._phases - first
        places = locations.get(index) if locations else None
        pending = (
            PendingTasks(phase.tasks)
            if places is None
            else LocatedTasks(phase.tasks, places, self.surroundings)
        )
        self._phases += 1
        return PhaseEntry(job, phase, index, pending, self.slowstart, first + index)

    def defer(self, entry: JobEntry) -> None:
        """Admission will be asked about the job again."""
        self.deferred[entry.job_id] = entry

    def admit(self, entry: JobEntry, containers: int = 0) -> None:
        """Admit the job. containers: reserved for it until it ends."""
        entry.move(_ADMITTED)
        entry.reason, entry.verdict = "", None
        self.deferred.pop(entry.job_id, None)
        if containers:
            entry.promised = containers
            self.promises[entry.job_id] = entry

    def await_release(self, entry: JobEntry) -> None:
        """The release policy decides when the admitted job goes to the cluster."""
        self.waiting[entry.job_id] = entry
        self._in_line = None

    def waiting_jobs(self) -> tuple[JobEntry, ...]:
        """The jobs that are admitted and not released, in the order of their admission."""
        if self._in_line is None:  # asked at every instant, and hardly ever has a job come or gone
            self._in_line = tuple(self.waiting.values())
        return self._in_line

    def spare_containers(self) -> int:
        """Free containers that are not promised to any job; below 0 if nodes were lost since."""
        owed = sum([max(0, job.held - job.running) for job in self.promises.values()])
        return self.slots[_CONTAINER] - self.machines.withheld - self.busy - owed

    def release(self, entry: JobEntry) -> None:
        """The job enters the queue of the cluster, behind all jobs released before."""
        entry.move(_RELEASED)
        if self.waiting:
            self._leave_waiting(entry)
        self.active.add(entry)
        entry.pool.jobs.add(entry)
        entry.released_at_s = self.now_s
        entry.release_seq = self.releases
        self.releases += 1
        self.distinct_jobs += not entry.alike
        for phase in entry.phases:
            phase.release_seq = entry.release_seq
            self.refresh(phase)

    def end_job(self, entry: JobEntry, was: JobInput) -> None:
        """The job has ended, with whatever outcome: none of its tasks starts any more."""
        entry.move(was)
        # A job is finished when its last task ended, not when a heartbeat reported it.
        is_done = was is _ALL_DONE and entry.phases
        entry.finished_at_s = entry.ended_at_s if is_done else self.now_s
        if entry.release_seq >= 0:
            self.distinct_jobs -= not entry.alike
            self.active.leave()
            entry.pool.jobs.leave()
        else:
            self.deferred.pop(entry.job_id, None)
            self._leave_waiting(entry)
        self.promises.pop(entry.job_id, None)
        if self.ended is not None:
            self.ended.append(entry)
        for phase in entry.phases:
            if phase.is_open and phase.done == phase.tasks and not phase.pending.is_placed:
                phase.is_open = False  # as `_drop_waiting`, without a task to drop
                self.notify(phase)
            elif phase.is_open or phase.pending.count:
                self._drop_waiting(phase)

    def _leave_waiting(self, entry: JobEntry) -> None:
        if self.waiting.pop(entry.job_id, None) is not None:
            self._in_line = None

    # --- writing: what may start ----------------------------------------------------------------

    def refresh(self, phase: PhaseEntry) -> None:
        """Update whether a phase may start; keep tallies and backlogs in step."""
        state = phase.job.state
        is_open = (state is _QUEUED or state is _RUNNING) and phase.left_before == 0
        if is_open == phase.is_open:
            return
        phase.is_open = is_open
        self.startable += phase.pending.count if is_open else -phase.pending.count
        self._enqueue(phase)
        self.notify(phase)

    def _enqueue(self, phase: PhaseEntry) -> None:
        """Put a phase into its backlogs, or mark that it left them."""
        should = phase.is_open and phase.pending.count > 0
        if should and not phase.is_queued:
            phase.is_queued = True
            self.backlogs[phase.kind].add(phase)
            phase.job.pool.enqueue(phase)
        elif phase.is_queued and not should:
            self._dequeue(phase)

    def _dequeue(self, phase: PhaseEntry) -> None:
        phase.is_queued = False
        self.backlogs[phase.kind].leave()
        phase.job.pool.dequeue(phase)

    def notify(self, phase: PhaseEntry) -> None:
        """The counts of a phase have changed, for all indexes."""
        touched = self._touched
        if touched is not None:
            touched.add(phase)
        if self._more_touched or self.observers:  # mostly there are none
            self._notify_others(phase)

    def _notify_others(self, phase: PhaseEntry) -> None:
        # Apart, because loops make a function that is always called a third slower.
        for another in self._more_touched:
            another.add(phase)
        for observer in self.observers:
            observer.touch(phase)

    def wait_again(self, phase: PhaseEntry, task: int, attempt: int) -> None:
        """A task waits to run once more. attempt: the number of its last one."""
        phase.repeating().retries[task] = max(attempt, phase.repeating().retries.get(task, 0))
        phase.pending.put_back(task)
        if phase.is_open:
            self.startable += 1
        self._enqueue(phase)

    def _drop_waiting(self, phase: PhaseEntry) -> None:
        if phase.is_open:
            self.startable -= phase.pending.count
        phase.pending.clear()
        phase.is_open = False
        self._enqueue(phase)
        self.notify(phase)

    # --- writing: attempts --------------------------------------------------------------------

    def start(self, attempt: Attempt) -> None:
        """An attempt begins. Its tasks and slots have been taken already."""
        phase = attempt.phase
        if not attempt.is_copy:
            self.startable -= attempt.tasks
            if not phase.pending.count:
                self._dequeue(phase)
        self.join(attempt)

    def join(self, attempt: Attempt) -> None:
        """An attempt runs from now on, whether its tasks waited or not."""
        phase, tasks = attempt.phase, attempt.tasks
        self.running.add(attempt)
        phase.running += tasks
        self.busy += tasks
        if phase.running == tasks and phase.job.state is not _RUNNING:  # its first ones
            phase.job.move(_TASK_STARTED)
            phase.job.started_at_s = self.now_s
        self.notify(phase)
        if self._watchers.are_there:
            self._watchers.began(attempt)

    def note_progress(self, attempts: list[Attempt]) -> None:
        """The progress of these attempts has been recorded."""
        self._watchers.progressed(attempts)

    def finish(self, attempt: Attempt, finished_at_s: float) -> None:
        """An attempt ended well; unless it is moot, its tasks are done."""
        # As the table says, mostly without a hash.
        attempt.state = _DONE if attempt.state is _LAUNCHED else _FINISHED[attempt.state]
        phase, tasks = attempt.phase, attempt.tasks
        if not attempt.is_moot:
            phase.done += tasks
        row = self._leave(attempt, finished_at_s)
        if attempt.is_moot:
            return
        if phase.needed_by:
            attempt.node.add_done(row)
            # Later phases can open only in the moment in which enough tasks are done.
            if phase.done - tasks < phase.enough <= phase.done:
                for later in phase.needed_by:
                    self.refresh(later)
        if finished_at_s > phase.ended_at_s:  # noqa: PLR1730  # max() takes longer
            phase.ended_at_s = finished_at_s
        if phase.done == phase.tasks:
            phase.job.phases_left -= 1

    def close(self, attempt: Attempt, was: AttemptInput, at_s: float, detail: str) -> None:
        """An attempt ended otherwise than well: its room is free, its tasks are not done."""
        attempt.state = ATTEMPT_TRANSITIONS[was][attempt.state]
        if detail:
            attempt.detail = detail
        self._leave(attempt, at_s)

    def _leave(self, attempt: Attempt, at_s: float) -> int:
        """The attempt no longer holds its slots; returns its row in the record."""
        phase, node = attempt.phase, attempt.node
        # Reports of start and end may disagree; no attempt has a negative length.
        attempt.finished_at_s = max(attempt.started_at_s, at_s)
        row = self.closed.add(attempt)
        self.running.remove(attempt)
        node.give_back(attempt.slot_kind, attempt.span)
        if attempt.reserved is not None:
            node.unreserve(attempt.reserved)
        phase.running -= attempt.tasks
        self.busy -= attempt.tasks
        self.notify(phase)
        if self._watchers.are_there:
            self._watchers.ended(attempt)
        return row

    def run_again(self, attempt: Attempt) -> None:
        """The tasks of an attempt that ended without success wait again, where they should."""
        if attempt.is_moot:
            return
        phase, first = attempt.phase, attempt.task
        copies = phase.repeating().copies
        twins = copies.get(first)
        if twins is not None:
            twins.remove(attempt)
            if len(twins) == 1:
                del copies[first]
            return
        for task in range(first, first + attempt.tasks):
            self.wait_again(phase, task, attempt.number)
        self.notify(phase)

    def reserve(self, attempt: Attempt, wanted: Resources) -> None:
        attempt.reserved = wanted
        attempt.node.reserve(wanted)
