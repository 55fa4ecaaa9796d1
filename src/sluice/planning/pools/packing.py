"""How many servers VMs of several types need: first fit, by decreasing units.

VMs of one type are placed together: servers with the same free units are one group, in the order in
which they were first used, so that the work depends on the number of types and not on that of VMs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

_ROUNDING = 1e-9


def servers_needed(counts: Sequence[int], units: Sequence[float], server_units: float) -> int:
    """Servers that first fit by decreasing units takes for `counts[k]` VMs of `units[k]`.

    >>> servers_needed([40, 40, 40], [2, 4, 8], 12)
    47
    >>> servers_needed([146, 31, 18], [2, 4, 8], 12)
    47
    """
    groups: list[list[float]] = []  # [free units, servers], in order of first use
    for pool in sorted(range(len(counts)), key=lambda place: (-units[place], place)):
        left = _into_groups(groups, counts[pool], units[pool])
        fit = math.floor(server_units / units[pool] + _ROUNDING)
        full, rest = divmod(left, fit)
        if full:
            groups.append([server_units - fit * units[pool], full])
        if rest:
            groups.append([server_units - rest * units[pool], 1])
    return round(sum(group[1] for group in groups))


def _into_groups(groups: list[list[float]], left: int, units: float) -> int:
    """Place VMs on servers in use, first fit; the number that is left over."""
    made: list[list[float]] = []
    for free, servers in groups:
        fit = math.floor(free / units + _ROUNDING)
        full = min(round(servers), left // fit) if fit else 0
        left -= full * fit
        if full:
            made.append([free - fit * units, full])
        untouched = servers - full
        if untouched and fit and left:
            made.append([free - left * units, 1])
            left, untouched = 0, untouched - 1
        if untouched:
            made.append([free, untouched])
    groups[:] = made
    return left
