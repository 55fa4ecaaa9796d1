"""Which tasks a queue below its guarantee takes containers back from.

Sources: the documents of Hadoop's CapacityScheduler and FairScheduler on preemption. Left out are
YARN's limits of one round (a tenth of the cluster), and the seconds between its looks.
"""

from __future__ import annotations

from collections.abc import Iterator

from sluice.core.entries import Attempt
from sluice.core.reasons import Reason, ReasonCode
from sluice.model.attempts import AttemptKey
from sluice.policies.yarn.queues import SchedulerRules, YarnQueue

_TINY = 1e-9


class Preemption:
    """after_s: seconds that a leaf waits below its guarantee before; None for no preemption."""

    def __init__(self, rules: SchedulerRules, after_s: float | None) -> None:
        self._rules = rules
        self._after_s = after_s
        self._starved_from_s: dict[YarnQueue, float] = {}
        self._running: dict[YarnQueue, dict[AttemptKey, Attempt]] = {}
        self._asked: dict[AttemptKey, None] = {}

    def began(self, attempt: Attempt, leaf: YarnQueue) -> None:
        """A task runs in a leaf."""
        if self._after_s is not None:
            self._running.setdefault(leaf, {})[attempt.key] = attempt

    def ended(self, attempt: Attempt, leaf: YarnQueue) -> None:
        """A task has ended; its container is given back with the node's next heartbeat."""
        if self._after_s is not None:
            self._running[leaf].pop(attempt.key, None)
            self._asked.pop(attempt.key, None)

    def wake_at_s(self, now_s: float) -> float | None:
        """The next instant at which a leaf has waited long enough."""
        after_s = self._after_s or 0.0
        wakes = [from_s + after_s for from_s in self._starved_from_s.values()]
        return min((at_s for at_s in wakes if at_s > now_s), default=None)

    def kills(self, now_s: float, over: int) -> Iterator[tuple[AttemptKey, Reason]]:
        """Tasks that end now, for leaves that have waited long enough.

        over: containers of tasks that have ended, which nodes will report.
        """
        if self._after_s is None:
            return
        free = self._rules.total - self._rules.root.used + over
        for leaf in self._starved(now_s):
            if now_s < self._starved_from_s[leaf] + self._after_s - _TINY:
                continue
            wanted = sum(app.pending * app.wants for app in leaf.apps if app.is_active)
            owed = int(min(leaf.guarantee - leaf.used + _TINY, wanted))
            for attempt in self._victims(owed - free - len(self._asked)):
                self._asked[attempt.key] = None
                path = leaf.queue.path if leaf.queue is not None else ""
                yield attempt.key, Reason(ReasonCode.PREEMPTED, (("queue", path),))

    def _starved(self, now_s: float) -> list[YarnQueue]:
        """Leaves below their guarantee with requests that wait; since when is kept."""
        leaves = [
            queue
            for queue in self._rules.queues.values()
            if queue.apps
            and queue.used + 1 <= queue.guarantee + _TINY
            and any(app.is_active and app.pending for app in queue.apps)
        ]
        known = self._starved_from_s
        self._starved_from_s = {leaf: known.get(leaf, now_s) for leaf in leaves}
        return leaves

    def _victims(self, wanted: int) -> Iterator[Attempt]:
        """Tasks of leaves above their guarantee, the youngest of the furthest above first."""
        left = wanted
        over = [leaf for leaf in self._running if leaf.queue and leaf.queue.is_preemptible]
        over.sort(key=lambda one: (-one.used / (one.guarantee or _TINY), one.index))
        for leaf in over:
            asked = sum(key in self._asked for key in self._running[leaf])
            spare = int(leaf.used - leaf.guarantee + _TINY) - asked
            for key, attempt in reversed(list(self._running[leaf].items())):
                if left <= 0 or spare <= 0:
                    break
                if key not in self._asked:
                    yield attempt
                    left -= 1
                    spare -= 1
