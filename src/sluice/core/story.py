"""Why a job waits, and what happened to it: read off the state, guessed nowhere.

`why` asks, from the outside in, what keeps a job from running: its admission, its release, the
phases before, the nodes, and last the task policy, which alone knows whose turn it is. `story`
tells what happened to a job, a task or a node, in order of time; it is made of the attempts that
the state keeps, so it needs no log of its own. What left no trace in an attempt (a node that was
lost while idle) is not told.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from sluice.core.entries import Attempt, JobEntry, NodeEntry, PhaseEntry
from sluice.core.protocols import TaskPolicy
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.core.transitions import AttemptState, JobState
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId, NodeId
from sluice.model.job import SlotKind

_SUGGESTED_OUT_OF_MAX = 20_000  # a search for the nearest of more names takes too long
_OUTCOMES = {
    AttemptState.DONE: "done",
    AttemptState.FAILED: "failed",
    AttemptState.KILLED: "killed",
    AttemptState.LOST: "lost",
}


# --- why ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseWait:
    """Where one phase stands. reason: why its tasks wait; None once all are done."""

    phase: str
    tasks: int
    waiting: int
    running: int
    done: int
    reason: Reason | None

    def document(self) -> dict[str, object]:
        """As plain JSON values."""
        return {
            "phase": self.phase,
            "tasks": self.tasks,
            "waiting": self.waiting,
            "running": self.running,
            "done": self.done,
            **_reason_document(self.reason),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """Why a job is where it is, at `at_s`.

    reason: what holds back the job, or else its first phase that is not done.
    detail: what the policy said when it put the job off or refused it, or why the job failed.
    """

    job_id: JobId
    at_s: float
    state: JobState
    reason: Reason
    detail: str
    phases: tuple[PhaseWait, ...]

    def document(self) -> dict[str, object]:
        """As plain JSON values."""
        return {
            "job": self.job_id,
            "at_s": self.at_s,
            "state": self.state.value,
            **_reason_document(self.reason),
            "detail": self.detail,
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


def why(job_id: str, state: ClusterState, policy: TaskPolicy) -> Why:
    """Why the job waits, or that it runs or has ended.

    policy: the task policy at work, which is asked about phases that could start.
    Raises InvalidInput where there is no such job.
    """
    job = state.jobs.get(JobId(job_id))
    if job is None:
        raise InvalidInput(
            f"there is no job {job_id!r}", where="why", mend=_suggestion(job_id, state.jobs)
        )
    phases = tuple(_phase_wait(phase, state, policy) for phase in job.phases)
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
    )


def _job_reason(job: JobEntry) -> Reason | None:
    """What holds back the whole job; None where it has been released and has not ended."""
    if job.state is JobState.REFUSED:
        return Reason(ReasonCode.REFUSED)
    if job.has_ended:
        return Reason(ReasonCode.ENDED)
    if job.state is JobState.DEFERRED:
        return Reason(ReasonCode.DEFERRED)
    if job.state is JobState.WAITING:
        return Reason(ReasonCode.NOT_RELEASED)
    return None


def _phase_wait(phase: PhaseEntry, state: ClusterState, policy: TaskPolicy) -> PhaseWait:
    return PhaseWait(
        phase=phase.name,
        tasks=phase.tasks,
        waiting=phase.pending.count,
        running=phase.running,
        done=phase.done,
        reason=_phase_reason(phase, state, policy),
    )


def _phase_reason(phase: PhaseEntry, state: ClusterState, policy: TaskPolicy) -> Reason | None:
    of_job = _job_reason(phase.job)
    if phase.is_done or of_job is not None:
        return None if phase.is_done else of_job
    if not phase.pending.count:
        return Reason(ReasonCode.ALL_RUNNING, (("running", phase.running),))
    if phase.left_before:
        return Reason(ReasonCode.BARRIER, (("left", phase.left_before),))
    if not any(node.is_up for node in state.nodes.values()):
        return Reason(ReasonCode.NO_NODE)
    if _lacks_slots(phase.kind, state):
        return Reason(ReasonCode.NO_SLOT_KIND, (("kind", phase.kind.value),))
    return policy.explain(phase, state, state.now_s)


def _lacks_slots(kind: SlotKind, state: ClusterState) -> bool:
    """Whether nothing of this kind can ever start: the slots are all of other kinds.

    A policy may run such tasks in slots of another kind; it then has done so already.
    """
    if state.slots[kind] or not state.slots[SlotKind.CONTAINER]:
        return False
    attempts = (*state.running.values(), *state.closed)
    return not any(attempt.phase.kind is kind for attempt in attempts)


# --- story --------------------------------------------------------------------------------------


class StoryLine(NamedTuple):
    """One thing that happened. why: the reason or the detail, "" where there is nothing to add."""

    at_s: float
    what: str
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What happened to a job, a task or a node, in order of time."""

    subject: str
    kind: str
    lines: tuple[StoryLine, ...]

    def document(self) -> dict[str, object]:
        """As plain JSON values."""
        return {
            "id": self.subject,
            "kind": self.kind,
            "lines": [line._asdict() for line in self.lines],
        }


