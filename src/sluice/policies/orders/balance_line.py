"""How many tasks a node may take, so that the demand is spread over all nodes."""

from __future__ import annotations


def balance_line(load: float, slots: int) -> int:
    """Tasks that a node with `slots` slots takes at a load: its share of the demand, rounded up.

    >>> balance_line(16 / 90, 10)
    2
    """
    if load >= 1:
        return slots
    wanted = load * slots - 1e-9
    whole = int(wanted)
    return whole if wanted <= whole else whole + 1  # math.ceil is a call, at every decision
