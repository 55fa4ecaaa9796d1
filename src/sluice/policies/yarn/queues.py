"""Which application gets the next container, by the rules of YARN's two schedulers.

All amounts are in containers of the least allocation. Sources: the code of Hadoop 3.3:
CapacityScheduler, LeafQueue, UsersManager and FairScheduler, FSLeafQueue, FairSharePolicy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from sluice.model.queue_tree import ROOT, ConfiguredQueue, LeafOrder, QueueTree, YarnRules

_TINY = 1e-9
_UNSAID = YarnRules()


@dataclass(slots=True, eq=False)
class Application:
    """One application in a leaf. number: in the order of submission.

    pending: requests that wait, each for `wants` containers.  used: containers that it holds.
    demand: both together, as the fair scheduler last saw them.  master: containers of its master.
    is_active: whether it may have a container for its master.  has_master: whether it has it.
    """

    number: int
    queue: YarnQueue
    user: str
    pending: int = 0
    used: int = 0
    demand: int = 0
    master: int = 1
    is_active: bool = False
    has_master: bool = False

    @property
    def wants(self) -> int:
        """Containers of one node that its next request takes."""
        return 1 if self.has_master else self.master


class YarnQueue:
    """A queue. used: containers of the applications in it and below it.

    masters: containers that count in its share for masters.  room: the most that it could have
    when it was last asked for an application.
    """

    def __init__(self, queue: ConfiguredQueue | None, parent: YarnQueue | None, index: int) -> None:
        self.queue = queue
        self.parent = parent
        self.index = index
        self.children: list[YarnQueue] = []
        self.apps: list[Application] = []
        self.guarantee = self.limit = self.room = 0.0
        self.used = self.masters = 0
        if parent is not None:
            parent.children.append(self)

    def line(self) -> Iterator[YarnQueue]:
        """The queue itself, then those above it."""
        queue: YarnQueue | None = self
        while queue is not None:
            yield queue
            queue = queue.parent

    def count(self, app: Application, containers: int) -> None:
        """An application has got containers, or has lost them."""
        app.used += containers
        for queue in self.line():
            queue.used += containers

    @property
    def is_busy(self) -> bool:
        """Whether an application is in it or below it."""
        return bool(self.apps) or any(child.is_busy for child in self.children)

    @property
    def could_have(self) -> float:
        """The most that the queue could have now, with what others hold."""
        return min(one.limit - one.used + self.used for one in self.line())


class Placement:
    """Where applications may get a container: anywhere, unless a subclass has rules for it.

    is_near: whether the last one that was allowed goes to the node or the rack of its input.
    """

    is_near = False

    def allows(self, app: Application) -> bool:
        """Whether the next request may be granted on the node whose heartbeat it is."""
        return True


class SchedulerRules:
    """The rules that both schedulers have in common. total: containers of the nodes that are up.

    update_s: seconds between updates; None for a scheduler that has none.
    """

    update_s: float | None = None

    def __init__(self, tree: QueueTree | None) -> None:
        self.tree = tree
        self.placement = Placement()
        self.root = YarnQueue(None, None, 0)
        self.queues: dict[str, YarnQueue] = {ROOT: self.root}
        for queue in () if tree is None else tree.queues:
            parent = self.queues[queue.parent or ROOT]
            self.queues[queue.path] = YarnQueue(queue, parent, len(self.queues))
        self.total = 0

    @property
    def said(self) -> YarnRules:
        """The rules of the files, apart from the queues."""
        return (None if self.tree is None else self.tree.yarn) or _UNSAID

    @property
    def is_waiting(self) -> bool:
        """Whether an application has a request that waits."""
        return any(app.pending for queue in self.queues.values() for app in queue.apps)

    def add(self, queue: ConfiguredQueue) -> YarnQueue:
        """One more queue, below a known one."""
        if self.tree is None:
            self.tree = QueueTree(queues=(queue,), idle_count=False)
        else:
            self.tree = replace(self.tree, queues=(*self.tree.queues, queue))
        parent = self.queues[queue.parent or ROOT]
        made = self.queues[queue.path] = YarnQueue(queue, parent, len(self.queues))
        self.resize(self.total)
        return made

    def resize(self, total: int) -> None:
        """Nodes have come or gone."""
        self.total = total
        self.share_out()
        for queue in self.queues.values():
            queue.room = queue.could_have

    def share_out(self) -> None:
        """Work out guarantees and limits again."""
        if self.tree is None:
            return
        idle = frozenset[str]()
        if not self.tree.idle_count:
            idle = frozenset(path for path, queue in self.queues.items() if not queue.is_busy)
        for path, (guarantee, limit) in self.tree.containers(self.total, idle).items():
            self.queues[path].guarantee, self.queues[path].limit = guarantee, limit

    def submit(self, app: Application) -> None:
        """An application has come."""
        app.queue.apps.append(app)

    def remove(self, app: Application) -> None:
        """An application has gone, with the container of its master."""
        app.queue.apps.remove(app)

    def gain_master(self, app: Application) -> None:
        """Its first request is granted."""
        app.has_master = True

    def lose_master(self, app: Application) -> None:
        """The node of its master is lost: it waits for another one."""
        app.has_master, app.pending = False, 1

    def update(self) -> None:
        """Do the work that the scheduler does once each `update_s`."""

    def begin_heartbeat(self) -> None:
        """A node is about to get containers."""

    def may_have(self, app: Application) -> bool:
        """Whether an application for which one was taken back may have a container here."""
        return bool(app.pending) and app in app.queue.apps and self.placement.allows(app)

    def grants(self, free: int, most: int) -> Iterator[Application]:
        """Applications whose next requests are granted at the heartbeat of a node.

        free: containers of the node.  most: all that it has. The caller counts each one before the
        next. A request for more than is free reserves the node.
        """
        raise AssertionError("a scheduler has its own rules")

    def choose(self, queue: YarnQueue, most: int) -> Application | None:
        """The application that gets the next container, below a queue. most: of the node."""
        if queue.used + 1 > queue.limit + _TINY:
            return None
        queue.room = queue.could_have
        if not queue.children:
            # What is free does not count here: a master that does not fit yet reserves a node.
            limits = (one.limit - one.used + _TINY for one in queue.line() if one.parent)
            room = min(most, *limits)
            return next(
                (
                    app
                    for app in self.in_turn(queue)
                    if app.wants <= room and self.placement.allows(app)
                ),
                None,
            )
        for child in self.children_in_turn(queue):
            found = self.choose(child, most)
            if found is not None:
                return found
        return None

    def in_turn(self, leaf: YarnQueue) -> Iterator[Application]:
        """Applications of a leaf that may have a container, in their order."""
        raise AssertionError("a scheduler has its own rules")

    def children_in_turn(self, queue: YarnQueue) -> Iterable[YarnQueue]:
        """The queues directly below one, in their order."""
        raise AssertionError("a scheduler has its own rules")


class CapacityRules(SchedulerRules):
    """CapacityScheduler.

    A node gets containers near their input at each of its heartbeats, up to the first one that is
    not, or that has no input, or up to as many of these as the file says
    (`per-node-heartbeat.maximum-offswitch-assignments`).
    """

    def submit(self, app: Application) -> None:
        super().submit(app)
        self._activate(app.queue)

    def remove(self, app: Application) -> None:
        super().remove(app)
        if app.is_active:
            app.queue.masters -= app.master
        self._activate(app.queue)

    def _activate(self, leaf: YarnQueue) -> None:
        """Applications become active while their masters fit, with one of them in any case.

        The share for masters is that of the most that the queue could have, rounded up; that of a
        user is the user's limit of it (LeafQueue.activateApplications).
        """
        assert leaf.queue is not None
        share = leaf.queue.masters_share
        for app in leaf.apps:
            if app.is_active:
                continue
            if share is not None and leaf.masters:
                most = math.ceil(share * max(leaf.guarantee, math.floor(leaf.room)) - _TINY)
                of_user = [one for one in leaf.apps if one.is_active and one.user == app.user]
                own = sum(one.master for one in of_user) + app.master
                if leaf.masters + app.master > most or own > self._masters_of_user(leaf, most):
                    continue
            app.is_active = True
            app.pending = 1
            leaf.masters += app.master

    def _masters_of_user(self, leaf: YarnQueue, most: int) -> int:
        queue = leaf.queue
        assert queue is not None
        if queue.user_limit_factor is None:
            return most
        share = queue.masters_share or 0.0
        part = max(queue.user_limit_percent / 100, 1 / max(1, len(_active_users(leaf))))
        own = leaf.guarantee * share * min(1.0, part) * queue.user_limit_factor
        return min(most, math.ceil(own - _TINY))

    def grants(self, free: int, most: int) -> Iterator[Application]:
        given = count = far = 0
        far_max = self.said.offswitch_max or 1
        count_max = self.said.containers_max or math.inf
        while given < free and count < count_max and far < far_max:
            app = self.choose(self.root, most)
            if app is None:
                return
            count += 1
            far += not self.placement.is_near
            given += app.wants
            yield app

    def children_in_turn(self, queue: YarnQueue) -> Iterable[YarnQueue]:
        def place(child: YarnQueue) -> tuple[float, float, int]:
            ratio = child.used / child.guarantee if child.guarantee else math.inf
            # 12 of 12.6 containers and 8 of 8.4 are equal, also where floats say otherwise.
            return round(ratio, 9), -child.guarantee, child.index

        return sorted(queue.children, key=place)

    def in_turn(self, leaf: YarnQueue) -> Iterator[Application]:
        assert leaf.queue is not None
        waiting = [app for app in leaf.apps if app.is_active and app.pending]
        if leaf.queue.order is LeafOrder.FAIR:
            waiting.sort(key=lambda app: (app.used, app.number))
        if not waiting:
            return
        limit = self._user_limit(leaf, leaf.queue)
        for app in waiting:
            if sum(one.used for one in leaf.apps if one.user == app.user) <= limit:
                yield app

    def _user_limit(self, leaf: YarnQueue, queue: ConfiguredQueue) -> float:
        """A user that holds no more than this may have a container (UsersManager)."""
        has = leaf.guarantee if leaf.used < leaf.guarantee - _TINY else leaf.used + 1.0
        active = _active_users(leaf)
        held = sum(app.used for app in leaf.apps if app.user in active) + 1
        limit = max(math.ceil(held / len(active)), has * queue.user_limit_percent / 100)
        if queue.user_limit_factor is not None:
            limit = min(limit, leaf.guarantee * queue.user_limit_factor)
        return math.ceil(limit - _TINY)


class FairRules(SchedulerRules):
    """FairScheduler, with half of the node at a heartbeat, or as many containers as its files say.

    Fair shares and demands are those of the last update (`yarn.scheduler.fair.update-interval-ms`).
    """

    update_s = 0.5
    _free = 0  # containers of the cluster, at the beginning of a node's heartbeat

    def submit(self, app: Application) -> None:
        super().submit(app)
        app.is_active = True
        app.pending = 1

    def remove(self, app: Application) -> None:
        super().remove(app)
        if app.has_master:
            app.queue.masters -= app.master

    def gain_master(self, app: Application) -> None:
        super().gain_master(app)
        app.queue.masters += app.master

    def lose_master(self, app: Application) -> None:
        super().lose_master(app)
        app.queue.masters -= app.master

    def update(self) -> None:
        self.share_out()
        for queue in self.queues.values():
            for app in queue.apps:
                app.demand = app.used + app.pending * app.wants

    def begin_heartbeat(self) -> None:
        self._free = self.total - self.root.used

    def may_have(self, app: Application) -> bool:
        return (app.has_master or self._fits_master(app)) and super().may_have(app)

    def grants(self, free: int, most: int) -> Iterator[Application]:
        half, given, count = free / 2, 0, 0
        count_max = self.said.containers_max
        while given < free:
            app = self.choose(self.root, most)
            if app is None:
                return
            given += app.wants
            count += 1
            yield app
            if given > half if count_max is None else count >= count_max:
                return

    def children_in_turn(self, queue: YarnQueue) -> Iterable[YarnQueue]:
        def place(child: YarnQueue) -> tuple[bool, float, str]:
            assert child.queue is not None
            weight = child.queue.capacity.value or _TINY
            return child.used >= child.queue.least, child.used / weight, child.queue.path

        return sorted(queue.children, key=place)

    def in_turn(self, leaf: YarnQueue) -> Iterator[Application]:
        assert leaf.queue is not None
        waiting = [app for app in leaf.apps if app.pending and app.demand > app.used]
        if leaf.queue.order is LeafOrder.FAIR:
            waiting.sort(key=lambda app: (app.used, app.number))
        for app in waiting:
            if app.has_master or self._fits_master(app):
                yield app

    def _fits_master(self, app: Application) -> bool:
        """Whether one more master stays in the share (FSLeafQueue.canRunAppAM).

        Memory is a share of the fair share. The fair share has no processors where memory alone is
        shared out; then it is a share of the processors that were free at the beginning of the
        heartbeat, rounded up.
        """
        leaf, queue, free = app.queue, app.queue.queue, self._free
        if queue is None or queue.masters_share is None:
            return True
        of_memory = queue.masters_share * (leaf.guarantee or min(free, leaf.limit))
        of_cores = math.ceil(queue.masters_share * free - _TINY)
        return leaf.masters + app.master <= min(of_memory + _TINY, of_cores)


def _active_users(leaf: YarnQueue) -> set[str]:
    return {app.user for app in leaf.apps if app.is_active and app.pending}
