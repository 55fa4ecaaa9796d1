"""Whether a job would be in time without a promise, by the work that is ahead of it.

A promise counts containers that are free now, and lengths as the profiles give them. Containers
that run other jobs are free soon, though, and tasks that share a node or straggle take longer than
their profile. Here both count: jobs share the cluster, so that ahead of a job is at most its own
work of each active job; and tasks that ended not long ago show by how much a profile is exceeded,
on average (tasks slow each other down) and by one in ten (stragglers). The average stretches the
work, which all containers do together. The last tasks of each phase count by the one in ten.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from sluice.core.entries import Attempt
from sluice.core.indexes.observers import AttemptIndex
from sluice.core.state import ClusterState
from sluice.core.transitions import AttemptState
from sluice.model.job import Job, Phase
from sluice.model.slot_kind import SlotKind

_ATTEMPTS = 200  # of the newest, which show how long tasks take at present
_ATTEMPTS_MIN = 20  # so many show it
_TAIL_SHARE = 0.9


class Stretch(NamedTuple):
    """How many times as long as its profile a task takes: on average, and one in ten.

    Before enough tasks have ended, the last ones of a phase count twice, as in the bound `up`.
    """

    mean: float = 1.0
    tail: float = 2.0


class NewestLengths(AttemptIndex):
    """The lengths of the newest attempts, each with the length that was expected.

    newest: as `saved` has returned them.
    """

    def __init__(self, state: ClusterState, newest: Iterable[tuple[float, float]] = ()) -> None:
        pairs = ((float(length_s), float(expected_s)) for length_s, expected_s in newest)
        self._newest = deque(pairs, maxlen=_ATTEMPTS)
        state.observe_attempts(self)

    def saved(self) -> list[tuple[float, float]]:
        """The content as JSON values, the oldest first."""
        return list(self._newest)

    def ended(self, attempt: Attempt) -> None:
        """See `AttemptObserver`. One that failed counts among the newest, and shows nothing."""
        is_done = attempt.state is AttemptState.DONE
        self._newest.append(
            (_length_s(attempt), _task_s(attempt.phase.phase)) if is_done else (0.0, 0.0)
        )

    def stretch(self) -> Stretch:
        """The stretch that the newest attempts show."""
        lengths = [one for one in self._newest if min(one) > 0]
        if len(lengths) < _ATTEMPTS_MIN:
            return Stretch()
        ratios = sorted(length_s / expected_s for length_s, expected_s in lengths)
        return Stretch(
            mean=math.fsum(one for one, _ in lengths) / math.fsum(one for _, one in lengths),
            tail=ratios[int(_TAIL_SHARE * len(ratios))],
        )


def likely_s(job: Job, state: ClusterState, stretch: Stretch) -> float:
    """Seconds until a job would be done if it were admitted now; infinite without containers."""
    slots = state.slots[SlotKind.CONTAINER]
    own_s = math.fsum(_work_s(phase, phase.tasks) for phase in job.phases)
    ahead_s = math.fsum(
        min(own_s, math.fsum(_work_s(one.phase, one.tasks - one.done) for one in other.phases))
        for other in state.active.values()
    )
    last_s = math.fsum(_task_s(phase) for phase in job.phases)
    if not slots:
        return math.inf
    return stretch.mean * (ahead_s + own_s) / slots + stretch.tail * last_s


def _work_s(phase: Phase, tasks: int) -> float:
    return tasks * _task_s(phase)


def _task_s(phase: Phase) -> float:
    """The mean time of one task, with its fetch; 0 where it is not known."""
    parts = (phase.fetch, phase.lengths)
    return math.fsum(part.avg_s(phase.tasks) for part in parts if part is not None)


def _length_s(attempt: Attempt) -> float:
    """The length of an attempt, with its wait for outputs of other phases."""
    return attempt.finished_at_s - attempt.started_at_s
