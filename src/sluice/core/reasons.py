"""The reason for a decision: a code and the numbers behind it.

Every launch, kill, refusal and wait carries a `Reason`, so that `sluice why` and `sluice story`
can explain a run exactly.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

_ONE = re.compile(r"(?<![\d.,])1 ((?:more )?job|task|pool|container|map|reduce|VM)s\b")
_ONE_TOGETHER = re.compile(r"its (?:next )?1 task start together")
_ONE_ARE = re.compile(
    r"((?<![\d.,])1 (?:job|task|pool|container|VM)\b(?: \([^)]*\)| of the \w+ \w+)?) are\b"
)


class ReasonCode(Enum):
    """The causes, each with the text for people; `{name}` is filled in from the numbers."""

    # Why a task was started where it was.
    FIRST_IN_LINE = "first job in the queue with a task that can start"
    BELOW_MIN_SHARE = "its pool was below its minimum share"
    LOWEST_SHARE = "its pool had the least running work for its weight"
    CONTAINER_SHARE = "its job had the fewest running containers for its weight"
    LONGEST_PATH = "its stage had the longest path ({left_s:g} s) to the end of a job"
    EARLIEST_DEADLINE = "its job had the earliest deadline ({at_s:g} s) of those with waiting tasks"
    LEAST_UTILITY = "its job had the lowest utility ({utility:.2f}) of those with waiting tasks"
    GOAL_KEPT = "the deadline of its job at {at_s:g} s can be kept, and comes before other work"
    # Long-term sharing in a tree of queues.
    OWED = "{queue} was owed {owed}"
    LEAST_USED = "{queue} had used the least for its weight among the queues with waiting tasks"
    # A tree of queues with guarantees and maximums.
    LEAST_FOR_GUARANTEE = "{queue} ran the least for its guarantee among the queues with work"
    # The cases of DynamicMR, by the numbers of its spec (sections 5.2 to 5.5).
    OWN_SLOT = "case {case}: a {slot} slot was free within the node's balance line, and {order}"
    BORROWED_SLOT = (
        "case {case}: it runs in a borrowed {slot} slot, because {kind}s asked for"
        " {load:.2f} and {slot}s for {other_load:.2f} times their own slots;"
        " {lent:.0f} of at most {lendable:.0f} {kind}s had borrowed before"
    )
    DATA_IGNORED = "case {case}: a {slot} slot would have idled, so it runs away from its data"
    EXTRA_SLOT = (
        "case {case}: its data is on this node, which had {extra:.0f} map slots idle"
        " beyond its balance line"
    )
    LENT_AHEAD = (
        "case {case}: it runs in a borrowed reduce slot, because its data is on this node;"
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
    COPIED = "a second copy: its task had run {ran_s:.0f} s, and no task that waits had room"
    RIGHT_OF_WAY = "case {case}: its job's own reduces had held every slot that it waited for"
    JOB_SLOT = "its job had the lowest utility ({utility:.2f}) of those with a free job slot here"
    OWN_CONTAINER = "its job ran fewer containers than are reserved for it"
    BACKFILLED = "it delays no reservation; {next} has one for {at_s:.0f} s"
    # Why an attempt was killed.
    TWIN_FINISHED = "another attempt of the same task finished first"
    JOB_ENDED = "its job had ended"
    OVERRAN = "it ran longer than {limit_s:g} s, the limit of every attempt"
    PREEMPTED = "its queue was above its guarantee, and {queue} waited below its own"
    TIMED_OUT = "it made no progress for too long"
    TOO_SLOW = (
        "it had run {ran_s:.0f} s, over twice the mean of {mean_s:.1f} s"
        " of {finished:.0f} finished ones"
    )
    SHUFFLE_GAVE_WAY = (
        "every running task was a reduce that waited for a map or for room to work, and its job"
        " was the last submitted of theirs"
    )
    GAVE_WAY = (
        "case {case}: it held a slot and waited for a {kind} of its own job,"
        " which had found none for {waited_s:.0f} s"
    )
    # Why a job waits, or was refused.
    NOT_RELEASED = "the release policy holds it back"
    DEFERRED = "admission was deferred"
    REFUSED = "admission refused it"
    AFTER_JOBS = "it runs after {job}, which is not done, and after {more:.0f} more jobs"
    HELD = "{user} holds it"
    AFTER_JOB = "it runs after {job}, which is not done"
    NOT_SUBMITTED = "it is submitted later"
    DRIVER_WORKS = "its driver works, {driver_s:g} s before it asks for the first tasks"
    JOB_BEFORE_ENDED = "it runs after {job}, which {ended}"
    AWAITS_ROUND = "admission decides in rounds, and waits for the next one"
    NO_DEADLINE = "it has no deadline, and only jobs with a deadline are accepted"
    NO_LENGTHS = "the lengths of its tasks are unknown"
    DEADLINE_TOO_SOON = (
        "all {slots:.0f} containers would take {least_s:.0f} s for it, and its deadline leaves"
        " {left_s:.0f} s; {change}"
    )
    NOT_WORTH = (
        "refusing it costs ${penalty_usd:.2f} and its {vms:.2f} VMs ${rent_usd:.2f}; {change}"
    )
    CAPACITY_PROMISED = (
        "its deadline needs {containers:.0f} containers, and {free:.0f} of {slots:.0f} are not"
        " reserved; {change}"
    )
    PROMISED = "{containers:.0f} containers are reserved for it until it ends"
    LIKELY = (
        "no promise fits, and after the work ahead of it, it is likely done in {needs_s:.0f} s; its"
        " deadline leaves {left_s:.0f} s"
    )
    # Why VMs are rented and given back while jobs run.
    VMS_RENTED = (
        "{vms:.0f} VMs are rented for it for ${rent_usd:.2f}, less than the ${penalty_usd:.2f} that"
        " refusing it costs; ready at {at_s:.0f} s"
    )
    VMS_COMING = (
        "VMs that are already rented have room for it; its share of the rent is ${rent_usd:.2f},"
        " less than the ${penalty_usd:.2f} that refusing it costs; ready at {at_s:.0f} s"
    )
    RENTED_LATER = (
        "{vms:.0f} more VMs would do for ${rent_usd:.2f}; they are rented when it cannot wait for"
        " free containers without needing more"
    )
    RENTED_FOR = "{vms:.0f} VMs are rented for {jobs}, for ${hour_usd:.2f} an hour each"
    VMS_AT_MOST = (
        "its deadline needs {vms:.0f} more VMs, and {left:.0f} more may be rented"
        " (capacity.vms_max); {change}"
    )
    RENT_NOT_WORTH = (
        "the {vms:.0f} more VMs that its deadline needs bring its rent to ${rent_usd:.2f}, and"
        " refusing it costs ${penalty_usd:.2f}; {change}"
    )
    VM_UNNEEDED = "the promised jobs need {needed:.0f} of {vms:.0f} VMs"
    NO_NODE = "no node is up"
    NODES_CORDONED = "every node is cordoned, the last one of {node}: {why}"
    NODES_REST = "every node rests after a fault, the last one of {node}: {fault}"
    NO_SLOT_KIND = "no node has a {kind} slot"
    SLOTS_BUSY = "all {slots:.0f} {kind} slots are busy"
    TO_REPORT = (
        "all {slots:.0f} {kind} slots are busy, or empty until the next heartbeat of their node"
        " (heartbeat_s); its tasks take {mean_s:.2g} s"
    )
    AWAITS_HEARTBEAT = (
        "a {kind} slot is free on {nodes:.0f} of {up:.0f} nodes; each starts its share of the tasks"
        " at its next heartbeat (heartbeat_s)"
    )
    LOANS_AT_HEARTBEAT = (
        "all {slots:.0f} {kind} slots are busy, {lent:.0f} of at most {lendable:.0f} {kind}s run in"
        " borrowed {other} slots, and a {other} slot is free on {nodes:.0f} of {up:.0f} nodes; each"
        " lends it at its next heartbeat (heartbeat_s)"
    )
    LOANS_TO_REPORT = (
        "all {slots:.0f} {kind} slots are busy, or empty until the next heartbeat of their node"
        " (heartbeat_s), and {lent:.0f} of at most {lendable:.0f} {kind}s run in borrowed {other}"
        " slots; its tasks take {mean_s:.2g} s"
    )
    HELD_EARLY = (
        "all {slots:.0f} {kind} slots are busy; tasks that started early hold {held:.0f} of them"
        " and wait for {left:.0f} tasks of {next} (slowstart)"
    )
    LOANS_BUSY = (
        "all {slots:.0f} {kind} slots are busy, and {lent:.0f} of at most {lendable:.0f} {kind}s"
        " run in borrowed {other} slots"
    )
    LOANS_DO_NOT_FIT = (
        "all {slots:.0f} {kind} slots are busy, and no node with a free {other} slot has the free"
        " resources that one of its tasks needs"
    )
    BEHIND_IN_LINE = "{ahead:.0f} jobs ({tasks:.0f} tasks) are ahead of it in the queue"
    POOL_OVER_SHARE = "its pool runs {running:.0f} tasks and {pools:.0f} pools are ahead of it"
    JOB_OVER_SHARE = "it runs {running:.0f} containers and {jobs:.0f} jobs are ahead of it"
    GOALS_FIRST = (
        "{jobs:.0f} jobs with waiting tasks come first, because their deadlines can be kept"
    )
    EARLY_LIMIT = (
        "it reads from tasks that are not done, and such tasks hold as many containers as they may:"
        " {most:.0f}"
    )
    NEEDS_TOGETHER = (
        "its {tasks:.0f} tasks start together, and {free:.0f} of {slots:.0f} slots are free"
    )
    UNITS_DO_NOT_FIT = (
        "its next task needs {units:g} containers, and no node has more than {free:g} free"
    )
    TURN_DOES_NOT_FIT = (
        "it is the turn of {next}, whose next task needs {units:g} containers, and no node has more"
        " than {free:g} free"
    )
    RESERVED_FROM = (
        "its next {tasks:.0f} tasks start together, and {free:.0f} of {slots:.0f} slots are free;"
        " it has a reservation for {at_s:.0f} s"
    )
    AWAITS_UNKNOWN = (
        "its {tasks:.0f} tasks start together, and jobs of unknown length hold {held:.0f} of"
        " {slots:.0f} slots, the first of them {job}"
    )
    WOULD_DELAY = (
        "{free:.0f} of {slots:.0f} slots are free, and its {tasks:.0f} tasks would delay {next},"
        " which has a reservation for {at_s:.0f} s"
    )
    NO_FIT = "no node has the free resources that one of its tasks needs"
    CONTAINERS_PROMISED = "the free containers are reserved for {jobs:.0f} jobs"
    USED_MORE = "{queue} used {over} more than it paid for; {next} is owed {owed}"
    USED_MORE_THAN_NEXT = "{queue} used {over} more than it paid for; {next}, the next, {owed} more"
    OWED_LESS = "it is the turn of {next}; {queue} is owed {over}"
    RUNS_MORE = "{queue} runs {running} units, more for its weight than {next}, the next"
    RIVAL_BELOW_MIN = "{next} is below its minimum share of {units} units"
    QUEUE_AT_MAX = "{queue} is at its maximum share of {units} units"
    NEEDS_QUOTA = (
        "its {tasks:.0f} tasks are admitted together, and {held:.0f} of the {units} containers of"
        " {queue} are held"
    )
    QUOTA_RESERVED = (
        "its {tasks:.0f} tasks are admitted together, and what is free is kept for a job ahead of"
        " it; {queue} would have to borrow"
    )
    USER_AT_LIMIT = (
        "its user holds {held:.0f} containers, the limit of one user in {queue} (user-limit-factor,"
        " minimum-user-limit-percent); {free:.0f} of {slots:.0f} containers are free"
    )
    JOBS_AT_MAX = "{queue} runs {running:.0f} jobs, as many as may run at once"
    MASTERS_AT_MAX = (
        "{queue} runs {running:.0f} jobs, and their application masters may hold {share:g} % of its"
        " containers (maximum-am-resource-percent, maxAMShare)"
    )
    EARLIER_FIRST = "{jobs:.0f} jobs of {queue} arrived before it"
    POOL_AT_CAP = "its pool is at its cap of {cap:.0f} {kind} slots"
    BARRIER = "{left:.0f} tasks of the previous phase are not done"
    NOT_CHOSEN = "policy {policy} has not chosen it for a free slot"
    LOCALITY_WAIT = "it waits up to {wait_s:.1f} s more for a node that holds its data"
    RAMP = "its reduces hold {running:.0f} containers, their limit while maps are left"
    AWAITS_CYCLE = "the next control cycle is at {at_s:g} s, and it takes part from then on"
    RESOURCE_SHORT = (
        "{resource} is short on {short:.0f} of {nodes:.0f} nodes; it has {slots:.0f} {kind} slots"
    )
    RESOURCE_SHORT_FOR_GOAL = (
        "{resource} is short on {short:.0f} of {nodes:.0f} nodes; it has {slots:.0f} {kind} slots"
        " and its goal at {goal_at_s:g} s needs {needed:.0f}"
    )
    ROOM_AT_CYCLE = (
        "its {slots:.0f} {kind} slots are elsewhere or in use; {room:.0f} of {nodes:.0f} nodes have"
        " room, which the control cycle at {at_s:g} s gives out"
    )
    GOAL_PAST = (
        "{resource} is short on {short:.0f} of {nodes:.0f} nodes; its goal at {goal_at_s:g} s has"
        " passed, and it has {slots:.0f} of the {needed:.0f} {kind} slots that it could use"
    )
    GOAL_YIELDS = (
        "its goal at {goal_at_s:g} s cannot be met, so it yields to jobs whose goal can; it has"
        " {slots:.0f} {kind} slots, and {resource} is short on {short:.0f} of {nodes:.0f} nodes"
    )
    # Pools of VMs, of which a job has some to itself.
    OWN_VMS = "it has {vms:.0f} VMs of {type} to itself"
    OWN_VMS_BUSY = "all slots of its {vms:.0f} VMs of {type} are busy"
    VMS_BOOT = "its VMs boot until {at_s:g} s"
    VMS_RESERVED = "it has a reservation for {vms:.0f} VMs of {type} from {at_s:g} s on"
    VMS_RESERVED_LATE = (
        "it can no longer meet its deadline (the least that would have been accepted: {least}), and"
        " has a reservation for {vms:.0f} VMs of {type} from {at_s:g} s on"
    )
    VMS_AWAITED = "no VMs are reserved for it before the reservation windows end"
    VMS_LATE = (
        "it can no longer meet its deadline (the least that would have been accepted: {least}), and"
        " gets VMs when other jobs leave some free"
    )
    VMS_TOO_SLOW = (
        "no cluster of the pools meets its deadline, even with all VMs idle; the least deadline"
        " that would be accepted: {least}"
    )
    VMS_BUSY = (
        "no VMs are free for it at its arrival; the least deadline that would be accepted with"
        " waiting: {least}"
    )
    # Why a running attempt gets no second copy.
    COPIES_OFF = "speculation is off; speculation=late copies slow tasks"
    NO_COPIES = "policy {policy} copies no tasks"
    BEING_KILLED = "it is being killed"
    IS_COPY = "it is the second copy"
    HAS_COPY = "its second copy, attempt {attempt:.0f}, runs on {node}"
    COUNTED_TOGETHER = "it counts {alike:.0f} tasks of equal length as one"
    FETCHES_EARLY = (
        "its last {running:.0f} tasks started early: they fetch, and wait for {left:.0f} tasks of"
        " the previous phase"
    )
    AWAITS_INPUT = "it waits for {left:.0f} tasks of the previous phase"
    OWN_TASKS_FIRST = "its job still has {waiting:.0f} {kind} tasks to start"
    TOO_YOUNG = "it is judged when it has run for {age_s:.1f} s (min_age_s)"
    COPIES_AT_CAP = "as many copies run as spec_cap allows: {most:.0f}"
    NOT_SLOW = (
        "its rate of {rate:.3g} per second is not below {bound:.3g}, the {percentile:g}th"
        " percentile of its phase (slow_task)"
    )
    OTHERS_FIRST = "waiting tasks of other jobs come first (sepb)"
    NO_OTHER_NODE = "no other node is up"
    NODES_SLOW = (
        "every other node is below the {percentile:g}th percentile of the progress of nodes"
        " (slow_node)"
    )
    NO_SLOT_FOR_COPY = "no node that may run a copy has a free slot for a {kind}"
    COPY_AT_LINE = "every node that may run a copy is at its balance line for {kind} tasks"
    COPY_DUE = "a copy starts at the next decision"
    ALL_RUNNING = "no task waits: its last {running:.0f} tasks are running"
    ENDED = "it has ended"

    __hash__ = object.__hash__  # members are singletons; see SlotKind


class Reason(NamedTuple):
    """A code and its numbers, in the order of the text; as a tuple, or made when they are read."""

    code: ReasonCode
    numbers: Iterable[tuple[str, float | str]] = ()

    def text(self) -> str:
        """The reason as a sentence part for people.

        >>> Reason(ReasonCode.SLOTS_BUSY, (("slots", 57), ("kind", "map"))).text()
        'all 57 map slots are busy'
        >>> Reason(ReasonCode.BEHIND_IN_LINE, (("ahead", 1), ("tasks", 24))).text()
        '1 job (24 tasks) is ahead of it in the queue'
        >>> numbers = (("tasks", 1), ("free", 0), ("slots", 4))
        >>> Reason(ReasonCode.NEEDS_TOGETHER, numbers).text()
        'it needs 1 slot, and 0 of 4 slots are free'
        """
        return _agreeing(self.code.value.format_map(dict(self.numbers)))


def _agreeing(text: str) -> str:
    """The text with nouns and verbs that agree with a count of 1."""
    text = _ONE_ARE.sub(r"\1 is", _ONE.sub(r"1 \1", text))
    return _ONE_TOGETHER.sub("it needs 1 slot", text)
