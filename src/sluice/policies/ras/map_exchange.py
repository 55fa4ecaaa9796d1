"""Placement of maps: rounds that raise the lowest utilities.

On each node the job with the lowest utility that could run there gets a slot. If there is no room,
jobs whose utility stays strictly above its utility lose slots on the node, highest utility first,
until there is room. A trial that fails is undone. So each exchange raises the sorted vector of
utilities lexicographically: the loop ends, and the lowest utility never falls.

The search is pruned, which changes no answer. Candidates are tried from the lowest utility up. One
whose utility is at or above what every job on the node has after a loss can take nothing, nor can
any candidate after it; those can only take free room, and whether anyone fits there is one
comparison of arrays. A trial whose job exceeds the node even without maps is not begun.

Source: RAS spec, section 5.3 (repaired; errata E4 to E6, E8, E9).
"""

from __future__ import annotations

import math
from bisect import bisect_left

import numpy as np

from sluice.policies.ras.placement import Placement

_SLACK = 1e-6  # the arrays only preselect; `has_map_room` decides


class MapRoom:
    """Finds the job with the lowest utility for which a node has free room."""

    def __init__(self, placement: Placement) -> None:
        self._placement = placement
        self._demands = np.array([job.map_demand for job in placement.jobs])

    def lowest(self, node: int) -> int | None:
        """The job with the lowest utility that gets a map slot there as things are."""
        placement = self._placement
        if not placement.by_utility:
            return None
        maps, reduces = placement.map_use[node], placement.reduce_use[node]
        free = [
            most - one - other + _SLACK
            for most, one, other in zip(placement.limits[node], maps, reduces, strict=True)
        ]
        fits = np.all(self._demands <= np.array(free), axis=1).tolist()
        if not any(fits):
            return None
        for _, job in placement.by_utility:
            if fits[job] and placement.has_map_room(job, node):
                return job
        return None


class MapExchange:
    """The repaired exchange loop."""

    def __init__(self, placement: Placement) -> None:
        self._placement = placement
        self._room = MapRoom(placement)

    def place(self, rounds: int) -> list[float]:
        """Place maps; at most that many rounds. Returns the lowest utility after each round."""
        placement, lowest = self._placement, []
        for _ in range(rounds):
            before = placement.sorted_utilities()
            for node in range(len(placement.nodes)):
                while self._place_one(node):
                    pass
            after = placement.sorted_utilities()
            lowest.append(after[0] if after else math.inf)
            if after <= before:
                break
        fill(placement, self._room)
        return lowest

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
            for _, job in poorer:
                if placement.fits_without_maps(job, node) and self._exchange(job, node):
                    return True
        if fitting is None:
            return False
        placement.add_map(fitting, node)
        return True

    def _exchange(self, job: int, node: int) -> bool:
        """Make room for a map of the job at the cost of richer jobs; undone if that fails."""
        placement = self._placement
        floor = placement.utility[job]
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
