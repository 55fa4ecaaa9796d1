"""When failures of tasks fail their job: one task too often, or several tasks in the same way."""

from __future__ import annotations

from sluice.core.entries import JobEntry, PhaseEntry
from sluice.core.events import TaskFailed
from sluice.core.state import ClusterState


def failed_too_often(phase: PhaseEntry, task: int, detail: str, most: int) -> str:
    """Count a failure of a task; returns why it fails the job, or "" if it does not."""
    failures = phase.failures.get(task, 0) + 1
    phase.failures[task] = failures
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
    tasks = phase.causes.setdefault(event.cause, set())
    tasks.add(event.key.task)
    if len(tasks) < most or phase.done > len(tasks):
        return ""
    phase.failures[event.key.task] = phase.failures.get(event.key.task, 0) + 1
    return (
        f"{len(tasks)} {phase.name} tasks failed with the same exception at their first attempt,"
        f" last: {event.detail}"
    )


def make_again(
    state: ClusterState, job: JobEntry, blames: tuple[tuple[int, int], ...]
) -> list[tuple[PhaseEntry, int]]:
    """Let done tasks wait again whose output could not be read; returns them."""
    culprits = []
    for index, task in blames:
        output = state.output_of(job, index, task)
        if output is not None:
            state.undo(output)
            culprits.append((job.phases[index], task))
    return culprits
