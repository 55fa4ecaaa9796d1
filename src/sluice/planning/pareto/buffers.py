"""Buffer settings that minimise the bytes that the maps of a job move.

Let W be the bytes and metadata that one map writes, and a how often they fill the buffer. The map
moves W * ceil(a) / a bytes, which is W if a is an integer. So the closed form looks for an integer
a that the ranges allow. If there is none, the largest a wastes least. Unlike the random searches of
the paper it is exact and costs O(1). Source: pareto, section 4.4.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace

from sluice.model.buffers import MERGE_WIDTH_MAX, BufferRanges, BufferSetting
from sluice.planning.pareto.problem import BufferTuning, IoModel
from sluice.planning.pareto.random_search import (
    Point,
    random_search,
    recursive_random_search,
    scaled,
)
from sluice.planning.pareto.spills import MapShare, moved_bytes, spills

DRAWS = 10_000
_ROUNDING = 1e-9
# For maps whose output is above the mean. Splits differ a little: without headroom such a map
# spills once more or merges in one more pass, and moves up to three times the bytes of the plan.
_HEADROOM = 1.1

BufferTuner = Callable[[BufferRanges, MapShare, IoModel], BufferSetting]


def closed_form(ranges: BufferRanges, share: MapShare, model: IoModel) -> BufferSetting:
    """Return the setting that moves least; of equals the smallest buffer, then fewest spills."""
    if model is IoModel.MERGE:
        return _for_fewest_passes(ranges, share)
    return _wide_enough(_without_waste(ranges, share), share)


class _Filling:
    """g(p): bytes of a buffer with metadata share p that holds the whole output of one map."""

    def __init__(self, ranges: BufferRanges, share: MapShare) -> None:
        self._share = share
        shares = ranges.metadata_share
        written = share.bytes + share.metadata_bytes
        # At this share data and metadata fill their parts at the same time.
        self.best_share = shares.clipped(share.metadata_bytes / written)
        self.least = self.at(self.best_share)
        self.worst_share = max(shares.low, shares.high, key=self.at)
        self.most = self.at(self.worst_share)

    def at(self, metadata_share: float) -> float:
        return max(
            self._share.bytes / (1.0 - metadata_share), self._share.metadata_bytes / metadata_share
        )


def _for_fewest_passes(ranges: BufferRanges, share: MapShare) -> BufferSetting:
    """For the `merge` model: the smallest buffer for which spills are merged least often.

    Only the number of passes counts: as many spills as can be merged at once cost the same as two.
    So the buffer has headroom for maps that write more than the mean, where the ranges allow it.
    """
    filling, threshold = _Filling(ranges, share), ranges.spill_threshold.high
    wanted = filling.least / threshold  # for a single spill, which is not merged
    while wanted > ranges.bytes.high * (1 + _ROUNDING):
        wanted /= MERGE_WIDTH_MAX
    found = BufferSetting(
        bytes=ranges.bytes.clipped(wanted * _HEADROOM),
        metadata_share=filling.best_share,
        spill_threshold=threshold,
    )
    return _wide_enough(found, share)


def _wide_enough(setting: BufferSetting, share: MapShare) -> BufferSetting:
    """The setting with the least merge width that merges its spills as seldom as any width, and
    those of a map with a little more output.
    """
    times = round(spills(share, setting).times)
    passes = replace(setting, merge_width=MERGE_WIDTH_MAX).merge_passes(times)
    width, wanted = 2, min(times * _HEADROOM, MERGE_WIDTH_MAX**passes)
    while width**passes < wanted:
        width += 1
    return replace(setting, merge_width=width)


def _without_waste(ranges: BufferRanges, share: MapShare) -> BufferSetting:
    """For the paper's model: make all spills full, if the ranges allow it."""
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
    """Return the metadata share p within its range with g(p) = wanted."""
    shares = ranges.metadata_share
    options = (1.0 - share.bytes / wanted, share.metadata_bytes / wanted)
    within = [shares.clipped(option) for option in options]
    return min(within, key=lambda option: abs(filling.at(option) - wanted))


def _floor(value: float) -> float:
    """Floor; a value just below an integer because of rounding gives that integer."""
    return float(math.floor(value * (1 + _ROUNDING))) if value < 1 / _ROUNDING else value


def _ceil(value: float) -> float:
    return float(math.ceil(value * (1 - _ROUNDING))) if value < 1 / _ROUNDING else value


def random_tuner(draw: random.Random, *, evaluations: int = DRAWS) -> BufferTuner:
    """The paper's random search: least I/O, then the smaller buffer. Source: Algorithm 5."""

    def tune(ranges: BufferRanges, share: MapShare, model: IoModel) -> BufferSetting:
        cost = _cost(ranges, share, model)
        found = random_search(cost, 3, draw=draw, evaluations=evaluations)
        return _wide_enough(_setting(ranges, found.point), share)

    return tune


def recursive_random_tuner(draw: random.Random, *, evaluations: int = DRAWS) -> BufferTuner:
    """Do what `random_tuner` does, by recursive random search."""

    def tune(ranges: BufferRanges, share: MapShare, model: IoModel) -> BufferSetting:
        cost = _cost(ranges, share, model)
        found = recursive_random_search(cost, 3, draw=draw, evaluations=evaluations)
        return _wide_enough(_setting(ranges, found.point), share)

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
        merge_width=MERGE_WIDTH_MAX,
    )


def untuned(ranges: BufferRanges, share: MapShare, model: IoModel) -> BufferSetting:  # noqa: ARG001  # a tuner like the others
    """Return the default setting; used if buffers are not tuned."""
    return ranges.default


def tuner(tuning: BufferTuning, draw: random.Random) -> BufferTuner:
    """Return the tuner for this kind of tuning. draw: random generator of the random searches."""
    if tuning is BufferTuning.CLOSED_FORM:
        return closed_form
    if tuning is BufferTuning.RANDOM:
        return random_tuner(draw)
    if tuning is BufferTuning.RECURSIVE_RANDOM:
        return recursive_random_tuner(draw)
    return untuned
