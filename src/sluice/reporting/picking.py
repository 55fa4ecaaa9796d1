"""Which of many things are shown."""

from __future__ import annotations


def picked_evenly(total: int, most: int) -> list[int]:
    """At most `most` places of `total`, with the first and the last. most: 2 or more.

    >>> picked_evenly(3, 5), picked_evenly(100, 4)
    ([0, 1, 2], [0, 33, 66, 99])
    """
    if total <= most:
        return list(range(total))
    return [round(place * (total - 1) / (most - 1)) for place in range(most)]
