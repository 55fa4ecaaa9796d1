"""The parts of the cluster state: jobs, phases, pools, nodes and attempts, as they are now.

* A `PhaseEntry` holds its waiting, running and done tasks. It is *startable* once enough of the
  phases before it are done, and is then in the `Backlog` of its kind while tasks wait.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from mypy_extensions import i64

from sluice.core.commands import Launch
from sluice.core.faults.repeats import Repeats
from sluice.core.indexes.backlog import Backlog, QueuedPhase
from sluice.core.indexes.free_slots import Interval, SlotSpan
from sluice.core.indexes.pending import PendingTasks
from sluice.core.indexes.released_jobs import QueuedJob, ReleasedJobs
from sluice.core.node_entry import WHOLE_SLOTS, NodeEntry, SlotUnits
from sluice.core.reasons import Reason
from sluice.core.record.rare_facts import RareFacts
from sluice.core.transitions import AttemptState
from sluice.model.attempts import AttemptKey
from sluice.model.cluster import Locality
from sluice.model.ids import JobId, PoolId
from sluice.model.job import Job, Phase
from sluice.model.queues import Pool
from sluice.model.slot_kind import SlotKind

__all__ = [
    "WHOLE_SLOTS", "Attempt", "Backlog", "JobEntry", "NodeEntry", "PhaseEntry", "PoolEntry",
    "SlotUnits",
]  # fmt: skip

_NEVER: Final = math.nan
# A look-up on the Enum itself takes 0.1 us.
_LAUNCHED: Final = AttemptState.LAUNCHED
_RUNNING: Final = AttemptState.RUNNING
_KILLING: Final = AttemptState.KILLING


class Attempt(RareFacts):
    """One try of one task (or of `tasks` alike ones), from launch to end.

    span: the slots that it holds of its node, in units where slots are divided; `slots`: the same
    as intervals; `launch_slots`: the slots that its launch names. work: for the simulator, which
    keeps there what it knows ahead; None in a live run.
    """

    # Plain attributes with defaults on the class: most attempts never set the rare ones. Those that
    # every end reads come first, and flags together, so that fewer cache lines are touched.
    state: AttemptState = _LAUNCHED  # a name on a class would be looked up for each attempt
    is_moot: bool = False  # its task is done, or its job has ended: the outcome counts no more
    is_copy: bool
    phase: PhaseEntry
    node: NodeEntry
    work: object = None
    finished_at_s: float = _NEVER
    shuffled_at_s: float = _NEVER
    width: float = 1.0  # slots that each of its tasks holds; other than 1 only in borrowed ones
    lent_slot: i64 = -1  # where slots are divided: the one in which its units begin
    progress: float = 0.0
    progress_at_s: float = _NEVER  # when that was reported
    scored: float = 0.0  # the progress that the score of its node includes; see `progress_rate`
    # Its neighbours among the running attempts, for `RunningAttempts`; among those of its phase,
    # for the progress rates of the phase.
    before: Attempt | None = None
    after: Attempt | None = None
    before_in_phase: Attempt | None = None
    after_in_phase: Attempt | None = None
    # Named tuples, made when they are asked for: in most simulations they never are.
    _key: AttemptKey | None = None
    _launch: Launch | None = None

    # By position: this is called once for each attempt, and names take time.
    def __init__(  # noqa: PLR0913, PLR0917  # the fields of a launch
        self,
        phase: PhaseEntry,
        node: NodeEntry,
        started_at_s: float,
        task: i64,
        number: int,
        tasks: int,
        slot_kind: SlotKind,
        span: SlotSpan,
        locality: Locality | None,
        is_copy: bool,  # noqa: FBT001  # as above
        reason: Reason,
    ) -> None:
        self.phase = phase
        self.node = node
        self.started_at_s = started_at_s
        self.task: i64 = task
        self.number = number
        self.tasks = tasks
        self.slot_kind = slot_kind
        self.span = span
        self.locality = locality
        self.is_copy = is_copy
        self.reason = reason

    @property
    def has_ended(self) -> bool:
        """Whether it runs no more, with whatever outcome."""
        state = self.state
        return state is not _LAUNCHED and state is not _RUNNING and state is not _KILLING

    @property
    def slots(self) -> tuple[Interval, ...]:
        """The slots or units that it holds, as intervals."""
        return self.span.intervals()

    @property
    def launch_slots(self) -> tuple[Interval, ...]:
        """The slots that its launch names."""
        return self.slots if self.lent_slot < 0 else ((self.lent_slot, 1),)

    @property
    def first_slot(self) -> int:
        """The first slot that its launch names."""
        return self.span.first if self.lent_slot < 0 else self.lent_slot

    @property
    def key(self) -> AttemptKey:
        """Its name in events and commands."""
        if self._key is None:
            phase = self.phase
            self._key = AttemptKey(phase.job_id, phase.index, self.task, self.number)
        return self._key

    @property
    def launch(self) -> Launch:
        """The command that starts it."""
        if self._launch is None:
            self._launch = Launch(
                self.key, self.tasks, self.node.node_id, self.slot_kind, self.launch_slots,
                self.locality, self.is_copy, self.reason,
            )  # fmt: skip
        return self._launch


class PhaseEntry(QueuedPhase):
    """One phase of one job, as it is now.

    effort: for the simulator, which keeps there how long the tasks take.
    """

    # What each start and end reads comes first: together it takes up two or three cache lines.
    __slots__ = (
        "_siblings", "_task_s", "after", "alike", "done", "effort", "ended_at_s", "enough",
        "is_alone", "is_open", "job", "kind", "log_number", "needed_by", "number", "pending",
        "phase", "repeats", "running", "tasks",
    )  # fmt: skip

    def __init__(
        self,
        job: JobEntry,
        phase: Phase,
        index: int,
        pending: PendingTasks,
        slowstart: float,
        number: int,
    ) -> None:
        super().__init__(index)
        self.is_open = False  # its tasks may start
        self.alike = job.alike
        self.is_alone = True  # no other phase of its job is of its kind
        self.job = job
        self.pending = pending
        self.tasks = pending.tasks
        self.running = 0
        self.done = 0
        # Done tasks after which later phases may start.
        self.enough = _rounded_up(slowstart * self.tasks)
        self.ended_at_s = 0.0  # the last end of a task so far; it may be reported later
        self.kind: SlotKind = phase.kind
        self.needed_by: tuple[PhaseEntry, ...] = ()
        self.repeats: Repeats[Attempt] | None = None  # few phases ever have any
        self.effort: object = None
        self.log_number: i64 = -1  # in the record of attempts, once one has ended
        self.number: i64 = number  # among all phases of all jobs, in the order of submission
        self.after = phase.after  # the phases that it reads from, by index
        self.phase = phase
        self._siblings: tuple[PhaseEntry, ...] | None = None  # since they were asked for
        self._task_s = -1.0  # as above

    @property
    def job_id(self) -> JobId:
        return self.job.job_id

    @property
    def siblings(self) -> tuple[PhaseEntry, ...]:
        """The phases of its job of its kind, itself too; few phases have others: see `is_alone`."""
        found = self._siblings
        if found is None:
            found = tuple([one for one in self.job.phases if one.kind is self.kind])
            for one in found:
                one._siblings = found  # noqa: SLF001  # a job may have ten thousand of them
        return found

    def repeating(self) -> Repeats[Attempt]:
        """Its `repeats`, made if there are none yet."""
        if self.repeats is None:
            self.repeats = Repeats()
        return self.repeats

    @property
    def copies(self) -> Mapping[int, list[Attempt]]:
        """Tasks with more than one running attempt, and these attempts."""
        return {} if self.repeats is None else self.repeats.copies

    @property
    def name(self) -> str:
        return self.phase.name

    @property
    def is_done(self) -> bool:
        return self.done == self.tasks

    @property
    def has_inputs(self) -> bool:
        """All phases before it are done, so that what its tasks read is there."""
        phases = self.job.phases
        for index in self.after:  # noqa: SIM110  # a generator takes longer
            if phases[index].done < phases[index].tasks:
                return False
        return True

    @property
    def line_key(self) -> tuple[int, int]:
        """Place in the queue of released work: by release, then by phase. For outside policies."""
        return (self.job.release_seq, self.index)

    @property
    def task_s(self) -> float:
        """Mean length of its tasks by the profile of the job, without fetching; 0 without one."""
        if self._task_s < 0:  # policies ask for it at each decision
            lengths = self.phase.lengths
            self._task_s = 0.0 if lengths is None else lengths.avg_s(self.tasks)
        return self._task_s

    @property
    def left_before(self) -> int:
        """Tasks of earlier phases that must still end before this one may start."""
        left, phases = 0, self.job.phases
        for index in self.after:
            earlier = phases[index]
            if earlier.done < earlier.enough:
                left += earlier.enough - earlier.done
        return left


def _rounded_up(number: float) -> int:
    """The least whole number that is not below; 1e-9 keeps 0.07 * 100 from asking for 8."""
    wanted = number - 1e-9
    whole = int(wanted)
    return whole if whole >= wanted else whole + 1  # math.ceil is a call, for each phase


class JobEntry(QueuedJob):
    """One job, as it is now."""

    __slots__ = (
        "alike", "finished_at_s", "job", "phases", "phases_left", "pool", "reason",
        "decisions", "promised", "release_seq", "released_at_s", "seniority", "seq",
        "started_at_s", "submitted_at_s", "verdict", "weight",
    )  # fmt: skip

    def __init__(self, job: Job, seq: int, pool: PoolEntry, *, alike: bool) -> None:
        # Each look at an attribute of what is not compiled takes as long as twenty at one here.
        job_id: JobId = job.job_id
        super().__init__(job_id)
        self.job = job
        self.weight: float = job.weight
        self.seq = seq  # order of submission
        # Of a job that runs after others: when they were done. Then it is later than the job says.
        self.submitted_at_s: float = job.submitted_at_s
        self.seniority = (self.submitted_at_s, str(job_id))  # ties are broken by it
        self.pool = pool
        self.alike = alike
        self.phases: tuple[PhaseEntry, ...] = ()  # see `set_phases`
        self.phases_left = 0
        self.release_seq = -1
        self.released_at_s = _NEVER
        self.started_at_s = _NEVER
        self.finished_at_s = _NEVER
        self.reason = ""
        self.promised = 0  # containers reserved for it until it ends
        self.verdict: Reason | None = None  # why it was deferred or refused
        self.decisions: tuple[tuple[float, str, Reason], ...] = ()  # of admission; see `decided`

    def submit_after(self, at_s: float) -> None:
        """The job could not be submitted before this instant. Called before it counts anywhere."""
        if at_s > self.submitted_at_s:
            self.submitted_at_s = at_s
            self.seniority = (at_s, str(self.job_id))

    def set_phases(self, phases: tuple[PhaseEntry, ...]) -> None:
        """Called once. Its phases get to know who is of the same kind, and who reads from whom."""
        self.phases = phases
        self.phases_left = len(phases)
        for phase in phases:
            if phase.is_alone:  # so far; each kind is searched for once
                for other in phases:
                    if other.kind is phase.kind and other is not phase:
                        other.is_alone = phase.is_alone = False
            for index in phase.after:
                earlier = phases[index]
                earlier.needed_by = (*earlier.needed_by, phase) if earlier.needed_by else (phase,)

    @property
    def ended_at_s(self) -> float:
        """The last end of a task so far; it may be reported later."""
        return max([phase.ended_at_s for phase in self.phases])

    @property
    def running(self) -> int:
        """Tasks of all its phases that run."""
        running = 0
        for phase in self.phases:
            running += phase.running
        return running

    @property
    def left(self) -> int:
        """Tasks of all its phases that are not done."""
        return sum([phase.tasks - phase.done for phase in self.phases])

    @property
    def held(self) -> int:
        """Containers kept for it: those it was promised, as far as it has tasks for them."""
        return min(self.promised, max([phase.tasks - phase.done for phase in self.phases]))

    @property
    def is_owed(self) -> bool:
        """Whether it runs fewer tasks than the containers that it was promised."""
        return self.promised > 0 and self.running < self.promised

    def decided(self, at_s: float, what: str, reason: Reason | None) -> None:
        """Note an answer of admission, unless it only repeats the last one."""
        if reason is None:
            return
        last = self.decisions[-1] if self.decisions else None
        if last is None or last[1] != what or last[2].code is not reason.code:
            self.decisions = (*self.decisions, (at_s, what, reason))


class PoolEntry:
    """One pool, as it is now."""

    __slots__ = ("_backlogs", "is_declared", "jobs", "pool", "seq")

    def __init__(self, pool: Pool, seq: int, *, is_declared: bool = False) -> None:
        self.is_declared = is_declared  # by the workload; else a job named it, or has its own
        self.pool = pool
        self.seq = seq
        self.jobs: ReleasedJobs[JobEntry] = ReleasedJobs()
        # Since they were asked for.
        self._backlogs: dict[SlotKind, Backlog[PhaseEntry]] | None = None

    @property
    def backlogs(self) -> dict[SlotKind, Backlog[PhaseEntry]]:
        """The released work of the pool by kind, each in its order."""
        backlogs = self._backlogs
        if backlogs is None:
            backlogs = self._backlogs = {kind: Backlog() for kind in SlotKind}
            for job in self.jobs.values():
                for phase in job.phases:
                    if phase.is_queued:
                        backlogs[phase.kind].add(phase)
        return backlogs

    def compact(self) -> None:
        """Let go of the jobs that have ended, and of their phases."""
        self.jobs.compact()
        if self._backlogs is not None:
            for backlog in self._backlogs.values():
                backlog.compact()

    def enqueue(self, phase: PhaseEntry) -> None:
        """A phase of the pool has tasks to start again."""
        if self._backlogs is not None:
            self._backlogs[phase.kind].add(phase)

    def dequeue(self, phase: PhaseEntry) -> None:
        """A phase of the pool has no task to start."""
        if self._backlogs is not None:
            self._backlogs[phase.kind].leave()

    @property
    def oldest(self) -> JobEntry | None:
        """The job that was released first among those that have not ended."""
        return self.jobs.first()

    @property
    def pool_id(self) -> PoolId:
        return self.pool.pool_id
