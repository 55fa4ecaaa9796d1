"""The events of a job, a task or a node, in order of time.

A story is built from the attempts in the state, so it needs no log of its own. An event without a
trace in an attempt (the loss of an idle node) is not part of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from sluice.core.entries import Attempt, JobEntry, NodeEntry, PhaseEntry
from sluice.core.explain.names import nearest_of
from sluice.core.faults.node_faults import faults_text
from sluice.core.protocols import TaskPolicy
from sluice.core.record.early_starts import left_at_start
from sluice.core.record.machine_record import MachineChange
from sluice.core.state import ClusterState
from sluice.core.transitions import AttemptState
from sluice.model.cluster import Locality
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId, NodeId

_OUTCOMES = {
    AttemptState.DONE: "done",
    AttemptState.FAILED: "failed",
    AttemptState.KILLED: "killed",
    AttemptState.LOST: "lost",
}
_MACHINE_CHANGES = {
    "joined": "joined, rented",
    "unneeded": "gets no more work",
    "kept": "kept after all",
    "returned": "given back",
}


class StoryLine(NamedTuple):
    """One event. why: the reason or the detail, or "" if there is none."""

    at_s: float
    what: str
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """The events of a job, a task or a node, in order of time."""

    subject: str
    kind: str
    lines: tuple[StoryLine, ...]

    def document(self) -> dict[str, object]:
        """The fields as plain JSON values."""
        return {
            "id": self.subject,
            "kind": self.kind,
            "lines": [line._asdict() for line in self.lines],
        }


def story(subject: str, state: ClusterState, policy: TaskPolicy | None = None) -> Story:
    """The story of the job, the task ("job/phase/task") or the node with this id.

    policy: the task policy; it may add to the story of a job.
    Raises InvalidInput if there is none.
    """
    job = state.jobs.get(JobId(subject))
    if job is not None:
        notes = () if policy is None else policy.notes(job)
        lines = [*_job_lines(job, state), *(StoryLine(*note) for note in notes)]
        return _sorted_story(subject, "job", lines)
    node = state.nodes.get(NodeId(subject))
    if node is not None:
        return _sorted_story(subject, "node", _node_lines(node, state))
    found = _task_named(subject, state)
    if found is not None:
        return _sorted_story(subject, "task", _task_lines(*found, state))
    raise InvalidInput(
        f"there is no job, node or task {subject!r} at {state.now_s:g} s",
        where="story",
        hint=nearest_of(subject, (*state.jobs, *state.nodes)),
    )


def _sorted_story(subject: str, kind: str, lines: Iterable[StoryLine]) -> Story:
    """The lines sorted by time; those of one instant keep their order."""
    ordered = sorted(
        (line for line in lines if not math.isnan(line.at_s)), key=lambda line: line.at_s
    )
    return Story(subject=subject, kind=kind, lines=tuple(ordered))


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
    yield StoryLine(job.submitted_at_s, "submitted", f"to pool {job.pool.pool_id}")
    for at_s, what, reason in job.decisions:
        yield StoryLine(at_s, what, reason.text())
    yield StoryLine(job.released_at_s, "released to the cluster")
    for phase in job.phases:
        yield from _phase_lines(phase, [a for a in attempts if a.phase is phase], attempts)
    for attempt in attempts:
        yield from _mishap_lines(attempt)
    deadline_at_s = job.job.own_deadline_at_s
    ends_at_s = job.finished_at_s if job.has_ended else state.now_s
    if deadline_at_s is not None and ends_at_s > deadline_at_s:
        yield StoryLine(deadline_at_s, "deadline missed")
    if job.has_ended:
        yield StoryLine(job.finished_at_s, f"job {job.state.value}", job.reason)
    elif job.reason:
        yield StoryLine(state.now_s, f"still {job.state.value}", job.reason)


def _phase_lines(
    phase: PhaseEntry, attempts: list[Attempt], of_job: list[Attempt]
) -> Iterator[StoryLine]:
    if not attempts:
        return
    first = min(attempts, key=lambda attempt: attempt.started_at_s)
    of = f", first of {phase.tasks} tasks" if phase.tasks > 1 else ""
    what = f"{phase.name} begins on {first.node.node_id}{of}"
    yield StoryLine(first.started_at_s, what, first.launch.reason.text() + _early(first, of_job))
    if phase.is_done:
        ends = [a.finished_at_s for a in attempts if a.state is AttemptState.DONE]
        yield StoryLine(max(ends), f"{phase.name} ends{', all tasks done' * (phase.tasks > 1)}")


def _early(attempt: Attempt, of_job: list[Attempt]) -> str:
    """That it started before its input was there, if it did."""
    left = left_at_start(attempt, of_job) if attempt.phase.after else 0
    if not left:
        return ""
    tasks = "1 task that it reads" if left == 1 else f"{left} tasks that it reads"
    return f"; it starts early and fetches while {tasks} from {'is' if left == 1 else 'are'} left"


def _mishap_lines(attempt: Attempt) -> Iterator[StoryLine]:
    """An attempt that did not end well, or whose output was lost afterwards."""
    if attempt.is_undone:
        what = f"{tasks_text(attempt)} done"
        yield StoryLine(attempt.finished_at_s, what, attempt.undone_why)
    elif attempt.state in _OUTCOMES and attempt.state is not AttemptState.DONE:
        what = f"{tasks_text(attempt)}{_try(attempt)} {_OUTCOMES[attempt.state]}"
        yield StoryLine(
            attempt.finished_at_s, f"{what} on {attempt.node.node_id}", ending_text(attempt)
        )


def tasks_text(attempt: Attempt) -> str:
    """The tasks of an attempt: "map task 3", or "map tasks 0 to 7"."""
    first, tasks = attempt.launch.key.task, attempt.launch.tasks
    if tasks == 1:
        return f"{attempt.phase.name} task {first}"
    return f"{attempt.phase.name} tasks {first} to {first + tasks - 1}"


def ending_text(attempt: Attempt) -> str:
    """Why an attempt did not succeed; "" if no reason was given."""
    if attempt.detail or attempt.kill_reason is None:
        return attempt.detail
    return attempt.kill_reason.text()


def _try(attempt: Attempt) -> str:
    number = attempt.launch.key.attempt
    return f" (attempt {number})" if number > 1 else ""


# --- story of a task ----------------------------------------------------------------------------


def _task_lines(phase: PhaseEntry, task: int, state: ClusterState) -> Iterator[StoryLine]:
    of_job = [attempt for attempt in _attempts(state) if attempt.phase.job is phase.job]
    for attempt in of_job:
        first = attempt.launch.key.task
        if attempt.phase is phase and first <= task < first + attempt.launch.tasks:
            yield from _attempt_lines(attempt, task, state, _early(attempt, of_job))


def _attempt_lines(
    attempt: Attempt, task: int, state: ClusterState, early: str
) -> Iterator[StoryLine]:
    launch = attempt.launch
    name = f"attempt {launch.key.attempt}"
    slot = _slot_of(attempt, task - launch.key.task)
    place = f"{attempt.node.node_id}, {launch.slot_kind.value} slot {slot}"
    how = " as a second copy" if launch.is_copy else ""
    yield StoryLine(
        attempt.started_at_s, f"{name} starts{how} on {place}", launch.reason.text() + early
    )
    yield StoryLine(attempt.shuffled_at_s, f"{name} has fetched its input")
    if attempt.usage is not None and attempt.usage.fetched:
        why = ", ".join(_moved(attempt, *peer, state) for peer in attempt.usage.fetched)
        yield StoryLine(attempt.finished_at_s, f"{name} has moved data", why)
    outcome = _OUTCOMES.get(attempt.state)
    if outcome is not None:
        reason = attempt.undone_why if attempt.is_undone else ending_text(attempt)
        yield StoryLine(attempt.finished_at_s, f"{name} {outcome}", reason)


def _moved(attempt: Attempt, peer: str, moved_bytes: int, state: ClusterState) -> str:
    """The bytes of one link, and how near its other end is, if that is a node."""
    other = state.nodes.get(NodeId(peer))
    near = ""
    if other is not None:
        is_near = other.rack == attempt.node.rack
        level = Locality.NODE if peer == attempt.node.node_id else Locality.RACK
        near = f" ({level.name.lower() if is_near else 'any'})"
    return f"{peer} {moved_bytes:,} bytes{near}"


def _slot_of(attempt: Attempt, offset: int) -> int:
    for start, length in attempt.launch.slots:
        if offset < length:
            return start + offset
        offset -= length
    raise AssertionError("an attempt has a slot for each of its tasks")


# --- story of a node ----------------------------------------------------------------------------


def _machine_lines(changes: Iterable[MachineChange]) -> Iterator[StoryLine]:
    for one in changes:
        yield StoryLine(one.at_s, _MACHINE_CHANGES[one.what], one.reason.text())


def _node_lines(node: NodeEntry, state: ClusterState) -> Iterator[StoryLine]:
    # By name: a node that came back after a loss is a new entry under the old id.
    attempts = [a for a in _attempts(state) if a.node.node_id == node.node_id]
    changes = [one for one in state.machines.changes if one.node_id == node.node_id]
    yield from _machine_lines(one for one in changes if one.what == "joined")  # before it works
    yield from _work_lines(attempts)
    yield from _loss_lines(attempts)
    yield from _machine_lines(one for one in changes if one.what != "joined")
    leaves = bool(changes) and changes[-1].what in {"unneeded", "returned"}  # and that is said
    if node.cordon and node.is_up and not leaves:
        yield StoryLine(state.now_s, "cordoned", node.cordon)
    if node.is_set_aside:
        yield StoryLine(node.fault_at_s, "set aside", faults_text(node))
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
        tasks_here = f"{tasks} attempts" if tasks > 1 else "1 attempt"
        what = f"{phase.job_id}: {phase.name} begins here, first of {tasks_here}"
        yield StoryLine(first.started_at_s, what, first.launch.reason.text())


def _loss_lines(attempts: list[Attempt]) -> Iterator[StoryLine]:
    losses: dict[tuple[float, str], int] = {}
    for attempt in attempts:
        if attempt.state is AttemptState.LOST:
            when = (attempt.finished_at_s, attempt.detail)
            losses[when] = losses.get(when, 0) + attempt.launch.tasks
    for (at_s, detail), tasks in losses.items():
        yield StoryLine(at_s, f"lost, with {tasks} running task{'s' * (tasks > 1)}", detail)


def _named_for_job(attempt: Attempt) -> Iterator[StoryLine]:
    for line in _mishap_lines(attempt):
        yield line._replace(what=f"{attempt.phase.job_id}: {line.what}")
