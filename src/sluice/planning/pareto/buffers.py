"""Buffer settings that make the maps of a job move as little as possible.

With W the bytes and the metadata that one map writes, and a the times that they fill the buffer,
W * ceil(a) / a bytes are moved: W exactly wherever a is whole. So the closed form looks for a whole
a within what the ranges allow; if there is none, the largest a wastes least.
Source: pareto, section 4.4.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from sluice.model.buffers import BufferRanges, BufferSetting
from sluice.planning.pareto.problem import BufferTuning, IoModel
from sluice.planning.pareto.random_search import (
    Point,
    random_search,
    recursive_random_search,
    scaled,
)
from sluice.planning.pareto.spills import MapShare, moved_bytes

DRAWS = 10_000
_ROUNDING = 1e-9

BufferTuner = Callable[[BufferRanges, MapShare, IoModel], BufferSetting]


def closed_form(ranges: BufferRanges, share: MapShare, model: IoModel) -> BufferSetting:
    """The setting that moves least; of several, one of least buffer, then of fewest spills."""
    if model is IoModel.MERGE:
        return _for_one_spill(ranges, share)
    return _without_waste(ranges, share)


class _Filling:
    """g(p): bytes that a buffer of metadata share p must hold at once, were it spilled once."""

    def __init__(self, ranges: BufferRanges, share: MapShare) -> None:
        self._share = share
        shares = ranges.metadata_share
        written = share.bytes + share.metadata_bytes
        # Where data and metadata fill their parts at the same moment.
        self.best_share = shares.clipped(share.metadata_bytes / written)
        self.least = self.at(self.best_share)
        self.worst_share = max(shares.low, shares.high, key=self.at)
        self.most = self.at(self.worst_share)

    def at(self, metadata_share: float) -> float:
        return max(
            self._share.bytes / (1.0 - metadata_share), self._share.metadata_bytes / metadata_share
        )


def _for_one_spill(ranges: BufferRanges, share: MapShare) -> BufferSetting:
    """Under `merge` only one thing counts: to spill once. Where that fails, the least buffer."""
    filling, threshold = _Filling(ranges, share), ranges.spill_threshold.high
    wanted = filling.least / threshold
    fits = wanted <= ranges.bytes.high * (1 + _ROUNDING)
    return BufferSetting(
        bytes=ranges.bytes.clipped(wanted) if fits else ranges.bytes.low,
        metadata_share=filling.best_share,
        spill_threshold=threshold,
    )


def _without_waste(ranges: BufferRanges, share: MapShare) -> BufferSetting:
    """Spills that are all full, if the ranges allow it."""
    filling = _Filling(ranges, share)
    sizes, thresholds = ranges.bytes, ranges.spill_threshold
    least, most = filling.least / thresholds.high, filling.most / thresholds.low  # l and u
    fills = _floor(most / sizes.low)
    if fills < 1 or fills < least / sizes.high * (1 - _ROUNDING):
        return BufferSetting(
            bytes=sizes.low, metadata_share=filling.worst_share, spill_threshold=thresholds.low
        )
    size = sizes.clipped(max(sizes.low, least / fills))
    fills = max(1.0, _ceil(least / size))
    threshold = filling.least / (fills * size)
    if threshold >= thresholds.low:
        return BufferSetting(
            bytes=size,
            metadata_share=filling.best_share,
            spill_threshold=thresholds.clipped(threshold),
        )
    metadata_share = _share_filled_by(ranges, share, fills * size * thresholds.low, filling)
    return BufferSetting(bytes=size, metadata_share=metadata_share, spill_threshold=thresholds.low)


def _share_filled_by(
    ranges: BufferRanges, share: MapShare, wanted: float, filling: _Filling
) -> float:
    """The metadata share p within its range for which g(p) is what is wanted."""
    shares = ranges.metadata_share
    options = (1.0 - share.bytes / wanted, share.metadata_bytes / wanted)
    within = [shares.clipped(option) for option in options]
    return min(within, key=lambda option: abs(filling.at(option) - wanted))


def _floor(value: float) -> float:
    """The floor, taking what rounding pressed below a whole number for that number."""
    return float(math.floor(value * (1 + _ROUNDING))) if value < 1 / _ROUNDING else value


def _ceil(value: float) -> float:
    return float(math.ceil(value * (1 - _ROUNDING))) if value < 1 / _ROUNDING else value


def random_tuner(draw: random.Random, *, evaluations: int = DRAWS) -> BufferTuner:
    """The paper's random search: the least I/O, ties to the smaller buffer. Algorithm 5."""

    def tune(ranges: BufferRanges, share: MapShare, model: IoModel) -> BufferSetting:
        cost = _cost(ranges, share, model)
        return _setting(ranges, random_search(cost, 3, draw=draw, evaluations=evaluations).point)

    return tune


def recursive_random_tuner(draw: random.Random, *, evaluations: int = DRAWS) -> BufferTuner:
    """The same cost by recursive random search."""

    def tune(ranges: BufferRanges, share: MapShare, model: IoModel) -> BufferSetting:
        cost = _cost(ranges, share, model)
        return _setting(
            ranges, recursive_random_search(cost, 3, draw=draw, evaluations=evaluations).point
        )

    return tune


def _cost(
    ranges: BufferRanges, share: MapShare, model: IoModel
) -> Callable[[Point], tuple[float, float]]:
    def cost(point: Point) -> tuple[float, float]:
        setting = _setting(ranges, point)
        return moved_bytes(share, setting, model), setting.bytes

    return cost


def _setting(ranges: BufferRanges, point: Point) -> BufferSetting:
    size, metadata, threshold = point
    return BufferSetting(
        bytes=scaled(size, ranges.bytes.low, ranges.bytes.high),
        metadata_share=scaled(metadata, ranges.metadata_share.low, ranges.metadata_share.high),
        spill_threshold=scaled(threshold, ranges.spill_threshold.low, ranges.spill_threshold.high),
    )


def untuned(ranges: BufferRanges, share: MapShare, model: IoModel) -> BufferSetting:  # noqa: ARG001  # a tuner like the others
    """What is used where nothing is tuned."""
    return ranges.default


def tuner(tuning: BufferTuning, draw: random.Random) -> BufferTuner:
    """The way of finding a setting, by name. draw: of the two that are random."""
    if tuning is BufferTuning.CLOSED_FORM:
        return closed_form
    if tuning is BufferTuning.RANDOM:
        return random_tuner(draw)
    if tuning is BufferTuning.RECURSIVE_RANDOM:
        return recursive_random_tuner(draw)
    return untuned
