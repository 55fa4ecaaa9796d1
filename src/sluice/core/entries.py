"""The parts of the cluster state: jobs, phases, pools, nodes and attempts, as they are now.

* A `PhaseEntry` holds its waiting, running and done tasks. It is *startable* once enough of the
  phases before it are done, and is then in the `Backlog` of its kind while tasks wait.
* A `Tally` counts waiting and running tasks of one kind for one owner (a pool; the cluster).
* A `NodeEntry` holds its free slots as intervals: the lowest free slot is always used first.
  Where slots of one kind are lent to tasks of another that need more or less, a slot is divided
  into units (see `SlotUnits`), and what is free is counted in those.
"""

from __future__ import annotations

import heapq
import math
from array import array
from collections.abc import Iterator, Mapping
from typing import Final

from sluice.core.commands import Interval, Launch
from sluice.core.events import AttemptKey, Usage
from sluice.core.open_nodes import OpenNodes
from sluice.core.pending import PendingTasks
from sluice.core.ranking import in_heap_order
from sluice.core.reasons import Reason
from sluice.core.transitions import JOB_ENDS, AttemptState, JobState
from sluice.model.cluster import SLOTS_MAX, Node, Pool
from sluice.model.ids import JobId, PoolId
from sluice.model.job import Job, Phase, SlotKind
from sluice.model.resources import NOTHING, RESOURCE_NAMES, Resources

_NEVER: Final = math.nan
# A look-up on the Enum itself is slow enough to show in a simulation.
_MAP: Final = SlotKind.MAP
_REDUCE: Final = SlotKind.REDUCE
_CONTAINER: Final = SlotKind.CONTAINER

# What a task of a kind takes; a slot of that kind is as wide. A reduce of 2 units takes two map
# slots of 1 unit each, and two maps share a reduce slot. A container is one unit, whatever runs.
SlotUnits = Mapping[SlotKind, int]
WHOLE_SLOTS: Final[SlotUnits] = dict.fromkeys(SlotKind, 1)


class Attempt:
    """One try of one task (or of `launch.tasks` alike ones), from launch to end."""

    # Plain attributes with defaults on the class: most attempts never set the rare ones.
    state = AttemptState.LAUNCHED
    finished_at_s: float = _NEVER
    shuffled_at_s: float = _NEVER
    progress: float = 0.0
    progress_at_s: float = _NEVER  # when that was reported
    width: float = 1.0  # slots that each of its tasks holds; other than 1 only in borrowed ones
    usage: Usage | None = None
    outputs: tuple[str, ...] = ()
    detail: str = ""
    kill_reason: Reason | None = None  # why it was asked to end
    is_moot: bool = False  # its task is done, or its job has ended: the outcome counts no more
    is_undone: bool = False  # it was done, and its output is lost
    reserved: Resources | None = None

    def __init__(
        self, launch: Launch, phase: PhaseEntry, node: NodeEntry, started_at_s: float
    ) -> None:
        self.launch = launch
        # What every start and end reads is unpacked once.
        self.key: AttemptKey = launch[0]
        self.tasks: int = launch[1]
        self.slot_kind: SlotKind = launch[3]
        self.slots: tuple[Interval, ...] = launch[4]
        self.phase = phase
        self.node = node
        self.started_at_s = started_at_s


class PhaseEntry:
    """One phase of one job, as it is now."""

    __slots__ = (
        "causes", "copies", "done", "enough", "failures", "index", "is_open", "is_queued", "job",
        "job_id", "kind", "log_number", "lost", "needed_by", "pending", "phase", "retries",
        "running", "siblings", "tasks",
    )  # fmt: skip

    def __init__(self, job: JobEntry, index: int, pending: PendingTasks, slowstart: float) -> None:
        self.job = job
        self.job_id = job.job_id
        self.index = index
        self.phase: Phase = job.job.phases[index]
        self.tasks = self.phase.tasks
        # Done tasks after which later phases may start; 1e-9 keeps 0.07 * 100 from asking for 8.
        self.enough = math.ceil(slowstart * self.tasks - 1e-9)
        self.kind: SlotKind = self.phase.kind
        self.pending = pending
        self.running = 0
        self.done = 0
        self.is_open = False  # its tasks may start
        self.is_queued = False  # it is in its backlogs
        self.needed_by: list[PhaseEntry] = []
        self.siblings: tuple[PhaseEntry, ...] = ()  # phases of its job of its kind, itself too
        self.retries: dict[int, int] = {}  # last attempt number, where above 1
        self.failures: dict[int, int] = {}
        self.causes: dict[str, set[int]] = {}  # exceptions of first attempts, and their tasks
        self.copies: dict[int, list[Attempt]] = {}  # tasks with more than one running attempt
        # Rows of done attempts whose output is gone, while nothing needs it.
        self.lost: list[int] = []
        self.log_number = -1  # in the record of attempts, once one has ended

    @property
    def name(self) -> str:
        return self.phase.name

    @property
    def is_done(self) -> bool:
        return self.done == self.tasks

    @property
    def has_inputs(self) -> bool:
        """All phases before it are done, so that what its tasks read is there."""
        phases = self.job.phases
        return all(phases[index].is_done for index in self.phase.after)

    @property
    def line_key(self) -> tuple[int, int]:
        """Place in the queue of released work: by release, then by phase."""
        return (self.job.release_seq, self.index)

    @property
    def left_before(self) -> int:
        """Tasks of earlier phases that must still end before this one may start."""
        phases = self.job.phases
        return sum(max(0, phases[index].enough - phases[index].done) for index in self.phase.after)


