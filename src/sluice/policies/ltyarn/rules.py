"""The rules of sharing in a tree of queues, apart from the queues themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sluice.model.ids import PoolId
from sluice.model.queues import Queue
from sluice.policies.ltyarn.tree import AppNode, ShareNode, from_the_top


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareRules:
    """The rules that the tree depends on; see the settings of the policies.

    round_s: of all queues that have none of their own; None for one endless round.
    counts_in_rounds: whether the queues of the file may have rounds of their own.
    inner_order: the order of all queues above the leaves; None for that of the file.
    charges_apps, charges_queues, charges_idle: whether late applications, late queues and idle
    queues are charged (PAR; erratum E7).  is_dominant: count dominant shares of the nodes'
    resources in place of units.  half_life_s: for decayed use.
    alpha, initial_credits: of Karma.
    """

    round_s: float | None = None
    counts_in_rounds: bool = False
    quantum_s: float = 1.0
    is_adaptive: bool = True
    inner_order: str | None = None
    charges_apps: bool = True
    charges_queues: bool = True
    charges_idle: bool = False
    price: float = 1.0
    is_dominant: bool = False
    half_life_s: float | None = None
    alpha: float = 1.0
    initial_credits: float | None = None

    @property
    def round_of_all_s(self) -> float:
        """Seconds of the round of all queues that have none of their own, infinite for endless."""
        return math.inf if self.round_s is None else self.round_s

    def round_below_s(self, queue: Queue, above_s: float) -> float:
        """Return how long a queue's round lasts. above_s: that of the queue above it."""
        own_s = queue.round_s if self.counts_in_rounds else None
        if own_s is None:
            return above_s
        return own_s or math.inf

    def remembered(self, queues: tuple[Queue, ...]) -> frozenset[PoolId]:
        """Return the queues whose use is never forgotten, as the queue above has no rounds."""
        below_s: dict[PoolId | None, float] = {None: self.round_of_all_s}
        for queue in from_the_top(queues):
            below_s[queue.queue_id] = self.round_below_s(queue, below_s[queue.parent])
        return frozenset(q.queue_id for q in queues if below_s[q.parent] == math.inf)


def charge_of(node: ShareNode, rules: ShareRules, now_s: float) -> float:
    """The charge of a late arrival, so that it does not start with nothing used (PAR).

    It is phi, equation (16): the highest level of the siblings that were active before.
    """
    if node.parent is None or not _is_charged(node, rules):
        return 0.0
    levels = [
        sibling.usage.used(now_s) / sibling.weight
        for sibling in node.parent.active
        if sibling.first_active_at_s is not None and sibling.first_active_at_s < now_s
    ]
    return node.weight * max(levels, default=0.0)


def _is_charged(node: ShareNode, rules: ShareRules) -> bool:
    if isinstance(node, AppNode):
        return rules.charges_apps
    is_late = node.registered_at_s > node.round.at_s
    return rules.charges_idle or (rules.charges_queues and is_late)
