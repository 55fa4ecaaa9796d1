"""The lease of a node: how long it may be silent before it counts as lost.

A process that is frozen (SIGSTOP, a debugger, a hung disk) keeps its pipes open, so only the lack
of heartbeats shows it. Silence is measured while the engine listens: after a pause of its own, the
heartbeats of that time may still be on their way, so a pause counts as one look.
"""

from __future__ import annotations

import math

LOOK_S_MAX = 1.0
BEATS_PER_LEASE = 5
BEAT_S_MAX = 1.0


class Lease:
    """Lease of one node. lease_s: the longest silence, seconds; None for no limit.

    >>> lease = Lease(2.0)
    >>> lease.pass_time(600.0), lease.pass_time(0.5), lease.pass_time(0.6)
    (False, False, True)
    """

    def __init__(self, lease_s: float | None) -> None:
        self._lease_s = math.inf if lease_s is None else lease_s
        self._silent_s = 0.0

    @property
    def lease_s(self) -> float:
        """The longest silence, seconds; infinity for no limit."""
        return self._lease_s

    @property
    def beat_s(self) -> float:
        """How often the node is to send a heartbeat, seconds."""
        return min(BEAT_S_MAX, self._lease_s / BEATS_PER_LEASE)

    def renew(self) -> None:
        """The node has sent something."""
        self._silent_s = 0.0

    def pass_time(self, elapsed_s: float) -> bool:
        """Count the seconds since the last look; returns whether the lease is over."""
        self._silent_s += min(elapsed_s, LOOK_S_MAX)
        return self._silent_s > self._lease_s
