"""Attempts that run longer than any may: the scheduler's own limit, behind that of the agents.

An agent ends an attempt at its limit by itself. The scheduler waits a little longer and then asks
for the kill, so that an attempt whose agent has lost track of it ends too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from sluice.core.entries import Attempt
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.record.early_starts import works_from_s
from sluice.core.transitions import AttemptState

BACKSTOP_S = 30.0  # after the limit of the agents


def overruns(
    running: Iterable[Attempt], now_s: float, wall_s: float
) -> tuple[list[Attempt], float | None]:
    """The attempts that have run longer than `wall_s`, and when to look again (None for never).

    running: in the order of their launches, so that the first one within its limit ends the search.
    One that waits for its input has not begun, and one that waited began when the input was there.
    """
    found: list[Attempt] = []
    look_at_s = math.inf
    for attempt in running:
        if attempt.state is AttemptState.KILLING or not attempt.phase.has_inputs:
            continue
        began_at_s = works_from_s(attempt)
        ends_at_s = began_at_s + wall_s
        if ends_at_s <= now_s:
            found.append(attempt)
            continue
        look_at_s = min(look_at_s, ends_at_s)
        if began_at_s == attempt.started_at_s:
            break
    return found, None if look_at_s == math.inf else look_at_s


def overran(attempt: Attempt) -> bool:
    """Whether it was killed because it ran too long, which is the task's failure."""
    if attempt.state is not AttemptState.KILLED or attempt.kill_reason is None:
        return False
    return attempt.kill_reason.code is ReasonCode.OVERRAN


def overrun_reason(wall_s: float) -> Reason:
    """Why such an attempt is killed."""
    return Reason(ReasonCode.OVERRAN, (("limit_s", wall_s),))