def story(subject: str, state: ClusterState) -> Story:
    """The story of a job, of a task ("job/phase/task") or of a node, whichever bears the id.

    Raises InvalidInput where none does.
    """
    job = state.jobs.get(JobId(subject))
    if job is not None:
        return _told(subject, "job", _job_lines(job, state))
    node = state.nodes.get(NodeId(subject))
    if node is not None:
        return _told(subject, "node", _node_lines(node, state))
    found = _task_named(subject, state)
    if found is not None:
        return _told(subject, "task", _task_lines(*found, state))
    raise InvalidInput(
        f"there is no job, node or task {subject!r}",
        where="story",
        mend=_suggestion(subject, (*state.jobs, *state.nodes)),
    )


def _told(subject: str, kind: str, lines: Iterable[StoryLine]) -> Story:
    """Sorting keeps lines of one instant in the order in which they were told."""
    ordered = sorted(
        (line for line in lines if not math.isnan(line.at_s)), key=lambda line: line.at_s
    )
    return Story(subject=subject, kind=kind, lines=tuple(ordered))


def _suggestion(wanted: str, names: Iterable[str]) -> str:
    known = list(names)
    if len(known) <= _SUGGESTED_OUT_OF_MAX:
        near = difflib.get_close_matches(wanted, known, n=1)
        if near:
            return f"did you mean {near[0]!r}?".removesuffix("?")
    shown = ", ".join(known[:5]) or "none yet"
    return f"known are {shown}{', ...' if len(known) > len(known[:5]) else ''}"


def _task_named(subject: str, state: ClusterState) -> tuple[PhaseEntry, int] | None:
    """Read "job/phase/task"; a job's id may itself hold slashes, a phase may be given by place."""
    parts = subject.rsplit("/", 2)
    if len(parts) != len(("job", "phase", "task")) or not parts[2].isdecimal():
        return None
    job = state.jobs.get(JobId(parts[0]))
    for phase in job.phases if job else ():
        if parts[1] in {phase.name, str(phase.index)} and int(parts[2]) < phase.tasks:
            return phase, int(parts[2])
    return None


def _attempts(state: ClusterState) -> Iterator[Attempt]:
    yield from state.closed
    yield from state.running.values()


# --- story of a job -----------------------------------------------------------------------------


def _job_lines(job: JobEntry, state: ClusterState) -> Iterator[StoryLine]:
    attempts = [attempt for attempt in _attempts(state) if attempt.phase.job is job]
    yield StoryLine(job.job.submitted_at_s, "submitted", f"to pool {job.pool.pool_id}")
    yield StoryLine(job.released_at_s, "released to the cluster")
    for phase in job.phases:
        yield from _phase_lines(phase, [a for a in attempts if a.phase is phase])
    for attempt in attempts:
        yield from _mishap_lines(attempt)
    deadline_at_s = job.job.deadline_at_s
    ends_at_s = job.finished_at_s if job.has_ended else state.now_s
    if deadline_at_s is not None and ends_at_s > deadline_at_s:
        yield StoryLine(deadline_at_s, "deadline missed")
    if job.has_ended:
        yield StoryLine(job.finished_at_s, f"job {job.state.value}", job.reason)
    elif job.reason:
        yield StoryLine(state.now_s, f"still {job.state.value}", job.reason)


def _phase_lines(phase: PhaseEntry, attempts: list[Attempt]) -> Iterator[StoryLine]:
    if not attempts:
        return
    first = min(attempts, key=lambda attempt: attempt.started_at_s)
    place = f"on {first.node.node_id}, because {first.launch.reason.text()}"
    yield StoryLine(first.started_at_s, f"{phase.name}: first of {phase.tasks} tasks starts", place)
    if phase.is_done:
        ends = [a.finished_at_s for a in attempts if a.state is AttemptState.DONE]
        yield StoryLine(max(ends), f"{phase.name}: all {phase.tasks} tasks done")


