"""The four queues of the LTYARN evaluation, simulated: Facebook, Purdue, Hive and Spark.

108 containers of 2 GB, a quarter for each queue. Facebook jobs arrive openly; the others come from
scripts, some of which start the next job a fixed time after the previous one has ended. Lengths are
ours where the thesis has none. Source: ltyarn spec, section 9.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sluice.core.entries import JobEntry
from sluice.core.protocols import ReleaseOrder, ReleasePolicy
from sluice.core.state import ClusterState
from sluice.model.cluster import Cluster, Node
from sluice.model.ids import JobId, NodeId, PoolId
from sluice.model.job import Job, Phase
from sluice.model.lengths import ListedLengths
from sluice.model.queues import Pool, PoolOrder, Queue, QueueOrder
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload

CONTAINERS = 108
QUEUES = ("facebook", "purdue", "hive", "spark")
SHARE = CONTAINERS / len(QUEUES)

# Table 5.3: maps and reduces of a job, and how many such jobs.
FACEBOOK_BINS = (
    (1, 0, 38), (2, 0, 18), (10, 2, 14), (50, 0, 10), (100, 10, 6), (200, 0, 6), (400, 0, 4),
    (400, 30, 2), (800, 60, 2),
)  # fmt: skip
_STRETCH = 3.6  # longer and fewer tasks, with the same work
_SHORT_S = 25.0  # the longest task of Purdue where tasks are short
_PURDUE_MAPS_S, _PURDUE_REDUCES_S = (63.0, 117.0), (151.0, 281.0)
_HIVE_MAPS = (400, 200, 100, 100, 100)

Span = tuple[float, float]
_NOTHING = ReleaseOrder()


@dataclass(frozen=True, slots=True)
class FourQueues:
    """The jobs of one seed. gaps_s: seconds between a job's end and the next, by queue."""

    jobs: tuple[Job, ...]
    gaps_s: Mapping[str, float] = field(default_factory=lambda: {"hive": 5.0, "spark": 30.0})

    def workload(self, *, is_static: bool = False) -> Workload:
        """The jobs on the cluster. is_static: no queue may exceed its share."""
        most = SHARE if is_static else None
        return Workload(
            cluster=Cluster(
                nodes=(Node(node_id=NodeId("node-1"), containers=CONTAINERS),), is_totals=True
            ),
            jobs=self.jobs,
            pools=tuple(_queue(name, most) for name in QUEUES),
        )

    def scripts(self) -> ScriptRelease:
        """Return what starts the jobs of the scripts."""
        return ScriptRelease(self.gaps_s)


def _queue(name: str, most: float | None) -> Pool:
    queue = Queue(queue_id=PoolId(name), order=QueueOrder.FIFO, share_max=most)
    return Pool(pool_id=queue.queue_id, order=PoolOrder.FIFO, queue=queue)


class ScriptRelease(ReleasePolicy):
    """Releases the jobs of a script one after the other: the next a gap after the last one's end.

    gaps_s: by pool; jobs of other pools are released when they arrive.
    """

    name = "scripts"

    def __init__(self, gaps_s: Mapping[str, float]) -> None:
        super().__init__()
        self._gaps_s = gaps_s
        self._last: dict[str, JobEntry] = {}
        self._line: Sequence[JobEntry] = ()  # the jobs that waited when it was asked last
        self._next: list[tuple[str, JobEntry]] = []  # of them, those that may be released, by pool
        self._before: list[JobEntry | None] = []  # that these follow

    def release(
        self, waiting: Sequence[JobEntry], state: ClusterState, now_s: float
    ) -> ReleaseOrder:
        # It is asked at every instant, and hardly ever has another job arrived or been released.
        if waiting is not self._line:
            self._line = waiting
            self._next = list(self._candidates(waiting))
            self._before = [self._last.get(pool) for pool, _ in self._next]
        else:
            for last in self._before:
                if last is None or last.has_ended:
                    break
            else:
                return _NOTHING
        order: list[JobEntry] = []
        wakes: list[float] = []
        for pool, job in self._next:
            ready_s = self._ready_at_s(pool) if pool in self._gaps_s else now_s
            if ready_s is not None and ready_s <= now_s:
                order.append(job)
                self._last[pool] = job
            elif ready_s is not None:
                wakes.append(ready_s)
        return ReleaseOrder(order, min(wakes, default=None))

    def _candidates(self, waiting: Sequence[JobEntry]) -> Iterator[tuple[str, JobEntry]]:
        """The first job of each script, and all jobs that follow none."""
        found: set[str] = set()
        for job in waiting:
            pool = str(job.pool.pool_id)
            if pool not in found:
                yield pool, job
            if pool in self._gaps_s:
                found.add(pool)

    def _ready_at_s(self, pool: str) -> float | None:
        last = self._last.get(pool)
        if last is None:
            return 0.0
        return last.finished_at_s + self._gaps_s[pool] if last.has_ended else None


