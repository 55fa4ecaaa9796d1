"""Outputs of done tasks that are lost: the tasks run again if a later phase still needs them."""

from __future__ import annotations

from sluice.core.state import ClusterState


def undo(state: ClusterState, row: int, why: str) -> None:
    """The output of the done attempt in a row is lost: its tasks wait again while a later phase
    needs them, and what followed them closes. What is not needed now is missed when a later phase
    loses its own output.
    """
    attempt = state.closed.attempt(row)
    phase, key = attempt.phase, attempt.key
    if attempt.is_undone or phase.job.has_ended:
        return
    if all(later.is_done for later in phase.needed_by):
        phase.repeating().lost[row] = why
        return
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
