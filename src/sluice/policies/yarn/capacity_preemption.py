"""Which tasks CapacityScheduler takes containers back from.

Source: the code of Hadoop 3.3, ProportionalCapacityPreemptionPolicy and its selectors. There,
rounds mark tasks, and kill those marked for long; a queue above its ideal share by a part of a
container loses a whole one, so that it may lose another one whenever it has grown again. Left out
are a user's limit of what waits, and masters, which YARN takes when they exceed their share of the
queue.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sluice.core.entries import Attempt, PhaseEntry
from sluice.core.reasons import Reason
from sluice.model.attempts import AttemptKey
from sluice.model.queue_tree import LeafOrder
from sluice.policies.memory import finite, or_infinite
from sluice.policies.yarn.preemption import Preemption, reason_of
from sluice.policies.yarn.queues import Application, SchedulerRules, YarnQueue

_ROUND_S = 3.0  # YARN's default
_TINY = 1e-9
_LEAST = 1e-3  # containers; YARN counts in MB


class CapacityPreemption(Preemption):
    """Rounds of the preemption of the capacity scheduler.

    after_s: seconds between rounds, and those for which a task stays marked, together.
    """

    def __init__(self, rules: SchedulerRules, after_s: float) -> None:
        self._rules = rules
        self._running: dict[YarnQueue, dict[AttemptKey, Attempt]] = {}
        self._apps: dict[AttemptKey, Application] = {}
        self._every_s = rules.said.round_s or _ROUND_S
        self._wait_s = max(0.0, after_s - self._every_s)
        self._due_s = math.inf
        self._marked_s: dict[AttemptKey, float] = {}
        self._killed: set[AttemptKey] = set()

    def saved(self) -> dict[str, Any]:
        return {
            "leaves": [leaf.index for leaf in self._running],
            "due_s": finite(self._due_s),
            "marked_s": list(self._marked_s.items()),
            "killed": sorted(self._killed),
        }

    def restored(self, saved: Mapping[str, Any]) -> None:
        queues, known = list(self._rules.queues.values()), self._running
        self._running = {queues[one]: known.get(queues[one], {}) for one in saved["leaves"]}
        self._due_s = or_infinite(saved["due_s"])
        self._marked_s = {AttemptKey(*key): at_s for key, at_s in saved["marked_s"]}
        self._killed = {AttemptKey(*key) for key in saved["killed"]}

    def began(self, attempt: Attempt, app: Application) -> None:
        self._running.setdefault(app.queue, {})[attempt.key] = attempt
        self._apps[attempt.key] = app

    def ended(self, attempt: Attempt, app: Application) -> bool:
        self._running[app.queue].pop(attempt.key, None)
        self._apps.pop(attempt.key, None)
        self._marked_s.pop(attempt.key, None)
        is_killed = attempt.key in self._killed
        self._killed.discard(attempt.key)
        return is_killed

    def wake_at_s(self, now_s: float) -> float | None:
        """The next round, unless it would find nothing."""
        is_over = any(leaf.used > leaf.guarantee for leaf in self._running)
        if not is_over or not self._rules.is_waiting:
            self._due_s = math.inf
            return None
        if self._due_s == math.inf:
            self._due_s = (math.floor(now_s / self._every_s + _TINY) + 1) * self._every_s
        return self._due_s

    def kills(
        self, now_s: float, over: Sequence[tuple[Application, PhaseEntry | None, bool]]
    ) -> Iterator[tuple[AttemptKey, Reason]]:
        if now_s < self._due_s - _TINY:
            return
        self._due_s = math.inf
        marked_s, wait_s = self._marked_s, self._wait_s
        killed: list[tuple[AttemptKey, Reason]] = []
        for attempt, leaf in self._chosen(over):
            if marked_s.setdefault(attempt.key, now_s) + wait_s <= now_s + _TINY:
                del marked_s[attempt.key]
                killed.append((attempt.key, reason_of(leaf)))
        # One that is no longer selected is forgotten only later, so that it may soon be killed.
        for key in [key for key, at_s in marked_s.items() if at_s + 2 * wait_s < now_s]:
            del marked_s[key]
        self._killed.update(key for key, _ in killed)
        yield from killed

    def _chosen(
        self, over: Sequence[tuple[Application, PhaseEntry | None, bool]]
    ) -> Iterator[tuple[Attempt, YarnQueue]]:
        """Tasks that this round selects, with their leaf."""
        used, wants = self._counted(over)
        said, ideals = self._rules.said, self._ideals(used, wants)
        needs: dict[YarnQueue, float] = {}
        for leaf in self._running:
            least = max(min(used[leaf] + wants[leaf], leaf.guarantee), ideals[leaf])
            needs[leaf] = max(0.0, used[leaf] - least)
        may = math.inf if said.round_share is None else said.round_share * self._rules.total
        part = min(1.0, may / (math.fsum(needs.values()) or _TINY))
        part *= 1.0 if said.natural_share is None else said.natural_share
        for leaf, need in needs.items():
            if used[leaf] <= leaf.guarantee * (1 + (said.ignored_share or 0.0)) + _TINY:
                continue
            left = need * part
            for attempt in self._in_turn(leaf):
                if left < _LEAST or may < 1 - _TINY:
                    break
                yield attempt, leaf
                left, may = left - 1, may - 1

    def _counted(
        self, over: Sequence[tuple[Application, PhaseEntry | None, bool]]
    ) -> tuple[Mapping[YarnQueue, int], Mapping[YarnQueue, int]]:
        """Containers that each queue has, and that it waits for."""
        used: Counter[YarnQueue] = Counter()
        wants: Counter[YarnQueue] = Counter()
        for queue in self._rules.queues.values():
            used[queue] += queue.used
            waits = sum(app.pending * app.wants for app in queue.apps if app.is_active)
            for one in queue.line() if waits else ():
                wants[one] += waits
        for app, phase, is_done in over:
            if phase is not None and not is_done:  # YARN counts it no longer
                for one in app.queue.line():
                    used[one] -= 1
        return used, wants

    def _in_turn(self, leaf: YarnQueue) -> list[Attempt]:
        """Tasks of the last application first, and of its first phase, the youngest first."""
        is_fair = leaf.queue is not None and leaf.queue.order is LeafOrder.FAIR
        found = reversed(list(self._running[leaf].values()))

        def place(attempt: Attempt) -> tuple[int, int, int]:
            app = self._apps[attempt.key]
            return -app.used if is_fair else 0, -app.number, attempt.phase.index

        return sorted(found, key=place)

    def _ideals(
        self, used: Mapping[YarnQueue, int], wants: Mapping[YarnQueue, int]
    ) -> Mapping[YarnQueue, float]:
        """The containers that each queue would have, if all were shared out again."""
        kept = self._kept(used)
        ideals = {self._rules.root: float(self._rules.total)}
        for queue in self._rules.queues.values():  # parents before children
            spans: list[tuple[float, float, float]] = []
            for child in queue.children:
                low = min(used[child], child.guarantee) + kept[child]
                high = min(child.limit, used[child] + wants[child])
                if not child.children:
                    high = min(high, max(child.guarantee, used[child]))
                spans.append((child.guarantee or _TINY, low, max(low, high)))
            ideals.update(zip(queue.children, filled(ideals[queue], spans), strict=True))
        return ideals

    def _kept(self, used: Mapping[YarnQueue, int]) -> Mapping[YarnQueue, float]:
        """The containers of queues above their guarantee, in leaves that are not preemptible."""
        kept: dict[YarnQueue, float] = {}
        free: dict[YarnQueue, float] = {}
        for queue in reversed(list(self._rules.queues.values())):
            above = max(0.0, used[queue] - queue.guarantee)
            if queue.children:
                free[queue] = min(above, math.fsum(free[child] for child in queue.children))
            else:
                is_free = queue.queue is not None and queue.queue.is_preemptible
                free[queue] = above if is_free else 0.0
            kept[queue] = above - free[queue]
        return kept


def filled(amount: float, spans: Sequence[tuple[float, float, float]]) -> list[float]:
    """Share an amount out, to the one with the least part of its guarantee first.

    spans: guarantee, least and most of each; the least is given in any case.
    """

    def at(level: float) -> list[float]:
        return [min(high, max(low, level * guarantee)) for guarantee, low, high in spans]

    below, has = 0.0, math.fsum(at(0.0))
    if has >= amount:
        return at(0.0)
    for level in sorted({end / guarantee for guarantee, *ends in spans for end in ends}):
        would = math.fsum(at(level))
        if would >= amount:
            return at(below + (level - below) * (amount - has) / (would - has))
        below, has = level, would
    return at(below)
