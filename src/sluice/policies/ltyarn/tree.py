"""The tree: queues, and the applications in its leaves, with counters that are kept in step.

A node counts what runs and what was used below it. Counts change on the path from an application to
the root. Use is counted from the beginning of a round on, which never ends where nothing is ever
forgotten. Queues and applications are both `ShareNode`s, so that one rule shares among the queues
of a queue and among the jobs of a leaf.
"""

from __future__ import annotations

import math

from sluice.core.entries import Attempt, JobEntry, PhaseEntry
from sluice.model.ids import PoolId
from sluice.model.queues import Queue, QueueOrder
from sluice.policies.ltyarn.credits import CreditBook
from sluice.policies.ltyarn.turns import Turns
from sluice.policies.ltyarn.usage import Usage

ROOT = "root"
TINY = 1e-9  # sums of units are rounded


class Round:
    """The present round of all queues that forget after the same time (L; thesis, 5.5.2.3).

    A queue with this round counts the use of its children from `at_s` on.
    length_s: infinite where nothing is ever forgotten.  at_s: when it began (ts, equation 12).
    """

    __slots__ = ("at_s", "length_s")

    def __init__(self, length_s: float) -> None:
        self.length_s = length_s
        self.at_s = 0.0

    @property
    def is_endless(self) -> bool:
        """Whether nothing is ever forgotten."""
        return self.length_s == math.inf


class ShareNode:
    """A queue or an application: what its parent shares among.

    index: order of definition, the last tie-breaker.  units: resource units that run.
    running, waiting: tasks that run, and tasks that could start.
    round: by which its use is counted, that of the queue above; the root's is its own.
    first_active_at_s: in this round (ar); None before that.
    path: the node itself, then its ancestors up to the root.
    is_limited: whether it is a queue with a minimum or maximum share.
    """

    __slots__ = (
        "first_active_at_s", "held", "index", "is_active", "is_limited", "name", "parent", "path",
        "quantum_s", "registered_at_s", "round", "running", "units", "usage", "waiting", "weight",
    )  # fmt: skip

    def __init__(
        self, name: str, parent: QueueNode | None, weight: float, index: int, usage: Usage,
        round_: Round,
    ) -> None:  # fmt: skip
        self.name = name
        self.round = round_
        self.parent = parent
        self.weight = weight
        self.index = index
        self.usage = usage
        self.quantum_s = 0.0
        self.units = 0.0
        self.running = 0
        self.waiting = 0
        self.is_active = False
        self.is_limited = False
        self.first_active_at_s: float | None = None
        self.registered_at_s = usage.at_s
        self.held: list[float] = []  # amounts of each resource, where several are shared
        above: tuple[ShareNode, ...] = () if parent is None else parent.path
        self.path: tuple[ShareNode, ...] = (self, *above)

    @property
    def running_level(self) -> float:
        """Return what runs now, for its weight: the order of `mlrf`, and a tie-breaker."""
        return (self.usage.rate if self.held else self.usage.amount) / self.weight


