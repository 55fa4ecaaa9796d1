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
    # The cases of DynamicMR, by the numbers of its spec (sections 5.2 to 5.5).
    OWN_SLOT = "case {case}: a {slot} slot was free within the node's balance line, and {order}"
    BORROWED_SLOT = (
        "case {case}: it runs in a borrowed {slot} slot, because {kind}s asked for"
        " {load:.2f} and {slot}s for {other_load:.2f} times their own slots;"
        " {lent:.0f} of at most {lendable:.0f} {kind}s had borrowed before"
    )
    DATA_IGNORED = "case {case}: a {slot} slot would have idled, so it runs away from its data"
    EXTRA_SLOT = (
        "case {case}: its data lie on this node, which had {extra:.0f} map slots idle"
        " beyond its balance line"
    )
    LENT_AHEAD = (
        "case {case}: it runs in a borrowed reduce slot, because its data lie on this node;"
        " {lent:.0f} were lent for that reason before, {most:.0f} may be"
    )
    LENT_BACK = (
        "case {case}: it runs in a borrowed map slot, because {lent:.0f} maps held reduce slots"
        " near their data"
    )
    SPECULATED = (
        "case {case}: a second copy, because the first would take {left} more;"
        " its rate was below the {percentile:g}th percentile of its phase"
    )
    RIGHT_OF_WAY = "case {case}: its job's own reduces had held every slot that it waited for"
    OWN_CONTAINER = "its job ran fewer containers than it was promised"
    # Why an attempt was killed.
    TWIN_FINISHED = "another attempt of the same task finished first"
    JOB_ENDED = "its job had ended"
    TIMED_OUT = "it made no progress for too long"
    TOO_SLOW = (
        "it had run {ran_s:.0f} s, over twice the mean of {mean_s:.1f} s"
        " of {finished:.0f} finished ones"
    )
    GAVE_WAY = (
        "case {case}: it held a slot and waited for a {kind} of its own job,"
        " which had found none for {waited_s:.0f} s"
    )
    # Why a job waits, or was turned away.
    NOT_RELEASED = "the release policy holds it back"
    DEFERRED = "admission was put off"
    REFUSED = "admission refused it"
    AWAITS_ROUND = "admission decides in rounds, and its next one is to come"
    NO_DEADLINE = "it has no deadline, and only jobs with one are taken"
    NO_LENGTHS = "nobody knows how long its tasks take"
    DEADLINE_TOO_SOON = (
        "all {slots:.0f} containers would take {least_s:.0f} s for it, and its deadline leaves"
        " {left_s:.0f} s; {change}"
    )
    NOT_WORTH = (
        "refusing it costs ${penalty_usd:.2f} and its {vms:.2f} VMs ${rent_usd:.2f}; {change}"
    )
    CAPACITY_PROMISED = (
        "its deadline takes {containers:.0f} containers, and {free:.0f} of {slots:.0f} are free of"
        " promises; {change}"
    )
    PROMISED = "{containers:.0f} containers are its own until it ends"
    NO_NODE = "no node is up"
    NO_SLOT_KIND = "no node has a {kind} slot"
    SLOTS_BUSY = "all {slots:.0f} {kind} slots are busy"
    LOANS_BUSY = (
        "all {slots:.0f} {kind} slots are busy, and {lent:.0f} of at most {lendable:.0f} {kind}s"
        " run in borrowed {other} slots"
    )
    BEHIND_IN_LINE = "{ahead:.0f} jobs stand before it in line, {tasks:.0f} tasks"
    POOL_OVER_SHARE = "its pool runs {running:.0f} tasks while {pools:.0f} pools come first"
    JOB_OVER_SHARE = "it runs {running:.0f} containers while {jobs:.0f} jobs come first"
    CONTAINERS_PROMISED = "the free containers are promised to {jobs:.0f} jobs"
    POOL_AT_CAP = "its pool is at its cap of {cap:.0f} {kind} slots"
    BARRIER = "{left:.0f} tasks of the phase before are not done"
    NOT_CHOSEN = "policy {policy} has not chosen it for a free slot"
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
