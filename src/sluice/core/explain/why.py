"""Why a job waits, read from the state.

The causes are checked from the outside in: admission, release, earlier phases, nodes, and last
the task policy, which alone knows the order of the jobs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from sluice.core.entries import Attempt, JobEntry, PhaseEntry
from sluice.core.explain.coming import came_after, driver_s, not_come_reason
from sluice.core.explain.names import nearest_of
from sluice.core.protocols import TaskPolicy
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.core.transitions import JOB_ENDS, AttemptState, JobState
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId, NodeId
from sluice.model.slot_kind import SlotKind

SLOWEST_MAX = 3  # running attempts that are shown for a phase
NOT_SUBMITTED = "not submitted"
_BUSY = (ReasonCode.SLOTS_BUSY, ReasonCode.LOANS_BUSY, ReasonCode.LOANS_DO_NOT_FIT)
_TO_REPORT = {
    ReasonCode.SLOTS_BUSY: ReasonCode.TO_REPORT,
    ReasonCode.LOANS_BUSY: ReasonCode.LOANS_TO_REPORT,
}
TIMES_MEAN = 2.0  # while tasks of a phase wait, only attempts over twice its mean are shown


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningAttempt:
    """A running attempt.

    attempt: "job/phase/task/attempt".  reported_s: seconds since its last progress report; None
    if there was none.  progress: by that report, 0 to 1.  no_copy: why no second copy starts now.
    """

    attempt: str
    node: NodeId
    age_s: float
    progress: float
    reported_s: float | None
    no_copy: Reason

    def document(self) -> dict[str, object]:
        """The fields as plain JSON values."""
        return {
            "attempt": self.attempt,
            "node": self.node,
            "age_s": self.age_s,
            "progress": self.progress,
            "reported_s": self.reported_s,
            **_reason_document(self.no_copy),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseWait:
    """The progress of one phase.

    reason: why its tasks wait; None once all are done.  slowest: the running attempts with the
    least progress per second.
    """

    phase: str
    tasks: int
    waiting: int
    running: int
    done: int
    reason: Reason | None
    slowest: tuple[RunningAttempt, ...] = ()

    @property
    def is_blocked(self) -> bool:
        """Whether it waits for phases before it."""
        return self.reason is not None and self.reason.code is ReasonCode.BARRIER

    def document(self) -> dict[str, object]:
        """The fields as plain JSON values."""
        return {
            "phase": self.phase,
            "tasks": self.tasks,
            "waiting": self.waiting,
            "running": self.running,
            "done": self.done,
            **_reason_document(self.reason),
            "slowest": [attempt.document() for attempt in self.slowest],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """The state of a job at `at_s`, None before it is submitted, and the reason.

    reason: why the job waits, or else why its first unfinished phase waits.
    detail: the policy's text when it deferred or refused the job, or why the job failed.
    submitted_at_s, started_at_s, finished_at_s, deadline_at_s: of the job; None while unknown. The
    deadline is its own.
    came_after: the job whose end let it come.  driver_s: its driver's work before its first task.
    """

    job_id: JobId
    at_s: float
    state: JobState | None
    reason: Reason
    detail: str
    phases: tuple[PhaseWait, ...]
    submitted_at_s: float | None = None
    started_at_s: float | None = None
    finished_at_s: float | None = None
    deadline_at_s: float | None = None
    came_after: JobId | None = None
    driver_s: float = 0.0

    @property
    def waited_s(self) -> float:
        """Until its first task, from when it could start; 0 if one of them is unknown."""
        if self.submitted_at_s is None or self.started_at_s is None:
            return 0.0
        return max(0.0, self.started_at_s - self.submitted_at_s - self.driver_s)

    @property
    def is_waiting(self) -> bool:
        """Whether the job waits, or some of its tasks; not before a real run has learnt of it."""
        if self.state is None or self.state in JOB_ENDS:
            return False
        return self.started_at_s is None or self.held_back is not None

    @property
    def held_back(self) -> PhaseWait | None:
        """The first phase that could start more tasks, were it not held back; None for none."""
        return next((one for one in self.phases if one.waiting and not one.is_blocked), None)

    def document(self) -> dict[str, object]:
        """The fields as plain JSON values."""
        return {
            "job": self.job_id,
            "at_s": self.at_s,
            "state": NOT_SUBMITTED if self.state is None else self.state.value,
            **_reason_document(self.reason),
            "detail": self.detail,
            "submitted_at_s": self.submitted_at_s,
            "started_at_s": self.started_at_s,
            "finished_at_s": self.finished_at_s,
            "deadline_at_s": self.deadline_at_s,
            "came_after": self.came_after,
            "phases": [phase.document() for phase in self.phases],
        }


def _reason_document(reason: Reason | None) -> dict[str, object]:
    if reason is None:
        return {"reason": None, "text": None, "numbers": {}}
    return {
        "reason": reason.code.name.lower(),
        "text": reason.text(),
        "numbers": dict(reason.numbers),
    }


def why(job_id: str, state: ClusterState, policy: TaskPolicy, *, by_heartbeat: bool = False) -> Why:
    """Why the job waits, or that it runs or has ended.

    policy: the task policy; it explains phases that could start.
    by_heartbeat: whether a slot that a task has left is filled at its node's next heartbeat.
    Raises InvalidInput if there is no such job.
    """
    job = state.jobs.get(JobId(job_id))
    if job is None and job_id in state.to_come:
        return _why_not_submitted(JobId(job_id), state)
    if job is None:
        raise InvalidInput(
            f"there is no job {job_id!r} at {state.now_s:g} s",
            where="why",
            hint=nearest_of(job_id, state.to_come or state.jobs),
        )
    phases = tuple(_phase_wait(phase, state, policy) for phase in job.phases)
    if by_heartbeat:
        phases = tuple(map(partial(_with_heartbeat, state), phases, job.phases))
    reason = _job_reason(job) or next(
        (phase.reason for phase in phases if phase.reason is not None), Reason(ReasonCode.ENDED)
    )
    return Why(
        job_id=job.job_id,
        at_s=state.now_s,
        state=job.state,
        reason=reason,
        detail=job.reason,
        phases=phases,
        submitted_at_s=job.submitted_at_s,
        started_at_s=_known(job.started_at_s),
        finished_at_s=_known(job.finished_at_s),
        deadline_at_s=job.job.own_deadline_at_s,
        came_after=came_after(job, state),
        driver_s=driver_s(job, state),
    )


def _known(at_s: float) -> float | None:
    return None if math.isnan(at_s) else at_s


def _why_not_submitted(job_id: JobId, state: ClusterState) -> Why:
    reason = not_come_reason(job_id, state)
    return Why(job_id=job_id, at_s=state.now_s, state=None, reason=reason, detail="", phases=())


def _job_reason(job: JobEntry) -> Reason | None:
    """Why the whole job waits; None if it is released and has not ended."""
    if job.state is JobState.REFUSED:
        return Reason(ReasonCode.REFUSED, _numbers(job))
    if job.has_ended:
        return Reason(ReasonCode.ENDED)
    if job.state is JobState.DEFERRED:
        return Reason(ReasonCode.DEFERRED, _numbers(job))
    if job.state is JobState.WAITING:
        return Reason(ReasonCode.NOT_RELEASED)
    return None


def _numbers(job: JobEntry) -> tuple[tuple[str, float | str], ...]:
    """The numbers of the admission decision."""
    return () if job.verdict is None else tuple(job.verdict.numbers)


def _phase_wait(phase: PhaseEntry, state: ClusterState, policy: TaskPolicy) -> PhaseWait:
    return PhaseWait(
        phase=phase.name,
        tasks=phase.tasks,
        waiting=phase.pending.count,
        running=phase.running,
        done=phase.done,
        reason=_phase_reason(phase, state, policy),
        slowest=tuple(_slowest(phase, state, policy)),
    )


def _slowest(
    phase: PhaseEntry, state: ClusterState, policy: TaskPolicy
) -> Iterator[RunningAttempt]:
    """The slowest running attempts; while tasks wait, only those that are far behind."""
    now_s = state.now_s
    running = [attempt for attempt in state.running.values() if attempt.phase is phase]
    if running and phase.pending.count:
        limit_s = TIMES_MEAN * _mean_s(phase, state)
        running = [attempt for attempt in running if now_s - attempt.started_at_s > limit_s]
    running.sort(key=lambda attempt: (_rate(attempt, now_s), attempt.started_at_s, attempt.key))
    for attempt in running[:SLOWEST_MAX]:
        job_id, _, task, number = attempt.key
        reported_s = now_s - attempt.progress_at_s
        yield RunningAttempt(
            attempt=f"{job_id}/{phase.name}/{task}/{number}",
            node=attempt.node.node_id,
            age_s=now_s - attempt.started_at_s,
            progress=attempt.progress,
            reported_s=None if math.isnan(reported_s) else reported_s,
            no_copy=policy.explain_copy(attempt, state, now_s),
        )


def _rate(attempt: Attempt, now_s: float) -> float:
    """Progress per second since the start."""
    age_s = now_s - attempt.started_at_s
    return attempt.progress / age_s if age_s > 0 else math.inf


def _mean_s(phase: PhaseEntry, state: ClusterState) -> float:
    """Mean length of the phase's finished attempts; infinite if there are none."""
    # Not by going through all attempts: a service has a million, and lists many jobs that wait.
    ended = map(state.closed.attempt, state.closed.rows_of(phase))
    lengths_s = [
        attempt.finished_at_s - attempt.started_at_s
        for attempt in ended
        if attempt.state is AttemptState.DONE
    ]
    return math.fsum(lengths_s) / len(lengths_s) if lengths_s else math.inf


