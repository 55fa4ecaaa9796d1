"""The tree: queues, and the applications in its leaves, with counters that are kept in step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sluice.core.entries import Attempt, JobEntry, PhaseEntry
from sluice.model.ids import PoolId
from sluice.model.queues import Queue, QueueOrder
from sluice.policies.ltyarn.credits import CreditBook
from sluice.policies.ltyarn.turns import Turns
from sluice.policies.ltyarn.usage import Usage

ROOT = "root"


class ShareNode:
    """A queue or an application: what its parent shares among.

    index: order of definition, the last tie-breaker.  units: resource units that run.
    running, waiting: tasks that run, and tasks that could start.
    first_active_at_s: in this round (ar); None before that.
    """

    __slots__ = (
        "first_active_at_s", "held", "index", "is_active", "name", "parent", "quantum_s",
        "registered_at_s", "running", "units", "usage", "waiting", "weight",
    )  # fmt: skip

    def __init__(
        self, name: str, parent: QueueNode | None, weight: float, index: int, usage: Usage
    ) -> None:
        self.name = name
        self.parent = parent
        self.weight = weight
        self.index = index
        self.usage = usage
        self.quantum_s = 0.0
        self.units = 0.0
        self.running = 0
        self.waiting = 0
        self.is_active = False
        self.first_active_at_s: float | None = None
        self.registered_at_s = usage.at_s
        self.held: list[float] = []  # of each resource, where several are shared

    def line(self) -> Iterator[ShareNode]:
        """The node itself, then its ancestors up to the root."""
        node: ShareNode | None = self
        while node is not None:
            yield node
            node = node.parent

    @property
    def running_level(self) -> float:
        """What runs now, for its weight: the order of `mlrf`, and a tie-breaker."""
        return (self.usage.rate if self.held else self.usage.amount) / self.weight


class QueueNode(ShareNode):
    """A queue. children: in order of definition.  active: those with waiting or running tasks."""

    __slots__ = ("active", "children", "credits", "order", "share_max", "share_min", "turns")

    def __init__(
        self, queue: Queue, parent: QueueNode | None, index: int, usage: Usage, order: str
    ) -> None:
        super().__init__(str(queue.queue_id), parent, queue.weight, index, usage)
        self.share_min = queue.share_min
        self.share_max = queue.share_max
        self.order = order
        self.children: dict[str, ShareNode] = {}
        self.active: dict[ShareNode, None] = {}
        self.turns: Turns[ShareNode] = Turns(order)
        self.credits: CreditBook | None = None
        if parent is not None:
            parent.children[self.name] = self
            if parent.credits is not None:
                parent.credits.join(self, usage.at_s)

    @property
    def is_leaf(self) -> bool:
        """Whether it holds applications, or nothing yet."""
        return not any(isinstance(child, QueueNode) for child in self.children.values())

    @property
    def arrival(self) -> int:
        """Place in the order of arrival: that of its earliest active application."""
        return min((arrival_of(child) for child in self.active), default=-1)


@dataclass(slots=True, eq=False)
class RunningTasks:
    """Running attempts of one application, in the order of their start, by whether they are young.

    amounts and starts: by attempt.  starts count from the beginning of the round.
    """

    young: dict[Attempt, float] = field(default_factory=dict)
    old: dict[Attempt, float] = field(default_factory=dict)
    amounts: dict[Attempt, float] = field(default_factory=dict)


class AppNode(ShareNode):
    """An application: one job, in a leaf queue.

    finished, finished_s: finished tasks and their lengths.  passed_over: how often another task
    was started because this application's next one did not fit.
    """

    __slots__ = ("finished", "finished_s", "has_left", "job", "passed_over", "tasks", "waits")

    def __init__(self, job: JobEntry, parent: QueueNode, index: int, usage: Usage) -> None:
        super().__init__(str(job.job_id), parent, job.weight, index, usage)
        self.job = job
        self.finished = 0
        self.finished_s = 0.0
        self.passed_over = 0
        self.has_left = False  # its job has ended
        self.tasks = RunningTasks()
        self.waits: dict[PhaseEntry, int] = {}
        parent.children[app_key(self.name)] = self
        if parent.credits is not None:
            parent.credits.join(self, usage.at_s)


def app_key(name: str) -> str:
    """The key of an application among the children of a queue: it may be named as a queue is."""
    return f"job {name}"


def arrival_of(node: ShareNode) -> int:
    """Place in the order of arrival."""
    if isinstance(node, AppNode):
        return node.job.release_seq
    assert isinstance(node, QueueNode)
    return node.arrival


def root_of(queues: tuple[Queue, ...]) -> tuple[Queue, bool]:
    """The queue above all others, and whether the file names it.

    A single queue without a parent that has children is the root; otherwise there is an unnamed
    one above all queues without a parent. Its name is free to no queue of the file.
    """
    tops = [queue for queue in queues if queue.parent is None]
    inner = {queue.parent for queue in queues}
    if len(tops) == 1 and tops[0].queue_id in inner:
        return tops[0], True
    taken = {str(queue.queue_id) for queue in queues}
    name = ROOT if ROOT not in taken else "(root)"
    return Queue(queue_id=PoolId(name), order=QueueOrder.LTRF), False


def from_the_top(queues: tuple[Queue, ...]) -> list[Queue]:
    """Queues, each after its parent, otherwise in the order of the file."""
    placed: dict[PoolId | None, None] = {None: None}
    ordered: list[Queue] = []
    left = list(queues)
    while left:
        ready = [queue for queue in left if queue.parent in placed]
        assert ready, "a file with a circle or a missing parent was refused"
        ordered += ready
        placed |= dict.fromkeys(queue.queue_id for queue in ready)
        left = [queue for queue in left if queue.queue_id not in placed]
    return ordered
