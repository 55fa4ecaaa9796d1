"""The order of pools over both kinds of task together, for PD-DHSA.

Below the sum of its minimum shares a pool is needy and comes first; then by running / weight. At
unequal slot weights tasks count by what they take (erratum E24). Source: dynamicmr spec, 5.3.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import Final

from sluice.core.entries import PhaseEntry, PoolEntry, SlotUnits
from sluice.core.indexes.ranking import Ranking
from sluice.core.state import ClusterState
from sluice.model.slot_kind import SlotKind
from sluice.policies.job_order import JobOrder, Key
from sluice.policies.orders.share_order import ShareOrder

_MAP: Final = SlotKind.MAP
_REDUCE: Final = SlotKind.REDUCE


class Claimant:
    """A pool, or all jobs together, that is served in turn. pool: None for all jobs."""

    pool: PoolEntry | None = None

    def place(self) -> Key:
        """Its place, also if it can start nothing but copies."""
        return ()

    def key(self) -> Key | None:
        """Its place; None if it can start nothing."""
        return ()


_ALL_JOBS: Final = Claimant()
Placed = tuple[Key, int, Claimant]  # the number keeps claimants from being compared


class PoolsInTurn:
    """Whose turn it is among pools. Here there are none: one claimant represents all jobs."""

    def attach(self, state: ClusterState, line: JobOrder) -> None:
        """Called once before the first event. line: the order of jobs, attached already."""

    def take_up(self) -> None:
        """Pools have other weights and minimum shares, which the order of jobs knows already."""

    def in_order(self) -> Iterator[Placed]:
        """Those that can start something, with their places. Ask for no other order before this
        walk is over.
        """
        return iter((((), 0, _ALL_JOBS),))

    def of_pools(self, pools: list[PoolEntry]) -> list[Claimant]:
        """Those of these pools that are not in the order, for nothing of them waits."""
        return []


class JointShare(Claimant):
    """One pool's claim on slots of both kinds."""

    def __init__(self, pool: PoolEntry, order: ShareOrder, units: SlotUnits) -> None:
        self.pool = pool
        self._pool = pool
        self._order = order
        self._units = units

    def key(self) -> Key | None:
        self._order.settle()
        maps = self._order.share(self._pool, _MAP)
        reduces = self._order.share(self._pool, _REDUCE)
        if maps.key() is None and reduces.key() is None:
            return None
        return self.place()

    def place(self) -> Key:
        maps = self._order.share(self._pool, _MAP)
        reduces = self._order.share(self._pool, _REDUCE)
        wide_map, wide_reduce = self._units[_MAP], self._units[_REDUCE]
        running = wide_map * maps.running + wide_reduce * reduces.running
        demand = wide_map * maps.demand + wide_reduce * reduces.demand
        least = min(wide_map * maps.minimum + wide_reduce * reduces.minimum, demand)
        seniority = self._seniority()
        if running < least:
            return (0, running / max(1, least), seniority)
        return (1, running / self._pool.pool.weight, seniority)

    def _seniority(self) -> tuple[float, str]:
        """Earliest submission of its jobs, then its name."""
        first = self._pool.oldest
        submitted_at_s = 0.0 if first is None else first.submitted_at_s
        return (submitted_at_s, str(self._pool.pool_id))


class JointOrder(PoolsInTurn):
    """Pools by their share of both kinds of slot; an index over the state.

    order: the shares of each kind, as the line of turns counts them.
    """

    def __init__(self, units: SlotUnits) -> None:
        self._units = units
        self._ranking: Ranking[JointShare] = Ranking(JointShare.key)
        self._joint: dict[PoolEntry, JointShare] = {}

    def attach(self, state: ClusterState, line: JobOrder) -> None:
        self._order = line.shares
        state.observe(self, self._ranking.settle)

    def touch(self, phase: PhaseEntry) -> None:
        """See `Observer`."""
        pool = phase.job.pool
        joint = self._joint.get(pool)
        if joint is None:
            joint = self._joint[pool] = JointShare(pool, self._order, self._units)
        self._ranking.touch(joint)

    def take_up(self) -> None:
        for joint in self._joint.values():
            self._ranking.touch(joint)

    def in_order(self) -> Iterator[Placed]:
        return iter(self._ranking.entries())

    def of_pools(self, pools: list[PoolEntry]) -> list[Claimant]:
        return [self._joint[pool] for pool in pools if self._joint[pool].key() is None]


class PoolWalk:
    """Pools in their turn while one node is served; one with nothing to start is not asked again.

    Only the pool that has just been served changes its place, and only backwards. So the order is
    walked once, and the pools that were served are kept next to it by their new keys.

    copiers: pools of which nothing waits, for copies.
    """

    def __init__(self, pools: Iterator[Placed], copiers: Sequence[Claimant] = ()) -> None:
        self._rest = pools
        self._next = next(pools, None)
        self._served: list[Placed] = []
        self._count = 0
        self._again: Claimant | None = None
        for copier in copiers:
            self._count += 1
            heapq.heappush(self._served, (copier.place(), self._count, copier))

    def first(self) -> Claimant | None:
        """The next claimant; call `served` or `passed` with it before the next call."""
        following, served = self._next, self._served
        if following is not None and not (served and served[0][0] <= following[0]):
            return following[2]
        return served[0][2] if served else None

    def passed(self, claimant: Claimant) -> None:
        """It has nothing to start on this node."""
        if self._next is not None and claimant is self._next[2]:
            self._next = next(self._rest, None)
        else:
            heapq.heappop(self._served)

    def served(self, claimant: Claimant) -> None:
        """It is about to start something, and is asked again in its new turn."""
        self.passed(claimant)
        self._again = claimant

    def ask_again(self, claimant: Claimant) -> None:
        """It was passed over, but something has let it start after all."""
        self._again = claimant

    def settle(self) -> None:
        """The task of the claimant that was served has started, so its new place is known."""
        again, self._again = self._again, None
        assert again is not None, "settled before a claimant was served"
        key = again.key()
        if key is not None:
            self._count += 1
            heapq.heappush(self._served, (key, self._count, again))
