"""Where the bytes of an input file are, and which nodes are nearest to a split of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from sluice.engines.mapreduce.splits import Split
from sluice.model.ids import NodeId


class PlacedPart(NamedTuple):
    """Bytes `start` up to `end` of a file, and the nodes that have them all."""

    start: int
    end: float
    nodes: tuple[NodeId, ...]


def nearest_nodes(split: Split, parts: Sequence[PlacedPart]) -> tuple[NodeId, ...]:
    """The nodes that have the most bytes of a split, in the order of the parts.

    >>> a, b, c = map(NodeId, "abc")
    >>> parts = [PlacedPart(0, 100, (a, b)), PlacedPart(100, 200, (c, b))]
    >>> nearest_nodes(Split(path="f", start=0, end=90), parts)
    ('a', 'b')
    >>> nearest_nodes(Split(path="f", start=50, end=160), parts)
    ('b',)
    """
    end = math.inf if split.end is None else split.end
    held: Counter[NodeId] = Counter()
    for part in parts:
        bytes_there = min(end, part.end) - max(split.start, part.start)
        if bytes_there > 0:
            for node in part.nodes:
                held[node] += 1 if bytes_there == math.inf else int(bytes_there)
    most = max(held.values(), default=0)
    return tuple(node for node, count in held.items() if count == most)
