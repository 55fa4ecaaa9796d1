"""Why a decision was taken: a small vocabulary and the numbers behind it.

Every launch, kill, refusal and wait carries a `Reason`, so that `sluice why` and `sluice story`
can explain a run without guessing afterwards.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class ReasonCode(Enum):
    """The field's causes, each with the sentence people read; `{name}` is filled from numbers."""

    # Why a task was started where it was.
    FIRST_IN_LINE = "first job in line with a task to start"
    BELOW_MIN_SHARE = "its pool was below its minimum share"
    LOWEST_SHARE = "its pool had the least running work for its weight"
    CONTAINER_SHARE = "its job had the fewest running containers for its weight"
    # Why an attempt was killed.
    TWIN_FINISHED = "another attempt of the same task finished first"
    JOB_ENDED = "its job had ended"
    TIMED_OUT = "it made no progress for too long"
    # Why a job waits, or was turned away.
    NOT_RELEASED = "the release policy holds it back"
    DEFERRED = "admission was put off"
    REFUSED = "admission refused it"
    NO_NODE = "no node is up"
    NO_SLOT_KIND = "no node has a {kind} slot"
    SLOTS_BUSY = "all {slots:.0f} {kind} slots are busy"
    BEHIND_IN_LINE = "{ahead:.0f} jobs stand before it in line, {tasks:.0f} tasks"
    POOL_OVER_SHARE = "its pool runs {running:.0f} tasks while {pools:.0f} pools come first"
    JOB_OVER_SHARE = "it runs {running:.0f} containers while {jobs:.0f} jobs come first"
    POOL_AT_CAP = "its pool is at its cap of {cap:.0f} {kind} slots"
    BARRIER = "{left:.0f} tasks of the phase before are not done"
    LOCALITY_WAIT = "it waits up to {wait_s:.1f} s more for a node that holds its data"
    RAMP = "its reduces hold {running:.0f} containers, their limit while maps are left"
    NODE_AT_LINE = "every node is at its balance line of {line:.0f} {kind} tasks"
    ALL_RUNNING = "nothing waits: its last {running:.0f} tasks are running"
    ENDED = "it has ended"


class Reason(NamedTuple):
    """A code and its numbers, in the order they are told."""

    code: ReasonCode
    numbers: tuple[tuple[str, float | str], ...] = ()

    def text(self) -> str:
        """The reason as a sentence part for people.

        >>> Reason(ReasonCode.SLOTS_BUSY, (("slots", 57), ("kind", "map"))).text()
        'all 57 map slots are busy'
        """
        return self.code.value.format_map(dict(self.numbers))
