"""The strays of attempts: descendants that lost their parent and became the agent's children.

A stray belongs to the attempt whose session it is in, or whose mark it was started with. One that
shed both may belong to any attempt that is older than itself. It is ended once all attempts that
it may belong to have ended, and no attempt's end is reported before its strays are gone.
"""

from __future__ import annotations

from collections.abc import Collection

from sluice.engines.agent import kernel
from sluice.engines.agent.attempts import Running
from sluice.engines.agent.child import ATTEMPT_MARK


def owners(stray: kernel.Process, attempts: Collection[Running]) -> list[Running]:
    """The attempts that a stray may belong to."""
    for attempt in attempts:
        if stray.session == attempt.pid:
            return [attempt]
    for attempt in attempts:
        if kernel.has_mark(stray.pid, f"{ATTEMPT_MARK}={attempt.attempt_id}"):
            return [attempt]
    # Start times are whole clock ticks, rounded down.
    latest_s = stray.started_s + 1 / kernel.TICKS_PER_S
    return [attempt for attempt in attempts if attempt.born_s <= latest_s]