def _mishap_lines(attempt: Attempt) -> Iterator[StoryLine]:
    """An attempt that did not end well, or whose output was lost afterwards."""
    if attempt.is_undone:
        lost = f"its output was lost later, with node {attempt.node.node_id}"
        yield StoryLine(attempt.finished_at_s, f"{tasks_text(attempt)} done", lost)
    elif attempt.state in _OUTCOMES and attempt.state is not AttemptState.DONE:
        what = f"{tasks_text(attempt)}{_try(attempt)} {_OUTCOMES[attempt.state]}"
        yield StoryLine(
            attempt.finished_at_s, f"{what} on {attempt.node.node_id}", ending_text(attempt)
        )


def tasks_text(attempt: Attempt) -> str:
    """Which tasks an attempt stands for: "map task 3", or "map tasks 0 to 7"."""
    first, tasks = attempt.launch.key.task, attempt.launch.tasks
    if tasks == 1:
        return f"{attempt.phase.name} task {first}"
    return f"{attempt.phase.name} tasks {first} to {first + tasks - 1}"


def ending_text(attempt: Attempt) -> str:
    """Why an attempt ended otherwise than well; "" where nobody said."""
    if attempt.detail or attempt.state is not AttemptState.KILLED or not attempt.is_moot:
        return attempt.detail
    job = attempt.phase.job
    ended_badly = job.has_ended and job.state is not JobState.DONE
    if ended_badly and attempt.finished_at_s >= job.finished_at_s:
        return ReasonCode.JOB_ENDED.value
    return ReasonCode.TWIN_FINISHED.value


def _try(attempt: Attempt) -> str:
    number = attempt.launch.key.attempt
    return f" (attempt {number})" if number > 1 else ""


# --- story of a task ----------------------------------------------------------------------------


def _task_lines(phase: PhaseEntry, task: int, state: ClusterState) -> Iterator[StoryLine]:
    for attempt in _attempts(state):
        first = attempt.launch.key.task
        if attempt.phase is phase and first <= task < first + attempt.launch.tasks:
            yield from _attempt_lines(attempt, task)


def _attempt_lines(attempt: Attempt, task: int) -> Iterator[StoryLine]:
    launch = attempt.launch
    name = f"attempt {launch.key.attempt}"
    slot = _slot_of(attempt, task - launch.key.task)
    place = f"{attempt.node.node_id}, {launch.slot_kind.value} slot {slot}"
    how = " as a second copy" if launch.is_copy else ""
    yield StoryLine(attempt.started_at_s, f"{name} starts{how} on {place}", launch.reason.text())
    yield StoryLine(attempt.shuffled_at_s, f"{name} has fetched its input")
    outcome = _OUTCOMES.get(attempt.state)
    if outcome is not None:
        lost = f"its output was lost later, with node {attempt.node.node_id}"
        reason = lost if attempt.is_undone else ending_text(attempt)
        yield StoryLine(attempt.finished_at_s, f"{name} {outcome}", reason)


def _slot_of(attempt: Attempt, offset: int) -> int:
    for start, length in attempt.launch.slots:
        if offset < length:
            return start + offset
        offset -= length
    raise AssertionError("an attempt has a slot for each of its tasks")


# --- story of a node ----------------------------------------------------------------------------


def _node_lines(node: NodeEntry, state: ClusterState) -> Iterator[StoryLine]:
    # By name: a node that came back after a loss is a new entry under the old id.
    attempts = [a for a in _attempts(state) if a.node.node_id == node.node_id]
    yield from _work_lines(attempts)
    yield from _loss_lines(attempts)
    for attempt in attempts:
        if attempt.state is not AttemptState.LOST:
            yield from _named_for_job(attempt)


def _work_lines(attempts: list[Attempt]) -> Iterator[StoryLine]:
    groups: dict[PhaseEntry, list[Attempt]] = {}
    for attempt in attempts:
        groups.setdefault(attempt.phase, []).append(attempt)
    for phase, group in groups.items():
        first = min(group, key=lambda attempt: attempt.started_at_s)
        tasks = sum(attempt.launch.tasks for attempt in group)
        what = f"{phase.job_id}: first of {tasks} {phase.name} attempts starts here"
        yield StoryLine(first.started_at_s, what, first.launch.reason.text())


def _loss_lines(attempts: list[Attempt]) -> Iterator[StoryLine]:
    losses: dict[tuple[float, str], int] = {}
    for attempt in attempts:
        if attempt.state is AttemptState.LOST:
            when = (attempt.finished_at_s, attempt.detail)
            losses[when] = losses.get(when, 0) + attempt.launch.tasks
    for (at_s, detail), tasks in losses.items():
        yield StoryLine(at_s, f"lost, with {tasks} running tasks", detail)


def _named_for_job(attempt: Attempt) -> Iterator[StoryLine]:
    for line in _mishap_lines(attempt):
        yield line._replace(what=f"{attempt.phase.job_id}: {line.what}")