class QueueNode(ShareNode):
    """A queue.

    own_quantum_s: by the file.  children_round: by which its children are counted.
    children: in order of definition.  active: those with waiting or running tasks.
    children_use: what its children have used together.
    quanta_sum: of the quanta of the active ones; quanta_changes: since they were summed up.
    """

    __slots__ = (
        "_weights", "active", "children", "children_round", "children_use", "credits", "order",
        "own_quantum_s", "quanta_changes", "quanta_sum", "share_max", "share_min", "turns",
    )  # fmt: skip

    def __init__(
        self, queue: Queue, parent: QueueNode | None, index: int, usage: Usage, order: str,
        children_round: Round,
    ) -> None:  # fmt: skip
        round_: Round = children_round if parent is None else parent.children_round
        super().__init__(str(queue.queue_id), parent, queue.weight, index, usage, round_)
        self.children_round: Round = children_round
        self.share_min = queue.share_min
        self.share_max = queue.share_max
        self.is_limited = queue.share_max is not None or queue.share_min > 0
        self.order = order
        self.own_quantum_s = queue.quantum_s
        self.children: dict[str, ShareNode] = {}
        self.children_use = usage.fresh()
        self._weights: float | None = None
        self.active: dict[ShareNode, None] = {}
        self.quanta_sum = 0.0
        self.quanta_changes = 0
        self.turns: Turns[ShareNode] = Turns(order)
        self.credits: CreditBook[ShareNode] | None = None
        if parent is not None:
            parent.join(self.name, self)

    def redefine(self, queue: Queue, order: str) -> None:
        """Take other values of the file: weight, shares, order, quantum; its round stays."""
        self.weight = queue.weight
        self.share_min, self.share_max = queue.share_min, queue.share_max
        self.is_limited = queue.share_max is not None or queue.share_min > 0
        self.order = self.turns.order = order
        self.own_quantum_s = queue.quantum_s
        if self.parent is not None:
            self.parent.forget_weights()

    def forget_weights(self) -> None:
        """A child has another weight."""
        self._weights = None

    def join(self, key: str, child: ShareNode) -> None:
        """A child shares from now on."""
        now_s = child.usage.at_s
        self.children[key] = child
        self._weights = None
        self.children_use.settle(now_s)
        self.children_use.total += child.usage.total
        if self.credits is not None:
            self.credits.join(child, now_s)

    def leave(self, key: str, now_s: float) -> None:
        """A child is gone, and the others share without it. It runs nothing."""
        child = self.children.pop(key)
        self._weights = None
        self.children_use.settle(now_s)
        self.children_use.total -= child.usage.counted(now_s)
        self.turns.drop(child)
        if self.credits is not None:
            self.credits.leave(child, now_s)

    @property
    def weights(self) -> float:
        """The sum of its children's weights."""
        if self._weights is None:
            self._weights = sum(child.weight for child in self.children.values())
        return self._weights

    @property
    def arrival(self) -> int:
        """Place in the order of arrival: that of its earliest active application."""
        return min((arrival_of(child) for child in self.active), default=-1)


class RunningTasks:
    """Running attempts of one application in one round, by whether they are young in it.

    nodes: the application and queues above it that are counted in this round.
    young, old: starts by attempt, in their order; they count from the beginning of the round.
    amount, ends: of the young ones: sum of amounts, sum of amount * (start + quantum).
    """

    __slots__ = ("amount", "app", "ends", "nodes", "old", "round", "young")

    def __init__(self, app: AppNode, round_: Round, nodes: tuple[ShareNode, ...]) -> None:
        self.app = app
        self.round = round_
        self.nodes = nodes
        self.young: dict[Attempt, float] = {}
        self.old: dict[Attempt, float] = {}
        self.amount = 0.0
        self.ends = 0.0


class AppNode(ShareNode):
    """An application: one job, in a leaf queue.

    amounts: of its running attempts.  tasks: the same attempts, once for each round on its path.
    finished, finished_s: finished tasks and their lengths.  passed_over: how often another task
    was started because this application's next one did not fit.  reserves_from_s: when it was
    passed over so often that nodes are kept for it.
    capped: the queues above it that have a maximum share.
    """

    __slots__ = (
        "amounts", "capped", "finished", "finished_s", "has_left", "job", "passed_over",
        "reserves_from_s", "tasks", "waits",
    )  # fmt: skip

    def __init__(self, job: JobEntry, parent: QueueNode, index: int, usage: Usage) -> None:
        super().__init__(str(job.job_id), parent, job.weight, index, usage, parent.children_round)
        self.job = job
        self.finished = 0
        self.finished_s = 0.0
        self.passed_over = 0
        self.reserves_from_s = 0.0
        self.has_left = False  # its job has ended
        self.amounts: dict[Attempt, float] = {}
        self.tasks = tuple(
            RunningTasks(self, round_, tuple(nodes)) for round_, nodes in _by_round(self.path)
        )
        self.waits: dict[PhaseEntry, int] = {}
        self.find_caps()
        parent.join(app_key(self.name), self)

    def find_caps(self) -> None:
        """Look again at which of the queues above it have a maximum share."""
        self.capped = tuple(
            node for node in self.path if isinstance(node, QueueNode) and node.share_max is not None
        )

    def is_within_caps(self, phase: PhaseEntry) -> bool:
        """Whether no queue above would exceed its maximum share with one task more."""
        units = phase.phase.units
        for queue in self.capped:
            if queue.share_max is not None and queue.units + units > queue.share_max + TINY:
                return False
        return True


def _by_round(path: tuple[ShareNode, ...]) -> list[tuple[Round, list[ShareNode]]]:
    """The nodes of a path by their rounds, in order of the first of each."""
    found: dict[Round, list[ShareNode]] = {}
    for node in path:
        found.setdefault(node.round, []).append(node)
    return list(found.items())


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