def _phase_reason(phase: PhaseEntry, state: ClusterState, policy: TaskPolicy) -> Reason | None:
    of_job = _job_reason(phase.job)
    if phase.is_done or of_job is not None:
        return None if phase.is_done else of_job
    if not phase.pending.count:
        left = _left_of_input(phase)
        if left:
            numbers = (("running", phase.running), ("left", left))
            return Reason(ReasonCode.FETCHES_EARLY, numbers)
        return Reason(ReasonCode.ALL_RUNNING, (("running", phase.running),))
    if phase.left_before:
        return Reason(ReasonCode.BARRIER, (("left", phase.left_before),))
    found = _cluster_reason(phase.kind, state) or policy.explain(phase, state, state.now_s)
    return _held_early(found, state) if found.code in _BUSY else found


def _held_early(busy: Reason, state: ClusterState) -> Reason:
    """Name the tasks that hold most of the busy slots although their input is not there yet.

    The cause of the wait is then `slowstart`, and not the number of slots.
    """
    numbers = dict(busy.numbers)
    held: Counter[PhaseEntry] = Counter()
    for attempt in state.running.values():
        if attempt.slot_kind.value == numbers["kind"] and not attempt.phase.has_inputs:
            held[attempt.phase] += attempt.tasks
    if 2 * held.total() < float(numbers["slots"]):
        return busy
    phase, _ = held.most_common(1)[0]
    return Reason(
        ReasonCode.HELD_EARLY,
        (
            *numbers.items(), ("held", held.total()),
            ("next", phase.job_id), ("left", _left_of_input(phase)),
        ),
    )  # fmt: skip


