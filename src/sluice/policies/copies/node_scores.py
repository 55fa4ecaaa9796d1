"""The progress that the nodes have made, by which LATE finds those that are too slow for copies.

Source: dynamicmr spec, sections 4 and 5.4, with erratum E16.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import Any, Final

from sluice.core.entries import NodeEntry
from sluice.core.indexes.number_table import NumberTable
from sluice.core.state import ClusterState
from sluice.model.ids import NodeId

NODES_MIN: Final = 3  # that can be compared with each other


def percentile(ordered: list[float], percent: float, zeros: int = 0) -> float:
    """The percentile of sorted values, preceded by `zeros` more values that are 0.

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


class Score:
    """The score of a node, and the one in the list of all if it has changed since."""

    __slots__ = ("has_changed", "listed", "node", "score")

    def __init__(self, node: NodeEntry) -> None:
        self.node = node
        self.score = 0.0
        self.listed = 0.0
        self.has_changed = False


class NodeScores:
    """For each node, the progress of all attempts that run or succeeded on it, summed."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._scores: NumberTable[Score] = NumberTable()  # by index of the node
        self._ordered: list[float] = []  # of nodes that are up
        # Each report of a node changes its score once for each attempt there, and the list is read
        # between reports.
        self._changed: list[Score] = []
        self._seen_changes = -1
        self._up = 0

    def saved(self) -> list[tuple[NodeId, float]]:
        """The scores that are not 0, which no sum of what runs could repeat to the last bit."""
        found = [self._scores.get(node.index) for node in self._state.node_at]
        return [
            (one.node.node_id, one.score)
            for one in found
            if one is not None and one.score and self._state.nodes[one.node.node_id] is one.node
        ]

    def restored(self, saved: Sequence[Any]) -> None:
        """Take these scores, and no other."""
        self._scores = NumberTable()
        self._changed.clear()
        self._seen_changes = -1  # so that the nodes are counted again
        for node_id, value in saved:
            score = Score(self._state.nodes[node_id])
            score.score = value
            self._scores.put(score.node.index, score)

    def changing(self, node: NodeEntry) -> Score:
        """The score of a node, to which progress is added (or taken away) now."""
        score = self._scores.get(node.index)
        if score is None or score.node is not node:
            score = Score(node)
            self._scores.put(node.index, score)
        if not score.has_changed:
            score.has_changed = True
            score.listed = score.score
            self._changed.append(score)
        return score

    def is_slow(self, node: NodeEntry, percent: float) -> bool:
        """Whether a node is below the percentile of all nodes that are up.

        Of two nodes one is always below. The other may be the node of the slow attempt, and then
        no node would be left for a copy: so fewer than three nodes are not compared.
        """
        if self._seen_changes != self._state.node_changes:
            self._recount()
        elif self._changed:
            self._list_changed()
        if self._up < NODES_MIN:
            return False
        zeros = self._up - len(self._ordered)
        known = self._scores.get(node.index)
        score = 0.0 if known is None or known.node is not node else known.score
        return score < percentile(self._ordered, percent, zeros)

    def _list_changed(self) -> None:
        """Bring the ordered scores up to date."""
        ordered = self._ordered
        for one in self._changed:
            one.has_changed = False
            before, after = one.listed, one.score
            if one.node.is_up and after != before:
                if before:
                    del ordered[bisect_left(ordered, before)]
                if after:
                    insort(ordered, after)
        self._changed.clear()

    def _recount(self) -> None:
        """Nodes have joined or were lost."""
        self._seen_changes = self._state.node_changes
        for one in self._changed:
            one.has_changed = False
        self._changed.clear()
        self._up = 0
        ordered: list[float] = []
        for node in self._state.nodes.values():
            if node.is_up:
                self._up += 1
                score = self._scores.get(node.index)
                if score is not None and score.node is node and score.score:
                    ordered.append(score.score)
        ordered.sort()
        self._ordered = ordered
