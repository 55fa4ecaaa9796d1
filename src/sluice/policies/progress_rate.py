"""Progress rates of attempts and progress of nodes, by which LATE finds stragglers.

The rate of an attempt is its last reported progress over the time that it took; the rate of a
finished attempt is 1 / its length. A phase keeps the rates of all of them in order, so that
a percentile is a look-up. Source: dynamicmr spec, sections 4 and 5.4, with erratum E16.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from typing import Final

from sluice.core.entries import Attempt, NodeEntry, PhaseEntry
from sluice.core.state import ClusterState
from sluice.core.transitions import AttemptState

_DONE: Final = AttemptState.DONE
_SHORTEST_S: Final = 1e-9  # an attempt that took no time has a rate all the same


def percentile(ordered: list[float], percent: float, zeros: int = 0) -> float:
    """The percentile of ordered values, of which `zeros` more are 0 and stand before them.

    At position (number - 1) * percent / 100, counted from 0, with linear interpolation.

    >>> percentile([0.001, 0.002, 0.007, 0.0075, 0.008], 25)
    0.002
    """
    count = len(ordered) + zeros
    if not count:
        return 0.0
    position = (count - 1) * percent / 100
    below = math.floor(position)
    low = ordered[below - zeros] if below >= zeros else 0.0
    above = min(below + 1, count - 1)
    high = ordered[above - zeros] if above >= zeros else 0.0
    return low + (high - low) * (position - below)


class PhasePace:
    """The attempts of one phase. running: rate of each that runs, in the order of their start."""

    __slots__ = ("rates", "running")

    def __init__(self) -> None:
        self.rates: list[float] = []  # of running and finished ones, ascending
        self.running: dict[Attempt, float] = {}

    def put(self, attempt: Attempt, rate: float) -> None:
        """The rate of an attempt that runs is now this."""
        before = self.running.get(attempt)
        if before is not None:
            self._remove(before)
        self.running[attempt] = rate
        insort(self.rates, rate)

    def finish(self, attempt: Attempt) -> None:
        """It runs no more; if it is done, its rate goes on to count."""
        self._remove(self.running.pop(attempt))
        if attempt.state is _DONE:
            length_s = attempt.finished_at_s - attempt.started_at_s
            insort(self.rates, 1 / max(length_s, _SHORTEST_S))

    def _remove(self, rate: float) -> None:
        del self.rates[bisect_left(self.rates, rate)]


class NodeScores:
    """The progress of all attempts that ended well or run on a node, summed, node by node."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._scores: dict[NodeEntry, float] = {}
        self._ordered: list[float] = []  # of nodes that are up
        self._seen_changes = -1

    def add(self, node: NodeEntry, progress: float) -> None:
        """A node has come so much further (or less far, below 0)."""
        before = self._scores.get(node, 0.0)
        self._scores[node] = before + progress
        if self._seen_changes == self._state.node_changes and node.is_up:
            if before:
                del self._ordered[bisect_left(self._ordered, before)]
            if before + progress:
                insort(self._ordered, before + progress)

    def is_slow(self, node: NodeEntry, percent: float) -> bool:
        """Whether a node is below the percentile of all nodes that are up."""
        if self._seen_changes != self._state.node_changes:
            self._recount()
        zeros = self._up - len(self._ordered)
        return self._scores.get(node, 0.0) < percentile(self._ordered, percent, zeros)

    def _recount(self) -> None:
        """Nodes have come or gone."""
        self._seen_changes = self._state.node_changes
        up = [node for node in self._state.nodes.values() if node.is_up]
        self._up = len(up)
        self._scores = {node: self._scores[node] for node in up if node in self._scores}
        self._ordered = sorted(score for score in self._scores.values() if score)


class Paces:
    """All paces of a run, kept up to date attempt by attempt.

    copies: how many copies run.  changed: phases in which attempts run whose paces have changed
    since somebody emptied it.
    """

    def __init__(self, state: ClusterState) -> None:
        self.phases: dict[PhaseEntry, PhasePace] = {}
        self.nodes = NodeScores(state)
        self.copies = 0
        self.changed: dict[PhaseEntry, None] = {}
        self._told: dict[Attempt, float] = {}
        state.observe_attempts(self)

    def began(self, attempt: Attempt) -> None:
        """As `AttemptObserver`."""
        pace = self.phases.get(attempt.phase)
        if pace is None:
            pace = self.phases[attempt.phase] = PhasePace()
        pace.put(attempt, 0.0)
        self.copies += attempt.launch.is_copy

    def told(self, attempt: Attempt) -> None:
        """As `AttemptObserver`."""
        pace = self.phases.get(attempt.phase)
        if pace is None or attempt not in pace.running:
            return
        ran_s = attempt.progress_at_s - attempt.started_at_s
        pace.put(attempt, attempt.progress / ran_s if ran_s > 0 else 0.0)
        self.nodes.add(attempt.node, attempt.progress - self._told.get(attempt, 0.0))
        self._told[attempt] = attempt.progress
        self.changed[attempt.phase] = None

    def ended(self, attempt: Attempt) -> None:
        """As `AttemptObserver`."""
        phase = attempt.phase
        self.copies -= attempt.launch.is_copy
        self.phases[phase].finish(attempt)
        told = self._told.pop(attempt, 0.0)
        self.nodes.add(attempt.node, (1.0 if attempt.state is _DONE else 0.0) - told)
        if self.phases[phase].running:
            self.changed[phase] = None
            return
        self.changed.pop(phase, None)
        if phase.is_done or phase.job.has_ended:
            del self.phases[phase]


def left_s(attempt: Attempt, rate: float, now_s: float) -> float:
    """How long an attempt would still take at its rate; infinite at rate 0."""
    if rate <= 0:
        return math.inf
    return (1 - attempt.progress) / rate - (now_s - attempt.progress_at_s)
