"""Outputs of done tasks that are lost: the tasks run again if a later phase still needs them."""

from __future__ import annotations

from sluice.core.events import OutputLost
from sluice.core.state import ClusterState
from sluice.core.transitions import AttemptState


def undo(state: ClusterState, row: int, why: str) -> None:
    """The output of the done attempt in a row is lost: its tasks wait again while a later phase
    needs them, and what followed them closes. What is not needed now is missed when a later phase
    loses its own output.
    """
    if state.closed.phase_of(row) is None:
        return  # its job has ended and is forgotten
    attempt = state.closed.attempt(row)
    phase = attempt.phase
    if attempt.is_undone or phase.job.has_ended:
        return
    if all(later.is_done for later in phase.needed_by):
        phase.repeating().lost[row] = why
        return
    _make_again(state, row, why)


def lose_output(state: ClusterState, event: OutputLost) -> None:
    """The output of a task was changed after it ended: the task waits again, also a last one."""
    job = state.jobs.get(event.job_id)
    if job is None or job.has_ended or not 0 <= event.phase < len(job.phases):
        state.ignored["output unknown, or its job has ended"] += 1
        return
    wanted, log = job.phases[event.phase], state.closed
    for row in log.rows_of(wanted):
        attempt = log.attempt(row)
        is_of_task = 0 <= event.task - attempt.task < attempt.tasks
        counts = attempt.state is AttemptState.DONE and not attempt.is_moot
        if is_of_task and counts and not attempt.is_undone:
            (undo if wanted.needed_by else _make_again)(state, row, event.reason)


def _make_again(state: ClusterState, row: int, why: str) -> None:
    """The tasks of a done attempt wait again, and what followed them closes."""
    attempt = state.closed.attempt(row)
    phase, key = attempt.phase, attempt.key
    state.closed.undo(row, why)
    if phase.is_done:
        phase.job.phases_left += 1
    phase.done -= attempt.tasks
    for task in range(key.task, key.task + attempt.tasks):
        state.wait_again(phase, task, key.attempt)
    state.notify(phase)
    for later in phase.needed_by:
        state.refresh(later)
    for index in phase.phase.after:
        earlier = phase.job.phases[index].repeating()
        missed, earlier.lost = earlier.lost, {}
        for gone, gone_why in missed.items():
            undo(state, gone, gone_why)
