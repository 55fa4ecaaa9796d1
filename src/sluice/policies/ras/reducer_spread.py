"""Placement of reduces: evenly over the nodes. Reduces that are placed never move.

A reduce is placed only if afterwards each job with unplaced maps still fits one map on some node
that runs no other map. Otherwise reduces alone could fill the cluster for ever: they wait for maps
that find no room. For each such job one node is remembered that proves it, so that a new reduce is
checked against the few jobs whose proof is its own node.

Source: RAS spec, section 5.2.
"""

from __future__ import annotations

from collections.abc import Sequence

from sluice.policies.ras.placement import Placement


class ReducerSpread:
    """Places the reduces of all jobs."""

    def __init__(self, placement: Placement) -> None:
        self._placement = placement
        self._proofs: list[list[int]] = [[] for _ in placement.nodes]  # jobs by proving node

    def place(self, order: Sequence[int]) -> None:
        """Place what fits. order: the jobs, first served first."""
        wanting = [job for job in order if self._placement.has_unplaced_reduces(job)]
        if not wanting:
            return
        for job in range(len(self._placement.jobs)):
            if self._placement.has_unplaced_maps(job):
                self._prove(job)
        for job in wanting:
            while self._pass(job):
                pass

    def _pass(self, job: int) -> bool:
        """At most one reduce more on each node; whether another pass may place more."""
        placement, placed = self._placement, False
        totals = [sum(on.values()) for on in placement.reduces_on]
        nodes = sorted(
            range(len(totals)), key=lambda n: (totals[n], placement.reduces_on[n].get(job, 0), n)
        )
        for node in nodes:
            if not placement.has_unplaced_reduces(job):
                return False
            if placement.has_reduce_room(job, node):
                placement.add_reduce(job, node)
                if self._maps_still_fit(node):
                    placed = True
                else:
                    placement.add_reduce(job, node, -1)
        return placed

    def _maps_still_fit(self, node: int) -> bool:
        """Whether each job that relied on the node still fits there, or on another node."""
        placement = self._placement
        lost = [job for job in self._proofs[node] if not placement.fits_without_maps(job, node)]
        moves = []
        for job in lost:
            other = self._search(job)
            if other is None:
                return False
            moves.append((job, other))
        for job, other in moves:
            self._proofs[node].remove(job)
            self._proofs[other].append(job)
        return True

    def _prove(self, job: int) -> None:
        node = self._search(job)
        if node is not None:
            self._proofs[node].append(job)

    def _search(self, job: int) -> int | None:
        """A node that could run a map of the job if it ran no map; None if there is none."""
        nodes = len(self._placement.nodes)
        # Proofs are spread over the nodes: a node that proves many jobs costs many checks.
        first = job * 31 % nodes if nodes else 0
        order: list[int] = [*range(first, nodes), *range(first)]
        for node in order:
            if self._placement.fits_without_maps(job, node):
                return node
        return None
