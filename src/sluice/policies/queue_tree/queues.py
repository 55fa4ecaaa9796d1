"""The queues as they are now: what each runs, and which of its jobs wait."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sluice.core.entries import JobEntry, PhaseEntry
from sluice.core.indexes.ranking import Ranking
from sluice.model.ids import JobId
from sluice.model.queue_tree import AmountKind, ConfiguredQueue, LeafOrder, QueueAmount
from sluice.model.queues import Pool, Queue
from sluice.model.slot_kind import SlotKind

TINY = 1e-9  # guarantees are rounded


class QueueState:
    """One queue. guarantee, limit: containers.  running: of it and of all queues below.

    index: order of definition, the last tie-breaker.
    """

    __slots__ = ("children", "guarantee", "index", "leaf", "limit", "parent", "queue", "running")

    def __init__(self, queue: ConfiguredQueue, parent: QueueState | None, index: int) -> None:
        self.queue = queue
        self.parent = parent
        self.index = index
        self.guarantee = 0.0
        self.limit = math.inf
        self.running = 0
        self.children: list[QueueState] = []
        self.leaf = LeafState(queue)
        if parent is not None:
            parent.children.append(self)

    def line(self) -> Iterator[QueueState]:
        """The queue itself, then those above it."""
        queue: QueueState | None = self
        while queue is not None:
            yield queue
            queue = queue.parent

    @property
    def has_room(self) -> bool:
        """Whether one more container stays within its maximum; of one above 0, one is allowed."""
        return self.limit > 0 and self.running + 1 <= max(1.0, self.limit) + TINY

    @property
    def masters_max(self) -> int | None:
        """How many applications may have a master at once; None for no limit.

        YARN's rules: of the most that the queue could have now, rounded up, or of its fair share;
        the first application of a queue always begins.
        """
        share = self.queue.masters_share
        if share is None:
            return None
        if self.queue.masters_of_guarantee:
            return max(1, int(share * self.guarantee + TINY))
        *_, root = self.line()
        left = root.limit - (root.running - self.running)
        return max(1, math.ceil(share * max(self.guarantee, min(self.limit, left)) - TINY))

    def may_begin(self, job: JobEntry) -> bool:
        """Whether the job runs already, or one more may run."""
        begun = self.leaf.begun
        if not self.leaf.counts_jobs or job.job_id in begun:
            return True
        limits = (self.queue.jobs_max, self.masters_max)
        return all(most is None or len(begun) < most for most in limits)

    @property
    def place(self) -> tuple[int, float, float, int]:
        """The order among siblings: below the minimum first, then the least for its guarantee.

        Of equal ones the larger is first, as in CapacityScheduler.
        """
        ratio = self.running / self.guarantee if self.guarantee else math.inf
        # 12 of 12.6 containers and 8 of 8.4 are equal, also where floats say otherwise.
        return (
            int(self.running >= self.queue.least), round(ratio, 9), -self.guarantee, self.index,
        )  # fmt: skip


class LeafState:
    """The jobs of a queue. waiting: jobs with a task that can start.

    by_user: containers of each user.  begun: jobs that have begun, where their number counts.
    """

    __slots__ = ("begun", "by_user", "counts_jobs", "queue", "users", "waiting")

    def __init__(self, queue: ConfiguredQueue) -> None:
        self.queue = queue
        is_fair = queue.order is LeafOrder.FAIR
        self.waiting: Ranking[JobEntry] = Ranking(_fair_key if is_fair else _fifo_key)
        self.by_user: dict[str, int] = {}
        self.users: dict[JobId, str] = {}  # of jobs that have not ended
        self.begun: dict[JobId, JobEntry] = {}
        self.counts_jobs = queue.jobs_max is not None or queue.masters_share is not None

    def follow(self, job: JobEntry) -> None:
        """Something about the job has changed."""
        self.waiting.touch(job)
        if job.has_ended:
            self.users.pop(job.job_id, None)
            self.begun.pop(job.job_id, None)
        else:
            self.users[job.job_id] = user_of(job)

    def count(self, job: JobEntry, tasks: int) -> None:
        """The number of running containers of a job has changed."""
        user = user_of(job)
        self.by_user[user] = self.by_user.get(user, 0) + tasks
        if self.counts_jobs and not job.has_ended:
            self.begun[job.job_id] = job

    def key_of(self, job: JobEntry) -> float:
        """The job's place in the order of the queue, before ties."""
        return job.running / job.weight if self.queue.order is LeafOrder.FAIR else 0.0

    def user_room(self, job: JobEntry, guarantee: float, running: int) -> bool:
        """Whether the job's user may have one more container.

        YARN's rule: the larger of an equal share among the active users and the minimum percentage
        of what the queue has (its guarantee, or what it holds beyond that), and at most the
        guarantee times the factor; a container is never split.
        """
        factor = self.queue.user_limit_factor
        percent = self.queue.user_limit_percent
        if factor is None and percent >= 100:  # noqa: PLR2004  # percent
            return True
        has = max(guarantee, running + 1.0)
        users = max(1, len(set(self.users.values())))
        limit = max(has / users, has * percent / 100)
        if factor is not None:
            limit = min(limit, guarantee * factor)
        return self.by_user.get(user_of(job), 0) + 1 <= max(1, math.ceil(limit - TINY))


def user_of(job: JobEntry) -> str:
    """Who owns the job; jobs without an owner belong to one user of their queue."""
    return job.job.customer or ""


def is_waiting(job: JobEntry) -> bool:
    """Whether a task of the job can start."""
    return any(phase.is_queued for phase in job.phases)


def _fifo_key(job: JobEntry) -> tuple[int, ...] | None:
    return (job.release_seq,) if is_waiting(job) else None


def _fair_key(job: JobEntry) -> tuple[float, int] | None:
    return (job.running / job.weight, job.release_seq) if is_waiting(job) else None


def next_phase(job: JobEntry, *, may_start_early: bool) -> PhaseEntry | None:
    """The first phase with a task that may start."""
    for phase in job.phases:
        if phase.is_queued and (may_start_early or phase.has_inputs):
            return phase
    return None


def waiting_tasks(queue: QueueState) -> int:
    """Tasks that could start in a leaf."""
    return sum(
        phase.pending.count
        for job in queue.leaf.waiting.in_order()
        for phase in job.phases
        if phase.is_queued
    )


def jobs_ahead(leaf: QueueState, job: JobEntry) -> int:
    """Jobs that come before a job in its leaf."""
    ahead = 0
    for other in leaf.leaf.waiting.in_order():
        if other is job:
            break
        ahead += 1
    return ahead


def queue_of_pool(pool: Pool, path: str) -> ConfiguredQueue:
    """A queue for a pool that no file names as one, with its weight, minimum and order."""
    return ConfiguredQueue(
        path=path,
        capacity=QueueAmount(AmountKind.WEIGHT, pool.weight),
        least=pool.slots_min(SlotKind.CONTAINER),
        order=LeafOrder(pool.order.value),
    )


def configured_queue(given: Queue, path: str) -> ConfiguredQueue:
    """A queue of the workload file, at a path of the tree."""
    most = given.share_max
    return ConfiguredQueue(
        path=path,
        capacity=QueueAmount(AmountKind.WEIGHT, given.weight),
        maximum=None if most is None else QueueAmount(AmountKind.CONTAINERS, most),
        least=given.share_min,
    )