class Backlog:
    """Startable phases with waiting tasks, in the order of their release."""

    __slots__ = ("_added", "_heap")

    def __init__(self) -> None:
        # The running number keeps two entries of one phase from being compared by phase.
        self._heap: list[tuple[tuple[int, int], int, PhaseEntry]] = []
        self._added = 0

    def add(self, phase: PhaseEntry) -> None:
        self._added += 1
        heapq.heappush(self._heap, (phase.line_key, self._added, phase))

    def phases(self) -> set[PhaseEntry]:
        """All of them, in no order."""
        return {entry[2] for entry in self._heap if entry[2].is_queued}

    def first(self) -> PhaseEntry | None:
        """The first phase; phases with nothing left are dropped on the way."""
        heap = self._heap
        while heap:
            phase = heap[0][2]
            if phase.is_queued:
                return phase
            heapq.heappop(heap)
        return None

    def in_order(self) -> Iterator[PhaseEntry]:
        """All of them in order; costs only what is consumed. Change nothing meanwhile."""
        first = self.first()
        if first is None:
            return iter(())
        # Usually there is one alone, if each job has its own pool.
        return self._walk() if len(self._heap) > 1 else iter((first,))

    def _walk(self) -> Iterator[PhaseEntry]:
        last: PhaseEntry | None = None
        for _, _, phase in in_heap_order(self._heap):
            # A phase that left and came back is in the heap twice.
            if phase.is_queued and phase is not last:
                last = phase
                yield phase


class JobEntry:
    """One job, as it is now."""

    __slots__ = (
        "alike", "finished_at_s", "job", "job_id", "phases", "phases_left", "pool", "reason",
        "decisions", "ended_at_s", "promised", "release_seq", "released_at_s", "seniority", "seq",
        "started_at_s", "state", "verdict", "weight",
    )  # fmt: skip

    def __init__(self, job: Job, seq: int, pool: PoolEntry, *, alike: bool) -> None:
        self.job = job
        self.job_id: JobId = job.job_id
        self.weight: float = job.weight
        self.seq = seq  # order of submission
        self.seniority = (job.submitted_at_s, str(job.job_id))  # ties are broken by it
        self.pool = pool
        self.alike = alike
        self.state = JobState.DEFERRED
        self.phases: list[PhaseEntry] = []
        self.phases_left = len(job.phases)
        self.release_seq = -1
        self.released_at_s = _NEVER
        self.started_at_s = _NEVER
        self.ended_at_s = 0.0  # the last end of a task so far; it may be reported later
        self.finished_at_s = _NEVER
        self.reason = ""
        self.promised = 0  # containers reserved for it until it ends
        self.verdict: Reason | None = None  # why it was deferred or refused
        self.decisions: list[tuple[float, str, Reason]] = []  # of admission; see `decided`

    @property
    def has_ended(self) -> bool:
        return self.state in JOB_ENDS

    @property
    def running(self) -> int:
        """Tasks of all its phases that run."""
        return sum([phase.running for phase in self.phases])

    @property
    def held(self) -> int:
        """Containers kept for it: those it was promised, as far as it has tasks for them."""
        return min(self.promised, max([phase.tasks - phase.done for phase in self.phases]))

    def decided(self, at_s: float, what: str, reason: Reason | None) -> None:
        """Note an answer of admission, unless it only repeats the last one."""
        if reason is None:
            return
        last = self.decisions[-1] if self.decisions else None
        if last is None or last[1] != what or last[2].code is not reason.code:
            self.decisions.append((at_s, what, reason))


class PoolEntry:
    """One pool, as it is now."""

    __slots__ = ("backlogs", "jobs", "pool", "seq")

    def __init__(self, pool: Pool, seq: int) -> None:
        self.pool = pool
        self.seq = seq
        self.jobs: dict[JobId, JobEntry] = {}  # released, not ended
        self.backlogs: dict[SlotKind, Backlog] = {kind: Backlog() for kind in SlotKind}

    @property
    def pool_id(self) -> PoolId:
        return self.pool.pool_id