def _with_heartbeat(state: ClusterState, wait: PhaseWait, phase: PhaseEntry) -> PhaseWait:
    """Say which nodes with room have not reported yet, and that busy slots may be empty.

    The latter once the phase shows how long its tasks take.
    """
    busy = wait.reason
    if busy is None or busy.code not in (*_BUSY, ReasonCode.HELD_EARLY):
        return wait
    numbers = dict(busy.numbers)
    reported = _TO_REPORT.get(busy.code) if phase.done else None
    if reported is not ReasonCode.TO_REPORT:  # it covers free slots, too
        later = _room_at_heartbeat(busy.code, numbers, state)
        if later is not None:
            return replace(wait, reason=later)
    if reported is None:
        return wait
    more = (("mean_s", _mean_s(phase, state)),)
    return replace(wait, reason=Reason(reported, (*numbers.items(), *more)))


def _room_at_heartbeat(
    busy: ReasonCode, numbers: dict[str, float | str], state: ClusterState
) -> Reason | None:
    """Name the slots that the next heartbeats of their nodes fill; None if none is free.

    numbers: of the reason why all slots are said to be busy.
    """
    up = [node for node in state.nodes.values() if node.is_up]
    kind = SlotKind(numbers["kind"])
    free = sum(1 for node in up if node.free[kind] >= node.units[kind])
    counts = (("nodes", free), ("up", len(up)))
    if free:
        return Reason(ReasonCode.AWAITS_HEARTBEAT, (("kind", kind.value), *counts))
    if busy is not ReasonCode.LOANS_BUSY or float(numbers["lent"]) >= float(numbers["lendable"]):
        return None
    needed, other = state.units[kind], SlotKind(numbers["other"])
    free = sum(1 for node in up if node.free[other] >= needed)
    counts = (("nodes", free), ("up", len(up)))
    return Reason(ReasonCode.LOANS_AT_HEARTBEAT, (*numbers.items(), *counts)) if free else None


def _left_of_input(phase: PhaseEntry) -> int:
    """Tasks that are not done of the phases that it reads."""
    return sum(phase.job.phases[one].tasks - phase.job.phases[one].done for one in phase.after)


def _cluster_reason(kind: SlotKind, state: ClusterState) -> Reason | None:
    """Why no task of this kind can start, whatever the policy; None if one could."""
    up = [node for node in state.nodes.values() if node.is_up]
    if not up:
        return Reason(ReasonCode.NO_NODE)
    if all(node.rests_until_s > state.now_s for node in up):
        faulty = [node for node in up if not node.cordon]
        if not faulty:
            return Reason(
                ReasonCode.NODES_CORDONED, (("node", up[-1].node_id), ("why", up[-1].cordon))
            )
        last = max(faulty, key=lambda node: (node.fault_at_s, node.node_id))
        return Reason(ReasonCode.NODES_REST, (("node", last.node_id), ("fault", last.fault)))
    if _lacks_slots(kind, state):
        return Reason(ReasonCode.NO_SLOT_KIND, (("kind", kind.value),))
    return None


def _lacks_slots(kind: SlotKind, state: ClusterState) -> bool:
    """Whether no task of this kind can ever start: all slots are of other kinds.

    A policy may run such tasks in slots of another kind; then it has already done so.
    """
    if state.slots[kind] or not state.slots[SlotKind.CONTAINER] or state.has_any_slot:
        return False
    attempts = (*state.running.values(), *state.closed)
    return not any(attempt.phase.kind is kind for attempt in attempts)
