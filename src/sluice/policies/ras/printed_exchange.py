"""The map loop as the paper prints it, for comparison.

It can starve a job whose map needs the room of two slots: after the first removal the job that has
just lost a slot is itself the lowest with room, so the removal is undone. Kept apart from that are
only repairs without which it does not end (errata E6 and E8).

Source: RAS spec, section 6 (E4, E5); Algorithm 1 of the paper, lines 9 to 25.
"""

from __future__ import annotations

from sluice.policies.ras.map_exchange import ExchangeLoop


class PrintedExchange(ExchangeLoop):
    """The printed exchange loop."""

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
