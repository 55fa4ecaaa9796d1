"""When failures of tasks fail their job: one task too often, or several tasks in the same way."""

from __future__ import annotations

from sluice.core.entries import Attempt, JobEntry, PhaseEntry
from sluice.core.events import FailureKind, TaskFailed
from sluice.core.faults.lost_outputs import undo
from sluice.core.faults.overruns import overran
from sluice.core.rules import Rules
from sluice.core.state import ClusterState
from sluice.core.transitions import AttemptState


def gives_up(state: ClusterState, rules: Rules, attempt: Attempt, event: TaskFailed) -> str:
    """Charge a failure to its task, or to those it blames; why that ends the job, or ""."""
    phase, task = attempt.phase, event.key.task
    charged, read_older = make_again(state, attempt, event.blames)
    # Blaming others excuses a task only if something that it reads is really missing, or was.
    # A real task that starts early fails by itself as well; a simulated one cannot before it works.
    is_own = phase.has_inputs or (rules.is_live and not event.blames)
    if is_own and not read_older:
        charged = [(phase, task)]
    if event.kind is FailureKind.PERMANENT:
        return f"{phase.name} task {task} failed: {event.detail}"
    is_failure = attempt.state is AttemptState.FAILED and event.kind.counts
    if not is_failure and not overran(attempt):
        return ""
    reason = failed_alike(phase, event, rules.equal_failures_max)
    for one, number in charged:
        if not reason:
            reason = failed_too_often(one, number, event.detail, rules.failures_max)
    return reason


def failed_too_often(phase: PhaseEntry, task: int, detail: str, most: int) -> str:
    """Count a failure of a task; returns why it fails the job, or "" if it does not."""
    of_tasks = phase.repeating().failures
    failures = of_tasks[task] = of_tasks.get(task, 0) + 1
    if failures < most:
        return ""
    reason = f"{phase.name} task {task} failed {failures} times"
    return f"{reason}, last: {detail}" if detail else reason


def failed_alike(phase: PhaseEntry, event: TaskFailed, most: int | None) -> str:
    """Why a failure fails the job if as many as `most` tasks met the same exception; else "".

    Only first attempts count: these tasks are independent, so further attempts would meet the
    exception too. While more tasks are done, it is a rare one, and each task is tried again.
    """
    if not event.cause or event.key.attempt > 1 or most is None:
        return ""
    repeats = phase.repeating()
    tasks = repeats.causes.setdefault(event.cause, set())
    tasks.add(event.key.task)
    if len(tasks) < most or phase.done > len(tasks):
        return ""
    repeats.failures[event.key.task] = repeats.failures.get(event.key.task, 0) + 1
    return (
        f"{len(tasks)} {phase.name} tasks failed with the same exception at their first attempt,"
        f" last: {event.detail}"
    )


def make_again(
    state: ClusterState, blamer: Attempt, blames: tuple[tuple[int, int], ...]
) -> tuple[list[tuple[PhaseEntry, int]], bool]:
    """Let done tasks wait again whose output could not be read.

    Returns them, and whether one was left as it is, because it ended after the attempt that blames
    it had started: that one has read an older output, which others have blamed before.
    """
    job = blamer.phase.job
    culprits: list[tuple[PhaseEntry, int]] = []
    read_older = False
    for index, task in blames:
        output = output_of(state, job, index, task)
        if output is None:
            continue
        if state.closed.attempt(output).finished_at_s > blamer.started_at_s:
            read_older = True
            continue
        undo(
            state, output, f"{blamer.phase.name} task {blamer.task} could not read its output later"
        )
        culprits.append((job.phases[index], task))
    return culprits, read_older


def output_of(state: ClusterState, job: JobEntry, index: int, task: int) -> int | None:
    """The row of the attempt whose output is that of a done task; None if there is none."""
    if not 0 <= index < len(job.phases):
        return None  # a report may blame a phase that does not exist
    wanted, log = job.phases[index], state.closed
    for node in state.nodes.values():
        for row in node.done:
            if log.phase_of(row) is not wanted:
                continue
            attempt = log.attempt(row)
            if not attempt.is_undone and 0 <= task - attempt.key.task < attempt.tasks:
                return row
    return None
