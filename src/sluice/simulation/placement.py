"""Placement of input blocks: a random node, then two different nodes of one other rack.

Used if the cluster has racks. Source: dynamicmr spec, section 10 (locality).

A block takes four draws. By the methods of `random.Random` they would cost more than all else about
a task, so the words of the generator are drawn many at a time. What is made of them is the same as
by `choice` and `sample`, number by number.
"""

from __future__ import annotations

import random
from typing import Final

from librt.strings import read_i32_le
from mypy_extensions import i64

from sluice.core.state import Locations
from sluice.model.cluster import Cluster
from sluice.model.ids import NodeId
from sluice.model.job import Job
from sluice.simulation.settings import SimulationSettings

_WORD_BITS: Final = 32
_WORD_BYTES: Final = 4
_WORD_MASK: Final = 0xFFFF_FFFF
_BYTES_MIN: Final = 128  # drawn together, at first
_BYTES_MAX: Final = 4096
_SAMPLED_MAX: Final = 5  # more than that let `sample` copy a longer list
_COPIED_MAX: Final = 21
_NOWHERE: Final[Locations] = {}


class _Words:
    """The words of a generator, in the order in which `getrandbits` draws them one by one."""

    def __init__(self, seed: str) -> None:
        self._draw = random.Random(seed)
        self._words = b""
        self._next: i64 = 0  # the place of the next word
        self._end: i64 = 0

    def _draw_more(self) -> None:
        size = min(_BYTES_MAX, max(_BYTES_MIN, 2 * len(self._words)))
        self._words = self._draw.randbytes(size)
        self._next, self._end = 0, size

    def below(self, bound: int) -> int:
        """A number from 0 up and below a bound: as many bits as it has, until they are below."""
        most: i64 = bound
        shift: i64 = _WORD_BITS
        left: i64 = most
        while left:
            left >>= 1
            shift -= 1
        number: i64 = most
        while number >= most:
            if self._next == self._end:
                self._draw_more()
            number = i64(read_i32_le(self._words, self._next))
            number &= _WORD_MASK  # what was read is signed
            number >>= shift
            self._next += _WORD_BYTES
        return number

    def sample(self, ids: list[NodeId], wanted: int, sampled: list[NodeId]) -> None:
        """Add so many different ones, in random order, to what was sampled."""
        count = len(ids)
        copied_max = _COPIED_MAX
        if wanted > _SAMPLED_MAX:
            size = 1
            while size < 3 * wanted:
                size *= 4
            copied_max += size
        if count <= copied_max:
            left = list(ids)
            for last in range(count - 1, count - 1 - wanted, -1):
                index = self.below(last + 1)
                sampled.append(left[index])
                left[index] = left[last]
            return
        drawn: set[int] = set()
        while len(drawn) < wanted:
            index = self.below(count)
            if index not in drawn:
                drawn.add(index)
                sampled.append(ids[index])


class BlockPlacement:
    """Draws the replicas of each first-phase task's input block."""

    def __init__(self, cluster: Cluster, settings: SimulationSettings, seed: int) -> None:
        self._replicas = settings.replicas
        self._is_on = cluster.has_racks
        self._seed = seed
        numbers: dict[str, int] = {}
        self._racks: list[list[NodeId]] = []
        self._nodes: list[tuple[NodeId, int]] = []  # with the number of its rack
        for node in cluster.nodes:
            rack = numbers.setdefault(node.rack, len(numbers))
            if rack == len(self._racks):
                self._racks.append([])
            self._racks[rack].append(node.node_id)
            self._nodes.append((node.node_id, rack))

    def of(self, job: Job) -> Locations:
        """Node ids that hold each task's input, by phase; empty without racks."""
        if not self._is_on:
            return _NOWHERE
        words = _Words(f"{self._seed}/placement/{job.job_id}")
        return {
            index: tuple([self._block(words) for _ in range(phase.tasks)])
            for index, phase in enumerate(job.phases)
            if not phase.after
        }

    def _block(self, words: _Words) -> tuple[NodeId, ...]:
        first, rack = self._nodes[words.below(len(self._nodes))]
        others = len(self._racks) - 1
        if others:
            other = words.below(others)
            near = self._racks[other if other < rack else other + 1]
        else:
            # With one rack, the other replicas are on any other nodes of it.
            near = [node_id for node_id in self._racks[rack] if node_id != first]
        block = [first]
        words.sample(near, min(self._replicas - 1, len(near)), block)
        return tuple(block)
