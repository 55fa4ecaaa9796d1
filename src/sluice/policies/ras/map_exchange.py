"""Placement of maps: rounds that raise the lowest utilities.

On each node the job with the lowest utility that could run there gets a slot. If there is no room,
jobs whose utility stays strictly above its utility lose slots on the node, highest utility first,
until there is room. A trial that fails is undone. So each exchange raises the sorted vector of
utilities lexicographically: the loop ends, and the lowest utility never falls.

The search is pruned, which changes no answer. Candidates are tried from the lowest utility up. One
whose utility is at or above what every job on the node has after a loss can take nothing, nor can
any candidate after it; those can only take free room, and whether anyone fits there is one
comparison of arrays. A trial is begun only if the map would fit without any slot of the jobs that
have more to lose than it has; that, too, is one comparison of arrays for all candidates of a node.

Source: RAS spec, section 5.3 (repaired; errata E4 to E6, E8, E9).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence

from sluice.policies.ras.placement import Placement

_FEW = 10  # candidates, which are tried faster than they are preselected
_SLACK = 1e-6  # the arrays only preselect; `has_map_room` decides


class MapRoom:
    """Finds the jobs for which a node has room, or could get it."""

    def __init__(self, placement: Placement) -> None:
        import numpy as np  # not above: settings of this policy are read before it is chosen

        self._placement = placement
        self._demands = np.array([job.map_demand for job in placement.jobs])

    def lowest(self, node: int) -> int | None:
        """The job with the lowest utility that gets a map slot there as things are."""
        placement = self._placement
        if not placement.by_utility:
            return None
        import numpy as np

        free = np.array(placement.free(node)) + _SLACK
        fits = np.all(self._demands <= free, axis=1).tolist()
        if not any(fits):
            return None
        for _, job in placement.by_utility:
            if not fits[job] or placement.is_blocked(job, node):
                continue
            if placement.has_map_room(job, node):
                return job
        return None

    def hopeful(self, poorer: Sequence[tuple[float, int]], node: int) -> list[int]:
        """Those of the jobs for which a map could fit once richer jobs have left the node.

        poorer: (utility, job). Only preselects: each slot of each richer job counts as free.
        """
        if len(poorer) < _FEW:
            return [job for _, job in poorer]
        import numpy as np

        placement = self._placement
        leaving = sorted((placement.utility_less[job], job) for job in placement.maps_on[node])
        bounds = [placement.free(node)]
        for _, job in reversed(leaving):
            bounds.append(_free_without(placement, bounds[-1], job, node))
        utilities = np.array([utility for utility, _ in poorer])
        jobs = np.array([job for _, job in poorer])
        kept = np.searchsorted(np.array([less for less, _ in leaving]), utilities, side="right")
        room = np.array(bounds)[len(leaving) - kept] + 2 * _SLACK
        found: list[int] = jobs[np.all(self._demands[jobs] <= room, axis=1)].tolist()
        return found


def _free_without(placement: Placement, free: Sequence[float], job: int, node: int) -> list[float]:
    """At most what is free of a node once a job has lost all its map slots there."""
    slots, demand = placement.maps_on[node][job], placement.jobs[job].map_demand
    found = [left + slots * amount for left, amount in zip(free, demand, strict=True)]
    placement.add_shuffle_freed(found, job, node, slots)
    return found


class ExchangeLoop:
    """Rounds over all nodes, until a round raises no utility; then what is left is filled."""

    def __init__(self, placement: Placement) -> None:
        self._placement = placement
        self._room = MapRoom(placement)

    def place(self, rounds: int) -> list[float]:
        """Place maps; at most that many rounds. Returns the lowest utility after each round."""
        placement, lowest = self._placement, []
        for _ in range(rounds):
            before = placement.sorted_utilities()
            for node in range(len(placement.nodes)):
                self._place_on(node)
            after = placement.sorted_utilities()
            lowest.append(after[0] if after else math.inf)
            if after <= before:
                break
        fill(placement, self._room)
        return lowest

    def _place_on(self, node: int) -> None:
        """Place maps on a node, and take some away."""
        raise AssertionError("each loop has its own")


class MapExchange(ExchangeLoop):
    """The repaired exchange loop."""

    def _place_on(self, node: int) -> None:
        while self._place_one(node):
            pass

    def _place_one(self, node: int) -> bool:
        """Give one slot on the node to the first job in order that can get one."""
        placement = self._placement
        fitting = self._room.lowest(node)
        highest = max((placement.utility_less[job] for job in placement.maps_on[node]), default=0.0)
        limit = (highest, -1)
        if fitting is not None:
            limit = min(limit, (placement.utility[fitting], fitting))
        if placement.maps_on[node]:
            poorer = placement.by_utility[: bisect_left(placement.by_utility, limit)]
            for job in self._room.hopeful(poorer, node):
                if placement.is_blocked(job, node) or not placement.fits_without_maps(job, node):
                    continue
                if self._exchange(job, node):
                    return True
        if fitting is None:
            return False
        placement.add_map(fitting, node)
        return True

    def _exchange(self, job: int, node: int) -> bool:
        """Make room for a map of the job at the cost of richer jobs; undone if that fails."""
        placement = self._placement
        floor = placement.utility[job]
        if not self._can_make_room(job, node, floor):
            return False
        removed: list[int] = []
        while not placement.has_map_room(job, node):
            richer = [
                other
                for other in placement.maps_on[node]
                if other != job and placement.utility_less[other] > floor
            ]
            if not richer:
                for other in reversed(removed):
                    placement.add_map(other, node)
                return False
            loser = max(richer, key=lambda other: (placement.utility[other], other))
            placement.add_map(loser, node, -1)
            removed.append(loser)
        placement.add_map(job, node)
        return True

    def _can_make_room(self, job: int, node: int, floor: float) -> bool:
        """Whether a map fits once all richer jobs have lost what they may lose on the node.

        Most trials fail, and this finds it out without changing the placement.
        """
        placement = self._placement
        losses = {
            other: self._losses(other, node, floor)
            for other in placement.maps_on[node]
            if other != job and placement.utility_less[other] > floor
        }
        free = placement.free(node)
        for other, slots in losses.items():
            for r, amount in enumerate(placement.jobs[other].map_demand):
                free[r] += slots * amount
            placement.add_shuffle_freed(free, other, node, slots)
        demand = placement.jobs[job].map_demand
        if any(wanted > left + _SLACK for wanted, left in zip(demand, free, strict=True)):
            return False
        # The map also adds to the shuffles of its job on other nodes. They may be full.
        for other_node, lacking in placement.overgrown(job, node):
            left = [_SLACK - amount for amount in lacking]
            for other, slots in losses.items():
                placement.add_shuffle_freed(left, other, other_node, slots)
            if min(left) < 0:
                return False
        return True

    def _losses(self, job: int, node: int, floor: float) -> int:
        """How many slots on the node the job can lose, at least 1, and stay above the floor."""
        placement = self._placement
        slots, losses = placement.map_slots[job], 1
        while losses < placement.maps_on[node][job] and (
            placement.utility_with(job, slots - losses - 1) > floor
        ):
            losses += 1
        return losses


class PrintedExchange(ExchangeLoop):
    """The loop as the paper prints it, for comparison.

    It can starve a job whose map needs the room of two slots: after the first removal the job that
    has just lost a slot is itself the lowest with room, so the removal is undone. Kept apart from
    that are only repairs without which it does not end (errata E6 and E8). Source: RAS spec,
    section 6 (E4, E5); Algorithm 1 of the paper, lines 9 to 25.
    """

    def _place_on(self, node: int) -> None:
        self._take_away(node)
        while (job := self._room.lowest(node)) is not None:
            self._placement.add_map(job, node)

    def _take_away(self, node: int) -> None:
        """Take slots from the job with the highest utility, until it falls below a job with room.

        The last removal is undone.
        """
        placement = self._placement
        while placement.maps_on[node]:
            before = list(placement.utility)
            loser = max(placement.maps_on[node], key=lambda job: (placement.utility[job], job))
            placement.add_map(loser, node, -1)
            gainer = self._room.lowest(node)
            if gainer is None or placement.utility[loser] < before[gainer]:
                placement.add_map(loser, node)
                return


def fill(placement: Placement, room: MapRoom) -> None:
    """Hand out free room: pass over all nodes, one slot each, until nothing fits."""
    nodes = list(range(len(placement.nodes)))
    while nodes:
        left = []
        for node in nodes:
            job = room.lowest(node)
            if job is not None:
                placement.add_map(job, node)
                left.append(node)
        nodes = left