def four_queues(seed: int) -> FourQueues:
    """The workload of a seed."""
    return _four_queues(seed, _STRETCH, 1.0)


def four_queues_of_short_tasks(seed: int) -> FourQueues:
    """Return the same work in tasks of at most 25 s for Purdue, 11 s on average for Facebook."""
    return _four_queues(seed, 1.0, _SHORT_S / _PURDUE_REDUCES_S[1])


def _four_queues(seed: int, facebook: float, purdue: float) -> FourQueues:
    """facebook, purdue: by how much their tasks are longer, and fewer."""
    draw = random.Random(seed)
    jobs = [*_facebook(draw, facebook), *_purdue(draw, purdue), *_hive(draw), *_spark(draw)]
    return FourQueues(tuple(jobs))


def _facebook(draw: random.Random, stretch: float) -> Iterator[Job]:
    sizes = [(maps, reduces) for maps, reduces, jobs in FACEBOOK_BINS for _ in range(jobs)]
    draw.shuffle(sizes)
    at_s = 0.0
    for number, (maps, reduces) in enumerate(sizes, start=1):
        at_s += draw.expovariate(1 / 14.0)
        stages = [
            [stretch * (3.0 + draw.expovariate(1 / 8.0)) for _ in range(_fewer(tasks, stretch))]
            for tasks in (maps, reduces)
            if tasks
        ]
        yield _job("facebook", number, at_s, stages)


def _fewer(tasks: int, stretch: float) -> int:
    return max(1, round(tasks / stretch))


def _purdue(draw: random.Random, longer: float) -> Iterator[Job]:
    for number in range(5):
        stages = [
            _lengths(draw, 88, _PURDUE_MAPS_S, longer),
            _lengths(draw, 11, _PURDUE_REDUCES_S, longer),
        ]
        yield _job("purdue", number + 1, 180.0 * number, stages)


def _hive(draw: random.Random) -> Iterator[Job]:
    for number in range(25):
        stages = []
        for stage in range(draw.randint(2, 5)):
            maps = _HIVE_MAPS[stage]
            stages += [_lengths(draw, maps, (5.6, 10.4)), _lengths(draw, maps // 8, (14.0, 26.0))]
        yield _job("hive", number + 1, 0.0, stages)


def _spark(draw: random.Random) -> Iterator[Job]:
    for number in range(25):
        stages = [_lengths(draw, 240, (2.1, 3.9)) for _ in range(12)]
        yield _job("spark", number + 1, 30.0, stages)


def _lengths(draw: random.Random, tasks: int, span: Span, longer: float = 1.0) -> list[float]:
    count = max(1, round(tasks / longer))
    return [longer * draw.uniform(*span) for _ in range(count)]


def _job(queue: str, number: int, at_s: float, stages: Sequence[Sequence[float]]) -> Job:
    """A job of stages, each after the one before."""
    return Job(
        job_id=JobId(f"{queue}-{number}"),
        pool=PoolId(queue),
        submitted_at_s=at_s,
        phases=tuple(
            Phase(
                name=f"stage-{index + 1}",
                kind=SlotKind.CONTAINER,
                tasks=len(lengths),
                lengths=ListedLengths(tuple(lengths)),
                after=(index - 1,) if index else (),
            )
            for index, lengths in enumerate(stages)
        ),
    )
