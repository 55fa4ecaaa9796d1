"""Attempts that start before all tasks that they read from have ended, and when they can work."""

from __future__ import annotations

import math
from collections.abc import Iterable

from sluice.core.entries import Attempt
from sluice.core.transitions import AttemptState


def input_at_s(attempt: Attempt) -> float:
    """When the last task that an attempt reads from ended, in seconds; -infinity if it reads from
    none. As long as such tasks are left, it is the last end so far.
    """
    phases = attempt.phase.job.phases
    return max((phases[index].ended_at_s for index in attempt.phase.after), default=-math.inf)


def works_from_s(attempt: Attempt) -> float:
    """When an attempt could begin its own work, in seconds: at its start, or with its input.

    Tasks that ran again after it had fetched their first output have not delayed it.
    """
    there_at_s = input_at_s(attempt)
    is_after_end = there_at_s > attempt.finished_at_s  # false for an attempt that runs
    return attempt.started_at_s if is_after_end else max(attempt.started_at_s, there_at_s)


def left_at_start(attempt: Attempt, attempts: Iterable[Attempt]) -> int:
    """How many tasks that an attempt reads from had not ended when it started.

    attempts: all of its job.
    """
    phases = attempt.phase.job.phases
    wanted = [phases[index] for index in attempt.phase.after]
    done = {
        (one.phase.index, task)
        for one in attempts
        if one.phase in wanted and one.state is AttemptState.DONE
        if one.finished_at_s <= attempt.started_at_s
        for task in range(one.task, one.task + one.tasks)
    }
    return sum(phase.tasks for phase in wanted) - len(done)
