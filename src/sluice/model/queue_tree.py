"""Queue trees of other schedulers: what their configuration files say, in one form.

A path starts at `root`: `root.etl.nightly`. A capacity is a percentage of the parent's, a weight
among its siblings, or a number of containers. Sources: the documents of Hadoop's CapacityScheduler
and FairScheduler, of YuniKorn's queue configuration, and of Kueue's ClusterQueue.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from sluice.model.errors import InvalidInput

ROOT = "root"
QUEUES_MAX = 10_000


class AmountKind(StrEnum):
    """The unit of an amount: percent of the parent's capacity, a weight, or containers."""

    PERCENT = "percent"
    WEIGHT = "weight"
    CONTAINERS = "containers"


class LeafOrder(StrEnum):
    """Which application of a queue comes first: the earliest, or that with the least running."""

    FIFO = "fifo"
    FAIR = "fair"


@dataclass(frozen=True, slots=True)
class QueueAmount:
    """A guaranteed or maximum capacity."""

    kind: AmountKind
    value: float

    def __post_init__(self) -> None:
        if not 0 <= self.value < math.inf:
            raise InvalidInput(f"the capacity {self.value} is not a finite number of at least 0")


@dataclass(frozen=True, slots=True)
class Starvation:
    """When the fair scheduler takes containers back for an application of a queue.

    share_after_s: seconds below the fair share; None for those of the whole tree.  share: the part
    of the fair share that counts.  least_after_s: seconds of the queue below its least.
    """

    share_after_s: float | None = None
    share: float = 0.5
    least_after_s: float = math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredQueue:
    """One queue. Jobs are in the leaves.

    capacity: guaranteed.  maximum: None for all that the parent may have.
    least: containers that come before any sharing by capacity (FairScheduler's minResources).
    user_limit_percent: the least share of the queue that each of several users can get.
    user_limit_factor: most that one user can have, in multiples of the guarantee; None: no limit.
    jobs_max: applications that run at once; None for no limit.
    is_preemptible: whether preemption may take containers from it.  starvation: when it takes some
    back for it, in YARN's fair scheduler.
    masters_share: the share of its containers that the masters of its applications may hold, one
    container for each; None for no limit.  masters_of_guarantee: whether that is a share of its
    guarantee, as in the fair scheduler, or of all that it could have now.
    is_strict: whether nothing passes a job that waits (StrictFIFO of Kueue).  admits_below: whether
    the queues below only name it, so that its quota admits their jobs (LocalQueues of Kueue).
    """

    path: str
    capacity: QueueAmount
    maximum: QueueAmount | None = None
    least: float = 0.0
    order: LeafOrder = LeafOrder.FIFO
    user_limit_percent: float = 100.0
    user_limit_factor: float | None = None
    jobs_max: int | None = None
    is_preemptible: bool = True
    masters_share: float | None = None
    masters_of_guarantee: bool = field(default=False, compare=False)
    starvation: Starvation = field(default=Starvation(), compare=False)
    is_strict: bool = field(default=False, compare=False)
    admits_below: bool = field(default=False, compare=False)

    @property
    def parent(self) -> str | None:
        """The path of the parent; None for the root."""
        return self.path.rpartition(".")[0] or None

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class YarnRules:
    """The rules that YARN's own files hold besides queues. None where they say nothing.

    node_locality, rack_locality: how long an application waits for a container nearer to its input,
    in heartbeats of nodes (CapacityScheduler) or as a share of the nodes (FairScheduler).
    containers_max: granted at one heartbeat of a node, infinity for no limit.  offswitch_max: those
    of them that are not near their input (CapacityScheduler).
    Of the capacity scheduler's preemption: round_s: seconds between rounds.  round_share: the most
    of the cluster that a round takes.  natural_share: the part of what is needed that it takes.
    ignored_share: the part of its guarantee by which a queue may exceed it.
    Of the fair scheduler's: warning_s: seconds from the choice of a task to its end.  pause_s:
    seconds, besides it and four heartbeats, until the same application is looked at again.
    busy_share: the share of the cluster that must be in use.
    """

    node_locality: float | None = None
    rack_locality: float | None = None
    containers_max: float | None = None
    offswitch_max: float | None = None
    round_s: float | None = None
    round_share: float | None = None
    natural_share: float | None = None
    ignored_share: float | None = None
    warning_s: float | None = None
    pause_s: float | None = None
    busy_share: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueTree:
    """All queues but the root, parents before children.

    preempts_after_s: seconds after which a queue below its guarantee takes containers back; None
    for no preemption.  unknown_keys: keys of the file that the model does not read.
    notes: what the file says and the model cannot express.
    undeclared: what a queue that jobs name and the file does not is like, below root; None if such
    jobs go to the default queue.  idle_count: whether queues without jobs keep their weight, as in
    the capacity scheduler; in the fair scheduler the others share it.
    yarn: None for queues that are not those of YARN.  admits_whole: whether a job starts only once
    its queue has room for all of it, as in Kueue.
    documents: of a Kubernetes file, as they were read; none of other formats.
    """

    queues: tuple[ConfiguredQueue, ...]
    preempts_after_s: float | None = None
    undeclared: ConfiguredQueue | None = field(default=None, compare=False)
    idle_count: bool = field(default=True, compare=False)
    yarn: YarnRules | None = field(default=None, compare=False)
    admits_whole: bool = field(default=False, compare=False)
    unknown_keys: tuple[str, ...] = field(default=(), compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)
    source: str = field(default="", compare=False)
    documents: tuple[Mapping[str, Any], ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        parents = {queue.parent for queue in self.queues}
        # The order of jobs means nothing in a queue that holds queues.
        queues = tuple(
            replace(queue, order=LeafOrder.FIFO) if queue.path in parents else queue
            for queue in self.queues
        )
        object.__setattr__(self, "queues", queues)
        seen: set[str] = {ROOT}
        if not self.queues:
            raise InvalidInput("there is no queue", where=self.source, hint="define one below root")
        if len(self.queues) > QUEUES_MAX:
            raise InvalidInput(f"there are more than {QUEUES_MAX:,} queues", where=self.source)
        for queue in self.queues:
            if queue.path in seen or queue.parent not in seen:
                what = "defined twice" if queue.path in seen else "without its parent"
                raise InvalidInput(f"queue {queue.path!r} is {what}", where=self.source)
            seen.add(queue.path)

    @property
    def leaves(self) -> tuple[str, ...]:
        """Paths of the queues that jobs can be in."""
        parents = {queue.parent for queue in self.queues}
        return tuple(queue.path for queue in self.queues if queue.path not in parents)

    def with_undeclared(self, names: Iterable[str]) -> QueueTree:
        """The tree with a queue below root for each name that no queue has, where it makes them."""
        if self.undeclared is None:
            return self
        known = {queue.name for queue in self.queues} | {queue.path for queue in self.queues}
        made = [
            replace(self.undeclared, path=f"{ROOT}.{name}")
            for name in dict.fromkeys(one.removeprefix(f"{ROOT}.") for one in names)
            if name and "." not in name and not known & {name, f"{ROOT}.{name}"}
        ]
        return replace(self, queues=(*self.queues, *made))

    def children(self, path: str) -> Iterator[ConfiguredQueue]:
        """The queues directly below a path."""
        return (queue for queue in self.queues if queue.parent == path)

    def containers(
        self, total: float, idle: Container[str] = ()
    ) -> Mapping[str, tuple[float, float]]:
        """Guaranteed and maximum containers of each queue, for so many in the cluster.

        idle: paths of queues whose weights do not count now.
        Guarantees of siblings that together exceed the parent's are cut in proportion, as
        percentages of it would be.
        """
        found: dict[str, tuple[float, float]] = {ROOT: (total, total)}
        for parent in [ROOT, *(queue.path for queue in self.queues)]:
            siblings = list(self.children(parent))
            if not siblings:
                continue
            room, most = found[parent]
            wanted = _guarantees(siblings, room, idle)
            asked = math.fsum(wanted)
            cut = room / asked if asked > room else 1.0
            for queue, guarantee in zip(siblings, wanted, strict=True):
                limit = _limit(queue.maximum, most)
                found[queue.path] = (min(guarantee * cut, limit), limit)
        return found


def _guarantees(siblings: list[ConfiguredQueue], room: float, idle: Container[str]) -> list[float]:
    fixed = [
        queue.capacity.value * room / 100
        if queue.capacity.kind is AmountKind.PERCENT
        else queue.capacity.value
        for queue in siblings
    ]
    is_weighted = [queue.capacity.kind is AmountKind.WEIGHT for queue in siblings]
    weights = [0.0 if queue.path in idle else queue.capacity.value for queue in siblings]
    all_weights = math.fsum(weight for weight, by in zip(weights, is_weighted, strict=True) if by)
    left = room - math.fsum(amount for amount, by in zip(fixed, is_weighted, strict=True) if not by)
    return [
        (max(0.0, left) * weight / all_weights if all_weights else 0.0) if by else amount
        for weight, amount, by in zip(weights, fixed, is_weighted, strict=True)
    ]


def _limit(maximum: QueueAmount | None, most: float) -> float:
    if maximum is None:
        return most
    value = maximum.value
    return min(most, value * most / 100 if maximum.kind is AmountKind.PERCENT else value)
