"""The facts that the simulator knows ahead of the work of one attempt, kept in `Attempt.work`.

The scheduler never reads it. A live engine knows nothing ahead, so that `work` is None there.
"""

from __future__ import annotations

import math
from typing import Final

from sluice.core.entries import Attempt

_UNKNOWN: Final = math.nan


class AttemptWork:
    """How long one attempt takes, and how far it gets. Instants and lengths are in seconds.

    from_s: when its own work begins, after fetching; not a number where it does not fetch.
    ends_at_s: when it ends well.  own_s: its own work, without fetching; not a number until drawn.
    progress_max: 0 to 1, below 1 if it hangs.
    is_unreported: whether it has ended and its node has not reported that yet.
    """

    __slots__ = ("ends_at_s", "from_s", "is_unreported", "own_s", "progress_max")

    def __init__(self) -> None:
        self.is_unreported = False
        self.from_s: float = _UNKNOWN
        self.ends_at_s: float = _UNKNOWN
        self.own_s: float = _UNKNOWN
        self.progress_max = 1.0


def work_of(attempt: Attempt) -> AttemptWork:
    """The attempt's `work`, made if there is none yet."""
    work = attempt.work
    if isinstance(work, AttemptWork):
        return work
    made = AttemptWork()
    attempt.work = made
    return made
