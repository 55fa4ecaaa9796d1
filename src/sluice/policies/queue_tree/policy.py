"""A tree of queues with guarantees and maximums, as YARN's and YuniKorn's schedulers have it.

A free container goes down the tree: at each queue to the child that runs the least for its
guarantee among those with waiting work and room below their maximum. In a leaf the jobs are in the
order of the queue. With preemption, a queue that waits below its guarantee takes containers back
from queues above theirs, the youngest attempts first. Nothing is reserved on nodes, because every
task is one container. In another room than containers the tree says whose turn it is.
Sources: the documents of Hadoop's CapacityScheduler (capacity, maximum-capacity, ordering-policy,
user limits, preemption) and FairScheduler (minimum and weighted shares).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sluice.core.entries import Attempt, JobEntry, PhaseEntry, PoolEntry
from sluice.core.indexes.job_ranking import queued_phases
from sluice.core.offers import Offer
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.model.attempts import AttemptKey
from sluice.model.queue_tree import ROOT, AmountKind, ConfiguredQueue, QueueAmount, QueueTree
from sluice.model.settings import SettingsGroup, number
from sluice.model.slot_kind import SlotKind
from sluice.policies.job_order import JobOrder, Key
from sluice.policies.queue_tree.queues import (
    TINY,
    QueueState,
    configured_queue,
    jobs_ahead,
    next_phase,
    queue_of_pool,
    user_of,
    waiting_tasks,
)
from sluice.policies.rooms.slot_counts import early_tasks, slots_busy

_CONTAINER = SlotKind.CONTAINER
_ALL = QueueAmount(AmountKind.PERCENT, 100.0)


class CapacityQueues(JobOrder):
    """Elastic queues. tree: None to take the pools and queues of the workload."""

    name: ClassVar[str] = "queue-tree"

    @dataclass(frozen=True, kw_only=True)
    class Settings(SettingsGroup):
        """A tree from a configuration file brings its own preemption."""

        preempts_after_s: float | None = number(
            None, "seconds below its guarantee after which a queue preempts (queue-tree)",
            above=0.0, reason="a capacity-scheduler file brings its own; other files have this",
        )  # fmt: skip

    def __init__(self, settings: Any = None, *, tree: QueueTree | None = None) -> None:  # noqa: ANN401  # the type above
        super().__init__(settings)
        self._tree = tree
        self._preempts_after_s: float | None = (
            self.settings.preempts_after_s if tree is None else tree.preempts_after_s
        )

    def attach(self, state: ClusterState) -> None:
        super().attach(state)
        self._nodes_seen = -1
        self._starved_from_s: dict[str, float] = {}
        self._to_kill: dict[AttemptKey, None] = {}
        self._running: dict[str, dict[AttemptKey, Attempt]] = {}
        self._root = QueueState(ConfiguredQueue(path=ROOT, capacity=_ALL), None, 0)
        self._queues: dict[str, QueueState] = {ROOT: self._root}
        self._of_pool: dict[str, QueueState] = {}
        if self._tree is None:
            pools = [entry for entry in state.pools.values() if entry.pool.queue is None]
            for entry in (entry for entry in state.pools.values() if entry.pool.queue):
                self._add_of_file(entry, state)
            for entry in pools:
                self._queue_of(entry)
        else:
            for queue in self._tree.queues:
                added = self._add(queue)
                self._of_pool.setdefault(queue.path, added)
        state.observe(self)
        state.observe_attempts(self)

    def saved(self) -> dict[str, object]:
        return {"starved_from_s": self._starved_from_s, "to_kill": list(self._to_kill)}

    def restored(self, saved: Mapping[str, Any], state: ClusterState) -> None:
        self._starved_from_s = dict(saved["starved_from_s"])
        self._to_kill = {AttemptKey(*key): None for key in saved["to_kill"]}

    @property
    def follows_queues(self) -> bool:
        return self._tree is None

    def queues_changed(self, state: ClusterState) -> None:
        for entry in state.pools.values():
            if entry.pool.queue is not None:
                known = self._add_of_file(entry, state)
                known.queue = configured_queue(entry.pool.queue, known.queue.path)
        self._nodes_seen = -1  # guarantees are worked out again

    # --- the tree ---------------------------------------------------------------------------------

    def _add(self, queue: ConfiguredQueue) -> QueueState:
        parent = self._queues[queue.parent or ROOT]
        added = self._queues[queue.path] = QueueState(queue, parent, len(self._queues))
        self._nodes_seen = -1
        return added

    def _add_of_file(self, entry: PoolEntry, state: ClusterState) -> QueueState:
        """A queue of the workload file, below its parent."""
        known = self._of_pool.get(entry.pool_id)
        if known is not None:
            return known
        given = entry.pool.queue
        assert given is not None
        above = self._root
        if given.parent is not None:
            above = self._add_of_file(state.pools[given.parent], state)
        added = self._add(configured_queue(given, f"{above.queue.path}.{len(self._queues)}"))
        self._of_pool[entry.pool_id] = added
        return added

    def _queue_of(self, entry: PoolEntry) -> QueueState:
        """The leaf of a pool; a pool that no file names gets a queue with its weight."""
        known = self._of_pool.get(entry.pool_id)
        if known is None:
            known = self._add(queue_of_pool(entry.pool, f"{ROOT}.{len(self._queues)}"))
            self._of_pool[entry.pool_id] = known
        return known

    def _resize(self) -> None:
        """Nodes or queues have come or gone."""
        self._nodes_seen = self.state.node_changes
        up = [entry.node for entry in self.state.nodes.values() if entry.is_up]
        total = float(sum(node.slots(_CONTAINER) for node in up))
        tree = self._tree or QueueTree(
            queues=tuple(one.queue for path, one in self._queues.items() if path != ROOT)
        )
        idle = () if tree.idle_count else self._idle()
        for path, (guarantee, limit) in tree.containers(total, idle).items():
            self._queues[path].guarantee = guarantee
            self._queues[path].limit = limit

    def _idle(self) -> frozenset[str]:
        """Queues without a job in them or below them."""
        busy = {
            above.queue.path
            for queue in self._queues.values()
            if queue.leaf.users
            for above in queue.line()
        }
        return frozenset(self._queues.keys() - busy)

    # --- what happens -----------------------------------------------------------------------------

    def touch(self, phase: PhaseEntry) -> None:
        """Keep the queues in step."""
        leaf = self._queue_of(phase.job.pool).leaf
        was_busy = bool(leaf.users)
        leaf.follow(phase.job)
        if self._tree is not None and not self._tree.idle_count and was_busy != bool(leaf.users):
            self._nodes_seen = -1  # the weights of idle queues do not count

    def began(self, attempt: Attempt) -> None:
        """Keep the queues in step."""
        self._count(attempt, attempt.tasks)
        queue = self._queue_of(attempt.phase.job.pool)
        self._running.setdefault(queue.queue.path, {})[attempt.key] = attempt

    def ended(self, attempt: Attempt) -> None:
        """Keep the queues in step."""
        self._count(attempt, -attempt.tasks)
        queue = self._queue_of(attempt.phase.job.pool)
        self._running[queue.queue.path].pop(attempt.key, None)
        self._to_kill.pop(attempt.key, None)

    def _count(self, attempt: Attempt, tasks: int) -> None:
        queue = self._queue_of(attempt.phase.job.pool)
        queue.leaf.count(attempt.phase.job, tasks)
        for one in queue.line():
            one.running += tasks

    # --- what is decided --------------------------------------------------------------------------

    def fill(self, offer: Offer) -> None:
        node = offer.node
        if not node.node.slots(_CONTAINER):
            return  # a node that is limited by its resources alone
        while node.free[_CONTAINER]:
            self._settle()
            phase = self._next()
            if phase is None:
                return
            offer.start(phase, _CONTAINER, self.start_reason(phase))

    def could_use(self, slot_kind: SlotKind, state: ClusterState) -> bool:
        return state.startable > 0  # any slot takes any task

    @property
    def has_any_slot(self) -> bool:
        return True

    def _settle(self) -> None:
        if self._nodes_seen != self.state.node_changes:
            self._resize()

    def _next(self) -> PhaseEntry | None:
        """The phase that gets the next container."""
        found = (self._phase_in(leaf) for leaf in self._leaves(self._root))
        return next((one for one in found if one is not None), None)

    def _leaves(self, queue: QueueState) -> Iterator[QueueState]:
        """The leaves below a queue that may have a container more, in their turns."""
        if not queue.has_room:
            return
        if not queue.children:
            yield queue
        for child in sorted(queue.children, key=_place):
            yield from self._leaves(child)

    def _jobs_in(self, queue: QueueState) -> Iterator[JobEntry]:
        """The jobs of a leaf that may have a container more, in their turns."""
        leaf = queue.leaf
        for job in leaf.waiting.in_order():
            if queue.may_begin(job) and leaf.user_room(job, queue.guarantee, queue.running):
                yield job

    def _phase_in(self, queue: QueueState) -> PhaseEntry | None:
        """The phase of a leaf that gets the next container."""
        may_start_early: bool | None = None
        for job in self._jobs_in(queue):
            phase = next_phase(job, may_start_early=False)
            if phase is None:
                if may_start_early is None:
                    may_start_early = self._may_start_early()
                phase = next_phase(job, may_start_early=True) if may_start_early else None
            if phase is not None:
                return phase
        return None

    def _may_start_early(self) -> bool:
        """Tasks that wait for other tasks hold at most half of the containers of any queue."""
        rooms = [queue.limit for queue in self._queues.values() if not queue.children]
        return early_tasks(self.state) < min([self.state.slots[_CONTAINER], *map(int, rooms)]) // 2

    # --- as an order of jobs for other rooms -----------------------------------------------------

    def candidates(self, kind: SlotKind) -> Iterator[PhaseEntry]:
        self._settle()
        for leaf in self._leaves(self._root):
            for job in self._jobs_in(leaf):
                yield from queued_phases(job, kind)

    def job_place(self, job: JobEntry, kind: SlotKind) -> Key:
        """The places of its queues from the top down, then its own in the leaf."""
        self._settle()
        leaf = self._queue_of(job.pool)
        above = [queue.place for queue in reversed(list(leaf.line()))]
        return (*above, (leaf.leaf.key_of(job), job.release_seq))

    def start_reason(self, phase: PhaseEntry) -> Reason:
        path = self._queue_of(phase.job.pool).queue.path
        return Reason(ReasonCode.LEAST_FOR_GUARANTEE, (("queue", path),))

    # --- preemption -------------------------------------------------------------------------------

    def kills(self, state: ClusterState, now_s: float) -> Iterable[tuple[AttemptKey, Reason]]:
        after_s = self._preempts_after_s
        if after_s is None or len(self._queues) == 1:  # there is no queue yet
            return
        self._settle()
        free = sum(entry.free[_CONTAINER] for entry in state.nodes.values() if entry.is_up)
        for path in self._starved(now_s):
            queue = self._queues[path]
            if now_s < self._starved_from_s[path] + after_s - TINY:
                continue
            owed = int(min(queue.guarantee - queue.running + TINY, waiting_tasks(queue)))
            for attempt in self._victims(owed - free - len(self._to_kill)):
                self._to_kill[attempt.key] = None
                yield attempt.key, Reason(ReasonCode.PREEMPTED, (("queue", path),))

    def _starved(self, now_s: float) -> list[str]:
        """Leaves below their guarantee with work that waits; since when is kept."""
        paths = [
            path
            for path, queue in self._queues.items()
            if not queue.children
            and queue.running + 1 <= queue.guarantee + TINY
            and self._phase_in(queue) is not None
        ]
        known = self._starved_from_s
        self._starved_from_s = {path: known.get(path, now_s) for path in paths}
        return paths

    def _victims(self, wanted: int) -> Iterator[Attempt]:
        """Attempts of queues above their guarantee, the youngest first."""
        left = wanted
        over = [
            queue
            for queue in self._queues.values()
            if not queue.children and queue.queue.is_preemptible
        ]
        for queue in sorted(
            over, key=lambda one: (-one.running / (one.guarantee or TINY), one.index)
        ):
            spare = int(queue.running - queue.guarantee + TINY)
            attempts = reversed(list(self._running.get(queue.queue.path, {}).values()))
            for attempt in attempts:
                if left <= 0 or spare <= 0:
                    break
                if attempt.key not in self._to_kill:
                    yield attempt
                    left -= attempt.tasks
                    spare -= attempt.tasks

    def wake_at_s(self, state: ClusterState, now_s: float) -> float | None:
        after_s = self._preempts_after_s or 0.0  # without it no queue is starved
        wakes = [from_s + after_s for from_s in self._starved_from_s.values()]
        return min((at_s for at_s in wakes if at_s > now_s), default=None)

    def holds_back(self, state: ClusterState, now_s: float) -> bool:
        return False

    # --- reports ----------------------------------------------------------------------------------

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        self._settle()
        leaf = self._queue_of(phase.job.pool)
        for queue in leaf.line():
            if queue is not self._root and not queue.has_room:
                numbers = (("queue", queue.queue.path), ("units", f"{queue.limit:g}"))
                return Reason(ReasonCode.QUEUE_AT_MAX, numbers)
        if not leaf.may_begin(phase.job):
            return _too_many(leaf)
        if not leaf.leaf.user_room(phase.job, leaf.guarantee, leaf.running):
            slots = state.slots[_CONTAINER]
            facts = (
                ("queue", leaf.queue.path), ("held", leaf.leaf.by_user[user_of(phase.job)]),
                ("free", slots - state.busy), ("slots", slots),
            )  # fmt: skip
            return Reason(ReasonCode.USER_AT_LIMIT, facts)
        ahead = jobs_ahead(leaf, phase.job)
        if ahead:
            return Reason(ReasonCode.EARLIER_FIRST, (("jobs", ahead), ("queue", leaf.queue.path)))
        return slots_busy(state, _CONTAINER)

    def report(self) -> Mapping[str, object]:
        if self._tree is None:
            return {}
        self._settle()
        return {
            "queues": {
                path: {"guaranteed": queue.guarantee, "maximum": queue.limit}
                for path, queue in self._queues.items()
                if path != ROOT
            }
        }


def _place(queue: QueueState) -> tuple[int, float, float, int]:
    return queue.place


def _too_many(leaf: QueueState) -> Reason:
    """Why one more job of a queue may not begin."""
    numbers = (("queue", leaf.queue.path), ("running", len(leaf.leaf.begun)))
    most = leaf.masters_max
    if most is None or len(leaf.leaf.begun) < most:
        return Reason(ReasonCode.JOBS_AT_MAX, numbers)
    share = 100 * (leaf.queue.masters_share or 0.0)
    return Reason(ReasonCode.MASTERS_AT_MAX, (*numbers, ("share", share)))
