"""Time quanta: how long a running task is assumed to take (Quantum Updater, section 5.4).

Top-down, once, when something new registers: it takes the quantum of its parent. Bottom-up, at
each instant at which a task has finished: an application takes the mean length of its finished
tasks, a queue the mean quantum of its active children, if there are any.
"""

from __future__ import annotations

import heapq
import math
from typing import Final

from sluice.core.entries import Attempt
from sluice.core.transitions import AttemptState
from sluice.policies.ltyarn.tree import AppNode, QueueNode, ShareNode

_SUMMED_MAX: Final = 64


class Quanta:
    """Keeps quanta up to date, and with them which running tasks are young (see `usage`)."""

    def __init__(self, *, is_adaptive: bool) -> None:
        self._is_adaptive = is_adaptive
        self._learned: dict[AppNode, None] = {}  # with a task that has just finished
        self._stale: dict[QueueNode, None] = {}  # whose children's quanta or activity changed
        self._ends: list[tuple[float, int, AppNode]] = []  # when the next young task gets old
        self._due_s: dict[AppNode, float] = {}  # of each application, its entry that counts
        self._pushed = 0

    # --- quanta -----------------------------------------------------------------------------------

    def register(self, node: ShareNode) -> None:
        """A new queue has its own quantum, or takes its parent's, as an application does."""
        assert node.parent is not None
        own = node.own_quantum_s if isinstance(node, QueueNode) else None
        node.quantum_s = node.parent.quantum_s if own is None else own

    def activity(self, node: ShareNode) -> None:
        """The node has become active, or is no longer."""
        self._change(node, node.quantum_s if node.is_active else -node.quantum_s)

    def _change(self, node: ShareNode, more: float) -> None:
        """The sum of the quanta of its parent's active children has changed."""
        queue = node.parent
        if queue is not None:
            self._stale[queue] = None
            queue.quanta_sum += more
            queue.quanta_changes += 1

    def finished(self, app: AppNode, attempt: Attempt) -> None:
        """Learn the length of a task that ended well."""
        if attempt.state is AttemptState.DONE:
            app.finished += attempt.tasks
            app.finished_s += attempt.tasks * (attempt.finished_at_s - attempt.started_at_s)
            self._learned[app] = None

    def refresh(self, now_s: float) -> None:
        """The bottom-up update, if a task has finished since the last one."""
        if not (self._learned and self._is_adaptive):
            return
        for app in self._learned:
            before_s = app.quantum_s
            self._set(app, app.finished_s / app.finished, now_s)
            self._change(app, app.quantum_s - before_s if app.is_active else 0.0)
        self._learned.clear()
        while self._stale:
            # The deepest first: a changed queue makes its parent stale.
            deepest = max(self._stale, key=_depth)
            del self._stale[deepest]
            if not deepest.active:
                continue
            mean_s = _mean_s(deepest)
            if mean_s != deepest.quantum_s:
                more = mean_s - deepest.quantum_s
                deepest.quantum_s = mean_s
                self._change(deepest, more if deepest.is_active else 0.0)

    def _set(self, app: AppNode, quantum_s: float, now_s: float) -> None:
        if quantum_s == app.quantum_s:
            return
        tasks, usage = app.tasks, app.usage
        ends_before = usage.young_ends
        amount_before = usage.young_amount
        usage.young_ends += (quantum_s - app.quantum_s) * usage.young_amount
        app.quantum_s = quantum_s
        again: dict[Attempt, float] = {}
        for attempt in reversed(tasks.old):
            if tasks.old[attempt] + quantum_s <= now_s:
                break
            again[attempt] = tasks.old[attempt]
        if again:
            for attempt, start_s in again.items():
                del tasks.old[attempt]
                usage.young_amount += tasks.amounts[attempt]
                usage.young_ends += tasks.amounts[attempt] * (start_s + quantum_s)
            tasks.young = dict(reversed(again.items())) | tasks.young
        _carry(app, usage.young_amount - amount_before, usage.young_ends - ends_before)
        self._watch(app)
        self.age(now_s)

    # --- young tasks ------------------------------------------------------------------------------

    def started(self, app: AppNode, attempt: Attempt, now_s: float) -> None:
        """A task runs from now on, and is young."""
        app.tasks.young[attempt] = now_s
        amount = app.tasks.amounts[attempt]
        _add(app, amount, amount * (now_s + app.quantum_s))
        self._watch(app)

    def ended(self, app: AppNode, attempt: Attempt) -> None:
        """A task does not run any more."""
        start_s = app.tasks.young.pop(attempt, None)
        amount = app.tasks.amounts.pop(attempt)
        if start_s is None:
            del app.tasks.old[attempt]
        else:
            _add(app, -amount, -amount * (start_s + app.quantum_s))

    def restart(self, apps: list[AppNode], at_s: float) -> None:
        """A new round: every running task counts as started at its beginning. Erratum E8."""
        self._ends.clear()
        self._due_s.clear()
        for app in apps:
            tasks = app.tasks
            tasks.young = dict.fromkeys([*tasks.old, *tasks.young], at_s)
            tasks.old = {}
            amount = sum(tasks.amounts[attempt] for attempt in tasks.young)
            _add(app, amount, amount * (at_s + app.quantum_s))
            self._watch(app)

    def age(self, now_s: float) -> None:
        """Tasks that have run for a quantum by now are no longer young."""
        ends = self._ends
        while ends and ends[0][0] <= now_s:
            due_s, _, app = heapq.heappop(ends)
            if self._due_s.get(app) != due_s:
                continue  # another entry has taken its place
            del self._due_s[app]
            tasks, quantum_s = app.tasks, app.quantum_s
            amount = young_ends = 0.0
            while tasks.young:
                attempt, start_s = next(iter(tasks.young.items()))
                if start_s + quantum_s > now_s:
                    break
                del tasks.young[attempt]
                tasks.old[attempt] = start_s
                amount += tasks.amounts[attempt]
                young_ends += tasks.amounts[attempt] * (start_s + quantum_s)
            if amount:
                _add(app, -amount, -young_ends)
            self._watch(app)

    def _watch(self, app: AppNode) -> None:
        """Note when the application's oldest young task gets old.

        The note may be early, as that task may end before; it is never late.
        """
        if not app.tasks.young:
            return
        due_s = next(iter(app.tasks.young.values())) + app.quantum_s
        if due_s < self._due_s.get(app, math.inf):
            self._due_s[app] = due_s
            self._pushed += 1
            heapq.heappush(self._ends, (due_s, self._pushed, app))


def _add(app: AppNode, amount: float, ends: float) -> None:
    app.usage.young_amount += amount
    app.usage.young_ends += ends
    _carry(app, amount, ends)


def _carry(app: AppNode, amount: float, ends: float) -> None:
    """Change the sums of the queues above as those of the application changed.

    Where no task is young the sums are exactly 0, so that rounding does not pile up.
    """
    if not app.tasks.young:
        app.usage.young_amount = app.usage.young_ends = 0.0
    queue = app.parent
    while queue is not None:
        queue.usage.young_amount += amount
        queue.usage.young_ends += ends
        queue = queue.parent


def _mean_s(queue: QueueNode) -> float:
    """The mean quantum of the active children of a queue.

    Many are summed up only now and then, so that rounding does not pile up.
    """
    count = len(queue.active)
    if count <= _SUMMED_MAX or queue.quanta_changes >= count:
        queue.quanta_sum = sum([child.quantum_s for child in queue.active])
        queue.quanta_changes = 0
    return queue.quanta_sum / count


def _depth(node: ShareNode) -> int:
    return len(node.path)
