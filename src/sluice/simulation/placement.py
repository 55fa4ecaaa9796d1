"""Placement of input blocks: a random node, then two different nodes of one other rack.

Used if the cluster has racks. Source: dynamicmr spec, section 10 (locality).

A block takes four draws. By the methods of `random.Random` they would cost more than all else about
a task, so the words of the generator are drawn many at a time. What is made of them is the same as
by `choice` and `sample`, number by number.
"""

from __future__ import annotations

import random
from struct import unpack
from typing import Final

from mypy_extensions import i64

from sluice.core.state import Locations
from sluice.model.cluster import Cluster
from sluice.model.ids import NodeId
from sluice.model.job import Job
from sluice.simulation.settings import SimulationSettings

_WORD_BITS: Final = 32
_WORDS_MIN: Final = 32  # drawn together, at first
_WORDS_MAX: Final = 1024
_SAMPLED_MAX: Final = 5  # more than that let `sample` copy a longer list
_COPIED_MAX: Final = 21


class _Words:
    """The words of a generator, in the order in which `getrandbits` draws them one by one."""

    def __init__(self, seed: str) -> None:
        self._draw = random.Random(seed)
        self._words: tuple[int, ...] = ()
        self._next: i64 = 0
        self._count: i64 = 0

    def _draw_more(self) -> None:
        count = min(_WORDS_MAX, max(_WORDS_MIN, 2 * len(self._words)))
        self._words = unpack(f"<{count}I", self._draw.randbytes(4 * count))
        self._next, self._count = 0, count

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
            if self._next == self._count:
                self._draw_more()
            number = self._words[self._next]
            number >>= shift
            self._next += 1
        return number

    def sample(self, ids: list[NodeId], wanted: int) -> list[NodeId]:
        """So many different ones, in random order."""
        count = len(ids)
        copied_max = _COPIED_MAX
        if wanted > _SAMPLED_MAX:
            size = 1
            while size < 3 * wanted:
                size *= 4
            copied_max += size
        sampled: list[NodeId] = []
        if count <= copied_max:
            left = list(ids)
            while len(sampled) < wanted:
                count -= 1
                index = self.below(count + 1)
                sampled.append(left[index])
                left[index] = left[count]
            return sampled
        drawn: set[int] = set()
        while len(sampled) < wanted:
            index = self.below(count)
            if index not in drawn:
                drawn.add(index)
                sampled.append(ids[index])
        return sampled


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
            return {}
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
        return (first, *words.sample(near, min(self._replicas - 1, len(near))))