class NodeEntry:
    """One node, as it is now.

    A node serves typed slots or containers at one time, not both: any slot can be a container.
    """

    __slots__ = (
        "containers", "done", "fault", "fault_at_s", "faults", "free", "index", "is_up",
        "log_number", "node", "node_id", "open_nodes", "rack", "reserved", "rests_until_s", "room",
        "typed", "units",
    )  # fmt: skip

    def __init__(
        self,
        node: Node,
        index: int,
        units: SlotUnits = WHOLE_SLOTS,
        open_nodes: OpenNodes | None = None,
    ) -> None:
        self.node = node
        self.open_nodes = open_nodes or OpenNodes()  # where it is entered while it has room
        self.units = units
        self.node_id = node.node_id
        self.rack = node.rack
        self.index = index
        self.is_up = True
        self.faults = 0  # in a row; see `node_faults`
        self.fault = ""  # the last one, and when it was
        self.fault_at_s = _NEVER
        self.rests_until_s = -math.inf  # it is offered no work before
        self.reserved = NOTHING
        self.done = array("I")  # rows of attempts whose output is here and may still be needed
        self.log_number = -1  # in the record of attempts, once one has ended here
        # A node without any slots is limited by its resources alone.
        self.containers = node.slots(_CONTAINER) or SLOTS_MAX
        self.free = {kind: self.all_units(kind) for kind in SlotKind}
        self.room: dict[SlotKind, list[Interval]] = {
            kind: [(0, free)] if free else [] for kind, free in self.free.items()
        }
        self.typed = self.free[_MAP] + self.free[_REDUCE]  # units of all its typed slots
        self.enter_room()

    def all_units(self, kind: SlotKind) -> int:
        """Units of all slots of a kind, free or not."""
        if kind is _CONTAINER:
            return self.containers
        return self.node.slots(kind) * self.units[kind]

    @property
    def is_set_aside(self) -> bool:
        """Whether it gets no more work, because of its faults."""
        return self.rests_until_s == math.inf

    def enter_room(self) -> None:
        """Enter its free slots in the index of nodes with room; a lost node has none.

        Called only when a kind runs out of free slots or when its first slot is taken or freed:
        between these instants the entries cannot change, and most starts and ends fall between.
        """
        free = self.free
        containers = free[_CONTAINER]
        if not self.is_up:
            self.open_nodes.update(self.index, 0, 0, 0)
        elif containers != self.containers:
            self.open_nodes.update(self.index, 0, 0, containers)
        else:
            maps, reduces = free[_MAP], free[_REDUCE]
            in_use = maps + reduces != self.typed
            self.open_nodes.update(self.index, maps, reduces, 0 if in_use else containers)

    def is_mixed(self, kind: SlotKind) -> bool:
        """Whether a slot of this kind would be used together with slots of the other manner."""
        free = self.free
        if kind is not _CONTAINER:
            return free[_CONTAINER] != self.containers
        return free[_MAP] + free[_REDUCE] != self.typed

    def take_slots(self, kind: SlotKind, wanted: int) -> tuple[Interval, ...]:
        """Take the lowest `wanted` free units; the caller has checked that they are there."""
        before = self.free[kind]
        self.free[kind] = before - wanted
        if before == wanted or self._is_idle(kind, before):
            self.enter_room()
        heap = self.room[kind]
        start, length = heap[0]
        if length == wanted:
            return (heapq.heappop(heap),)
        if length > wanted:
            heapq.heapreplace(heap, (start + wanted, length - wanted))
            return ((start, wanted),)
        return self._take_scattered(heap, wanted)

    def _take_scattered(self, heap: list[Interval], wanted: int) -> tuple[Interval, ...]:
        taken: list[Interval] = []
        while wanted:
            start, length = heapq.heappop(heap)
            if length > wanted:
                heapq.heappush(heap, (start + wanted, length - wanted))
                length = wanted
            wanted -= length
            if taken and sum(taken[-1]) == start:
                # Neighbours join again, so that intervals do not crumble for ever.
                taken[-1] = (taken[-1][0], taken[-1][1] + length)
            else:
                taken.append((start, length))
        return tuple(taken)

    def give_back(self, kind: SlotKind, slots: tuple[Interval, ...]) -> None:
        """Units that were taken are free again."""
        before = after = self.free[kind]
        for interval in slots:
            after += interval[1]
            heapq.heappush(self.room[kind], interval)
        self.free[kind] = after
        if not before or self._is_idle(kind, after):
            self.enter_room()

    def _is_idle(self, kind: SlotKind, free: int) -> bool:
        """Whether no slot of the manner that a kind belongs to would be taken with so many free."""
        if kind is _CONTAINER:
            return free == self.containers
        return free + self.free[_REDUCE if kind is _MAP else _MAP] == self.typed

    def used(self, kind: SlotKind) -> int:
        """Units of a kind of slot in use."""
        return self.all_units(kind) - self.free[kind]

    def fits(self, wanted: Resources) -> bool:
        """Whether the resources are free; a capacity of 0 throughout means unlimited."""
        capacity = self.node.capacity
        return capacity.is_zero or all(
            taken <= most * (1 + 1e-9)
            for taken, most in zip(
                (self.reserved + wanted).amounts(), capacity.amounts(), strict=True
            )
        )

    def reserve(self, wanted: Resources) -> None:
        """Set resources aside."""
        self.reserved += wanted

    def unreserve(self, held: Resources) -> None:
        """Resources that were set aside are free again."""
        left = zip(self.reserved.amounts(), held.amounts(), strict=True)
        # Rounding may leave a hair below zero.
        self.reserved = Resources(
            **{
                name: max(0.0, amount - gone)
                for name, (amount, gone) in zip(RESOURCE_NAMES, left, strict=True)
            }
        )
