"""The counters of the tree as time passes and tasks start and end (Resource Controller).

`advance` brings everything to the present instant, in the order of section 5.3: a new round, then
quanta, then the charge of those that have become active. It is called before any decision and
before any change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sluice.core.entries import Attempt, JobEntry, PhaseEntry, PoolEntry
from sluice.core.state import ClusterState
from sluice.model.ids import JobId, PoolId
from sluice.model.queues import Queue
from sluice.model.resources import NOTHING
from sluice.model.slot_kind import SlotKind
from sluice.policies.ltyarn.credits import CreditBook
from sluice.policies.ltyarn.orders import key_of
from sluice.policies.ltyarn.quanta import Quanta
from sluice.policies.ltyarn.rules import ShareRules, charge_of
from sluice.policies.ltyarn.tree import (
    AppNode,
    QueueNode,
    Round,
    ShareNode,
    app_key,
    from_the_top,
    root_of,
)
from sluice.policies.ltyarn.usage import DecayedUsage, Usage

_CONTAINER = SlotKind.CONTAINER
_HALF_LIVES_MAX = 500.0  # a float holds 2 ** 1023


class ShareTree:
    """The tree with all that is counted in it."""

    def __init__(self, rules: ShareRules, state: ClusterState) -> None:
        self.rules = rules
        self._is_plain = rules.price == 1.0 and not rules.is_dominant
        self._state = state
        self.quanta = Quanta(is_adaptive=rules.is_adaptive)
        self.rounds: dict[float, Round] = {}  # by length
        self.epoch_s = 0.0
        self.apps: dict[JobId, AppNode] = {}
        self.registered = 0  # applications, with those that were forgotten
        self.queues: dict[PoolId, QueueNode] = {}
        self.arrived: dict[ShareNode, None] = {}  # active, and without an arrival in this round
        self.nodes_seen = -1
        self.capacity = 0.0
        self._resources = NOTHING
        self.with_credits: list[QueueNode] = []
        entries = [entry.pool for entry in state.pools.values()]
        queues = tuple(pool.queue for pool in entries if pool.queue is not None)
        top, is_named = root_of(queues)
        self.root = self.queue_node(top, None, is_inner=True)
        self.root.quantum_s = rules.quantum_s if top.quantum_s is None else top.quantum_s
        if is_named:
            self.queues[top.queue_id] = self.root
        self._add_queues(queues)
        # Pools that are not queues of the file are below the root.
        for pool in entries:
            if pool.queue is None:
                self.add_queue(Queue(queue_id=pool.pool_id, weight=pool.weight), self.root)

    # --- building ---------------------------------------------------------------------------------

    def usage(self, before: float = 0.0) -> Usage:
        now_s = self._state.now_s
        if self.rules.half_life_s is not None:
            usage = DecayedUsage(now_s, before, self.rules.half_life_s)
            usage.epoch_s = self.epoch_s
            return usage
        return Usage(now_s, before)

    def queue_node(
        self, queue: Queue, parent: QueueNode | None, *, is_inner: bool = False
    ) -> QueueNode:
        order = self._order_of(queue, is_inner=is_inner)
        children_round = self._round_below(queue, parent)
        counts_in = children_round if parent is None else parent.children_round
        # Whatever the round, what earlier runs counted is only carried into one endless round.
        before = queue.used_before if counts_in.is_endless else 0.0
        usage = self.usage(before)
        node = QueueNode(queue, parent, len(self.queues), usage, order, children_round)
        if order == "karma":
            node.credits = CreditBook(self.rules.alpha, self.rules.initial_credits)
            self.with_credits.append(node)
        node.turns.key_of = key_of(order)
        return node

    def _add_queues(self, queues: tuple[Queue, ...]) -> None:
        """Those that are not there yet, each below its parent."""
        inner = {queue.parent for queue in queues}
        for queue in from_the_top(queues):
            if queue.queue_id not in self.queues:
                parent = self.root if queue.parent is None else self.queues[queue.parent]
                self.add_queue(queue, parent, is_inner=queue.queue_id in inner)

    def forget(self, jobs: Sequence[JobEntry]) -> None:
        """Let go of jobs that have left; what they used stays counted in their queues."""
        for job in jobs:
            self.apps.pop(job.job_id, None)

    def take_up_queues(self) -> None:
        """The pools of the state have other values, and there are new ones: their queues follow."""
        now_s, pools = self._state.now_s, [entry.pool for entry in self._state.pools.values()]
        self.advance(now_s)
        queues = tuple(pool.queue for pool in pools if pool.queue is not None)
        inner = {queue.parent for queue in queues}
        for queue in [one for one in queues if one.queue_id in self.queues]:
            node = self.queues[queue.queue_id]
            node.redefine(queue, self._order_of(queue, is_inner=queue.queue_id in inner))
            node.turns.key_of = key_of(node.order)
        self._add_queues(queues)
        for app in self.apps.values():
            app.find_caps()
        self._reprice(self.root, now_s)
        for node in (self.root, *self.queues.values()):
            node.turns.restart()

    def _order_of(self, queue: Queue, *, is_inner: bool) -> str:
        own = self.rules.inner_order if is_inner else None
        return str(queue.order) if own is None else own

    def _round_below(self, queue: Queue, parent: QueueNode | None) -> Round:
        """Return the round of a queue: its own, or that of the queue above."""
        rules = self.rules
        above_s = rules.round_of_all_s if parent is None else parent.children_round.length_s
        length_s = rules.round_below_s(queue, above_s)
        return self.rounds.setdefault(length_s, Round(length_s))

    def add_queue(self, queue: Queue, parent: QueueNode, *, is_inner: bool = False) -> QueueNode:
        node = self.queue_node(queue, parent, is_inner=is_inner)
        self.queues[queue.queue_id] = node
        self.quanta.register(node)
        return node

    def queue_of(self, pool: PoolEntry) -> QueueNode:
        """The leaf queue of a pool; a pool that no file names registers with its first job."""
        known = self.queues.get(pool.pool_id)
        if known is None:
            queue = Queue(queue_id=pool.pool_id, weight=pool.pool.weight)
            known = self.add_queue(queue, self.root)
        return known

    def app_of(self, job: JobEntry) -> AppNode:
        app = self.apps.get(job.job_id)
        if app is None:
            app = AppNode(job, self.queue_of(job.pool), self.registered, self.usage())
            self.registered += 1
            self.apps[job.job_id] = app
            self.quanta.register(app)
        return app

    # --- what happens -----------------------------------------------------------------------------

    def touch(self, phase: PhaseEntry) -> None:
        """The waiting or running tasks of a phase have changed."""
        self.advance(self._state.now_s)
        app = self.apps.get(phase.job_id)
        if app is None:
            if not phase.is_open:
                return
            app = self.app_of(phase.job)
        waiting = phase.pending.count if phase.is_open else 0
        more = waiting - app.waits.get(phase, 0)
        if more:
            app.waits[phase] = waiting
            for node in app.path:
                node.waiting += more
        if more or phase.job.has_ended:
            self._follow(app)

    def began(self, attempt: Attempt) -> None:
        """An attempt runs from now on."""
        now_s = self._state.now_s
        self.advance(now_s)
        app = self.app_of(attempt.phase.job)
        amount = self._amount(attempt)
        app.amounts[attempt] = amount
        self._run(app, attempt, amount, 1)
        self.quanta.started(app, attempt, now_s)
        self._follow(app)

    def ended(self, attempt: Attempt) -> None:
        """An attempt does not run any more."""
        self.advance(self._state.now_s)
        app = self.app_of(attempt.phase.job)
        amount = app.amounts[attempt]
        self.quanta.ended(app, attempt)
        self._run(app, attempt, -amount, -1)
        self.quanta.finished(app, attempt)
        self._follow(app)

    def _amount(self, attempt: Attempt) -> float:
        """Return an attempt's count in a second: weighted units, or its dominant share.

        A unit has a weight by what it is (of the phase) and by where it is (of the node): thesis,
        5.5.2, delta of a resource on nodes that differ.
        """
        if self.rules.is_dominant:
            return attempt.tasks * self._dominant_part(attempt.phase.phase.demand.work.amounts())
        phase = attempt.phase.phase
        weight = phase.unit_weight * attempt.node.node.unit_weight
        return attempt.tasks * phase.units * weight

    def _dominant_part(self, amounts: Sequence[float]) -> float:
        """The greatest part of a resource of the cluster. amounts: of each resource."""
        pairs = zip(amounts, self._resources.amounts(), strict=True)
        return max((amount / total if total else 0.0 for amount, total in pairs), default=0.0)

    def _run(self, app: AppNode, attempt: Attempt, amount: float, sign: int) -> None:
        """Change what runs, from the application up to the root; the time before is settled."""
        now_s = self._state.now_s
        tasks = sign * attempt.tasks
        units = tasks * attempt.phase.phase.units
        more: list[float] = []
        if self.rules.is_dominant:
            more = [tasks * one for one in attempt.phase.phase.demand.work.amounts()]
        for node in app.path:
            usage = node.usage
            usage.settle(now_s)
            node.running += tasks
            if node.running:
                node.units += units
                usage.amount += amount
            else:
                node.units = usage.amount = 0.0  # rounding does not pile up
            if more:
                held = node.held if node.running > tasks else [0.0] * len(more)
                node.held = [old + one for old, one in zip(held, more, strict=True)]
            self._set_rate(node, usage.amount if self._is_plain else self._rate(node), now_s)

    def _set_rate(self, node: ShareNode, rate: float, now_s: float) -> None:
        """Change what a node counts in a second; its own time before is settled."""
        usage = node.usage
        more = rate - usage.rate
        usage.rate = rate
        if more and node.parent is not None:
            together = node.parent.children_use
            together.settle(now_s)
            together.rate += more
            if node.parent.credits is not None:
                node.parent.credits.follow(node, now_s)

    def _rate(self, node: ShareNode) -> float:
        """Return a node's count in a second: g, g' (equation 7), or its dominant share (8.5)."""
        if not node.running:
            return 0.0
        if self.rules.is_dominant:
            return self._dominant_part(node.held)
        amount, price = node.usage.amount, self.rules.price
        share = self.share(node)
        return min(amount, share) + price * max(amount - share, 0.0)

    def share(self, node: ShareNode) -> float:
        """S, equation (2): units of a node among those registered next to it."""
        if node.parent is None:
            return self.capacity
        return self.share(node.parent) * node.weight / node.parent.weights

    def _supply(self, queue: QueueNode) -> float:
        return self.share(queue) if queue.children else 0.0

    def _follow(self, app: AppNode) -> None:
        """Keep turns and activity in step with the counters, up to the root."""
        if app.job.has_ended and not (app.waiting or app.running):
            self._leave(app)
        for node in app.path:
            is_active = bool(node.waiting or node.running)
            if is_active != node.is_active:
                self._activate(node, is_active=is_active)
            if node.parent is not None and not (node is app and app.has_left):
                node.parent.turns.touch(node)

    def _activate(self, node: ShareNode, *, is_active: bool) -> None:
        node.is_active = is_active
        self.quanta.activity(node)
        if node.parent is None:
            return
        if not is_active:
            node.parent.active.pop(node, None)
            return
        node.parent.active[node] = None
        if node.first_active_at_s is None:
            self.arrived[node] = None

    def _leave(self, app: AppNode) -> None:
        """A job has ended: others share without it. What it used stays counted."""
        assert app.parent is not None
        if app.has_left:
            return
        app.has_left = True
        self.arrived.pop(app, None)
        self.quanta.leave(app)
        app.parent.leave(app_key(app.name), self._state.now_s)
        if self.rules.price != 1.0:
            self._reprice(app.parent, self._state.now_s)

    # --- as time passes ---------------------------------------------------------------------------

    def advance(self, now_s: float) -> None:
        """Bring all counters to an instant."""
        if self.nodes_seen != self._state.node_changes:
            self._resize(now_s)
        for round_ in self.rounds.values():
            if now_s >= round_.at_s + round_.length_s:
                round_.at_s = math.floor(now_s / round_.length_s) * round_.length_s
                self._forget(round_)
        if self.rules.half_life_s is not None:
            self._move_epoch(now_s)
        self.quanta.age(now_s)

    def decide(self, now_s: float) -> None:
        """Everything that happens at an instant before tasks are started. Section 5.3."""
        self.advance(now_s)
        self.quanta.refresh(now_s)
        if self.arrived:
            self._charge_arrivals(now_s)
        for queue in self.with_credits:
            assert queue.credits is not None
            if queue.credits.settle(now_s, self._supply(queue)):
                queue.turns.restart()
            for child in queue.credits.recovered(now_s):
                queue.turns.touch(child)

    def _resize(self, now_s: float) -> None:
        """Nodes have come or gone."""
        self.nodes_seen = self._state.node_changes
        self.measure_nodes()
        if self.rules.price != 1.0 or self.rules.is_dominant:
            self._reprice(self.root, now_s)

    def measure_nodes(self) -> None:
        """Count what there is to share on the nodes that are up."""
        up = [entry.node for entry in self._state.nodes.values() if entry.is_up]
        units = math.fsum(node.slots(_CONTAINER) * node.unit_weight for node in up)
        self.capacity = 1.0 if self.rules.is_dominant else units
        self._resources = sum([node.capacity for node in up], NOTHING)

    def _reprice(self, node: ShareNode, now_s: float) -> None:
        """Shares have changed, and with them what is borrowed."""
        node.usage.settle(now_s)
        self._set_rate(node, self._rate(node), now_s)
        if isinstance(node, QueueNode):
            for child in node.active:
                self._reprice(child, now_s)
                node.turns.touch(child)

    def _forget(self, round_: Round) -> None:
        """Forget what was counted, and arrivals. Those active at that moment arrive then."""
        at_s = round_.at_s
        queues = {self.root: None} | dict.fromkeys(self.queues.values())
        nodes: list[ShareNode] = [*queues, *self.apps.values()]
        for node in [node for node in nodes if node.round is round_]:
            node.usage.forget(at_s)
            node.first_active_at_s = at_s if node.is_active else None
            self.arrived.pop(node, None)
        self.quanta.restart(round_, [app for app in self.apps.values() if app.amounts])
        for queue in [queue for queue in queues if queue.children_round is round_]:
            queue.children_use.forget(at_s)
            queue.turns.restart()

    def _move_epoch(self, now_s: float) -> None:
        half_life_s = self.rules.half_life_s
        assert half_life_s is not None
        if now_s - self.epoch_s < _HALF_LIVES_MAX * half_life_s:
            return
        self.epoch_s = now_s
        for node in (self.root, *self.queues.values(), *self.apps.values()):
            assert isinstance(node.usage, DecayedUsage)
            node.usage.epoch_s = now_s
        for queue in (self.root, *self.queues.values()):
            queue.turns.restart()

    def _charge_arrivals(self, now_s: float) -> None:
        """Arrivals of this instant get their charge, all by what was there before. Equation (16).

        The charge is frozen: worked out again and again it would let a late application starve
        (erratum E5). Queues before applications, and only siblings count.
        """
        arrived = sorted(self.arrived, key=lambda node: isinstance(node, AppNode))
        self.arrived.clear()
        charges = [(node, charge_of(node, self.rules, now_s)) for node in arrived if node.is_active]
        for node in arrived:
            node.first_active_at_s = now_s
            if isinstance(node, AppNode) and self.rules.price != 1.0:
                assert node.parent is not None
                self._reprice(node.parent, now_s)
        for node, charge in charges:
            node.usage.phi = charge
            if node.parent is not None:
                node.parent.turns.touch(node)
