"""Time quanta: how long a running task is assumed to take (Quantum Updater, section 5.4).

Top-down, once, when something new registers: it takes the quantum of its parent. Bottom-up, at
each instant at which a task has finished: an application takes the mean length of its finished
tasks, a queue the mean quantum of its active children, if there are any.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sluice.core.entries import Attempt
from sluice.core.transitions import AttemptState
from sluice.policies.ltyarn.tree import AppNode, QueueNode, Round, RunningTasks, ShareNode

_SUMMED_MAX: Final = 64


class Quanta:
    """Keeps quanta up to date, and with them which running tasks are young (see `usage`)."""

    def __init__(self, *, is_adaptive: bool) -> None:
        self._is_adaptive = is_adaptive
        self._learned: dict[AppNode, None] = {}  # with a task that has just finished
        self._left: list[QueueNode] = []  # of each of them that has left since
        self._stale: dict[QueueNode, None] = {}  # whose children's quanta or activity changed
        self._ends: list[tuple[float, int, RunningTasks]] = []  # when the next young one gets old
        self._due_s: dict[RunningTasks, float] = {}  # of each of them, its entry that counts
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
        if self._is_adaptive and attempt.state is AttemptState.DONE:
            app.finished += attempt.tasks
            app.finished_s += attempt.tasks * (attempt.finished_at_s - attempt.started_at_s)
            self._learned[app] = None

    def leave(self, app: AppNode) -> None:
        """The job has ended. What it has just learned is only of use to reports."""
        if app in self._learned and app.parent is not None:
            del self._learned[app]
            self._left.append(app.parent)
            app.quantum_s = app.finished_s / app.finished

    def refresh(self, now_s: float) -> None:
        """The bottom-up update, if a task has finished since the last one."""
        if not (self._learned or self._left):
            return
        for app in self._learned:
            before_s = app.quantum_s
            self._set(app, app.finished_s / app.finished, now_s)
            self._change(app, app.quantum_s - before_s if app.is_active else 0.0)
        for queue in self._left:
            queue.quanta_changes += 1
        self._learned.clear()
        self._left.clear()
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
        longer_s = quantum_s - app.quantum_s
        app.quantum_s = quantum_s
        for tasks in app.tasks:
            self._stretch(tasks, longer_s, now_s)
        self.age(now_s)

    def _stretch(self, tasks: RunningTasks, longer_s: float, now_s: float) -> None:
        """The quantum has changed by so much: some of the old tasks may be young again."""
        app = tasks.app
        amount, ends = tasks.amount, tasks.ends + longer_s * tasks.amount
        again: dict[Attempt, float] = {}
        for attempt in reversed(tasks.old):
            if tasks.old[attempt] + app.quantum_s <= now_s:
                break
            again[attempt] = tasks.old[attempt]
        if again:
            for attempt, start_s in again.items():
                del tasks.old[attempt]
                amount += app.amounts[attempt]
                ends += app.amounts[attempt] * (start_s + app.quantum_s)
            tasks.young = dict(reversed(again.items())) | tasks.young
        _add(tasks, amount - tasks.amount, ends - tasks.ends)
        self._watch(tasks)

    # --- memory -----------------------------------------------------------------------------------

    def saved(self, place_of: Mapping[ShareNode, int]) -> dict[str, Any]:
        """The start of the next updates, as JSON values. place_of: numbers of the nodes."""
        return {
            "ends": [
                [at_s, place_of[one.app], one.app.tasks.index(one)]
                for at_s, _, one in sorted(self._ends)
                if one.app in place_of and self._due_s.get(one) == at_s
            ],
            "learned": [place_of[app] for app in self._learned],
            "left": [place_of[queue] for queue in self._left],
            "stale": [place_of[queue] for queue in self._stale],
        }

    def restored(self, saved: Mapping[str, Any], nodes: Sequence[ShareNode]) -> None:
        """Take back what was saved. nodes: by their places."""
        for place in saved["learned"]:
            self._learned[_app(nodes[place])] = None
        for place in saved["left"]:
            self._left.append(_queue(nodes[place]))
        for place in saved["stale"]:
            self._stale[_queue(nodes[place])] = None
        for due_s, place, index in saved["ends"]:
            self._note(_app(nodes[place]).tasks[index], due_s)

    # --- young tasks ------------------------------------------------------------------------------

    def started(self, app: AppNode, attempt: Attempt, now_s: float) -> None:
        """A task runs from now on, and is young."""
        amount = app.amounts[attempt]
        for tasks in app.tasks:
            tasks.young[attempt] = now_s
            _add(tasks, amount, amount * (now_s + app.quantum_s))
            self._watch(tasks)

    def ended(self, app: AppNode, attempt: Attempt) -> None:
        """A task does not run any more."""
        amount = app.amounts.pop(attempt)
        for tasks in app.tasks:
            start_s = tasks.young.pop(attempt, None)
            if start_s is None:
                del tasks.old[attempt]
            else:
                _add(tasks, -amount, -amount * (start_s + app.quantum_s))

    def restart(self, round_: Round, apps: list[AppNode]) -> None:
        """A new round: every running task counts as started at its beginning. Erratum E8."""
        self._ends = [entry for entry in self._ends if entry[-1].round is not round_]
        heapq.heapify(self._ends)
        self._due_s = {one: at_s for one, at_s in self._due_s.items() if one.round is not round_}
        for tasks in [one for app in apps for one in app.tasks if one.round is round_]:
            tasks.young = dict.fromkeys([*tasks.old, *tasks.young], round_.at_s)
            tasks.old = {}
            tasks.amount = tasks.ends = 0.0
            amount = sum(tasks.app.amounts[attempt] for attempt in tasks.young)
            _add(tasks, amount, amount * (round_.at_s + tasks.app.quantum_s))
            self._watch(tasks)

    def age(self, now_s: float) -> None:
        """Tasks that have run for a quantum by now are no longer young."""
        ends = self._ends
        while ends and ends[0][0] <= now_s:
            due_s, _, tasks = heapq.heappop(ends)
            if self._due_s.get(tasks) != due_s:
                continue  # another entry has taken its place
            del self._due_s[tasks]
            self._age(tasks, now_s)
            self._watch(tasks)

    def _age(self, tasks: RunningTasks, now_s: float) -> None:
        amounts, quantum_s = tasks.app.amounts, tasks.app.quantum_s
        amount = ends = 0.0
        while tasks.young:
            attempt, start_s = next(iter(tasks.young.items()))
            if start_s + quantum_s > now_s:
                break
            del tasks.young[attempt]
            tasks.old[attempt] = start_s
            amount += amounts[attempt]
            ends += amounts[attempt] * (start_s + quantum_s)
        if amount:
            _add(tasks, -amount, -ends)

    def _watch(self, tasks: RunningTasks) -> None:
        """Note when the oldest young task gets old.

        The note may be early, as that task may end before; it is never late.
        """
        if not tasks.young:
            return
        due_s = next(iter(tasks.young.values())) + tasks.app.quantum_s
        if due_s < self._due_s.get(tasks, math.inf):
            self._note(tasks, due_s)

    def _note(self, tasks: RunningTasks, due_s: float) -> None:
        self._due_s[tasks] = due_s
        self._pushed += 1
        heapq.heappush(self._ends, (due_s, self._pushed, tasks))


def _add(tasks: RunningTasks, amount: float, ends: float) -> None:
    """Change the sums of young tasks, and with them those of the nodes that count them.

    Where no task is young the sums are exactly 0, so that rounding does not pile up.
    """
    tasks.amount += amount
    tasks.ends += ends
    if not tasks.young:
        tasks.amount = tasks.ends = 0.0
    for node in tasks.nodes:
        usage = node.usage
        if node is tasks.app:
            usage.young_amount, usage.young_ends = tasks.amount, tasks.ends
        else:
            usage.young_amount += amount
            usage.young_ends += ends


def _mean_s(queue: QueueNode) -> float:
    """The mean quantum of the active children of a queue.

    Many are summed up only now and then, so that rounding does not pile up.
    """
    count = len(queue.active)
    if count <= _SUMMED_MAX or queue.quanta_changes >= count:
        queue.quanta_sum = sum([child.quantum_s for child in queue.active])
        queue.quanta_changes = 0
    return queue.quanta_sum / count


def _app(node: ShareNode) -> AppNode:
    assert isinstance(node, AppNode)
    return node


def _queue(node: ShareNode) -> QueueNode:
    assert isinstance(node, QueueNode)
    return node


def _depth(node: ShareNode) -> int:
    return len(node.path)
