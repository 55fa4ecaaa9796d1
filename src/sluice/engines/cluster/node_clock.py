"""How far the clock of a node is ahead of this one, from the clock readings in its frames.

A frame says what time it was on the node when it was sent. It arrives later, by an unknown delay,
so that (node's reading - own reading) is never above the true difference, and the largest one seen
is the best. Two clocks also drift apart: an old reading counts a little less with each second.
Source: the one-way filter of NTP, RFC 5905, section 10 (smallest delay of the last samples); drift
as its section 11.3 bounds it, 15 ppm for a good oscillator; ten times that here.
"""

from __future__ import annotations

import math

DRIFT_MAX = 150e-6  # seconds per second


class NodeClock:
    """Of one node.

    >>> clock = NodeClock()
    >>> clock.observe(node_s=105.0, here_s=5.5)  # half a second on the way
    >>> clock.observe(node_s=106.0, here_s=6.0)
    >>> clock.observe(node_s=107.0, here_s=9.0)
    >>> round(clock.ahead_s, 3)
    100.0
    """

    def __init__(self) -> None:
        self.ahead_s = -math.inf
        self._seen_at_s = 0.0

    def observe(self, *, node_s: float, here_s: float) -> None:
        """A frame that was sent when it was `node_s` there arrived when it was `here_s` here."""
        faded_s = self.ahead_s - DRIFT_MAX * (here_s - self._seen_at_s)
        self.ahead_s = max(node_s - here_s, faded_s)
        self._seen_at_s = here_s
