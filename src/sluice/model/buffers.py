"""Settings of the in-memory buffer that a map task fills before it spills to disk."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sluice.model.errors import InvalidInput, wrong_value

MERGE_WIDTH_MIN = 2
MERGE_WIDTH_MAX = 64  # more open files than this gain little, and a process may have 256


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferSetting:
    """One buffer setting: Hadoop's io.sort.mb, .record.percent, .spill.percent and .factor.

    bytes: size of the buffer.  metadata_share: part of the buffer for metadata.
    spill_threshold: share of either part that is filled before a spill starts.
    merge_width: how many spills are merged at once; Hadoop's default is 10.
    Source: pareto, spec section 2; the width is Hadoop's.
    """

    bytes: float = 1e8
    metadata_share: float = 0.05
    spill_threshold: float = 0.8
    merge_width: int = 10

    def __post_init__(self) -> None:
        if not 1 <= self.bytes < math.inf:
            raise wrong_value("bytes", self.bytes, "buffer", "give finite bytes, 1 or more")
        for name in ("metadata_share", "spill_threshold"):
            share = getattr(self, name)
            if not 0 < share < 1:
                raise wrong_value(name, share, "buffer", "give a share between 0 and 1")
        if not MERGE_WIDTH_MIN <= self.merge_width <= MERGE_WIDTH_MAX:
            hint = f"give {MERGE_WIDTH_MIN} to {MERGE_WIDTH_MAX}"
            raise wrong_value("merge_width", self.merge_width, "buffer", hint)

    @property
    def spill_bytes(self) -> float:
        """Bytes of data that fill their part of the buffer. Source: pareto (18)."""
        return (1.0 - self.metadata_share) * self.bytes * self.spill_threshold

    @property
    def spill_metadata_bytes(self) -> float:
        """Bytes of metadata that fill their part of the buffer. Source: pareto (19)."""
        return self.metadata_share * self.bytes * self.spill_threshold

    def merge_passes(self, spills: int) -> int:
        """How often a record is merged, at most, until all spills of its map are one file.

        >>> [BufferSetting(merge_width=4).merge_passes(spills) for spills in (1, 2, 4, 5, 17)]
        [0, 1, 1, 2, 3]
        """
        passes = 0
        while spills > 1:
            spills = -(-spills // self.merge_width)
            passes += 1
        return passes


@dataclass(frozen=True, slots=True)
class Range:
    """All values from `low` to `high`, both included.

    >>> Range(1.28e8, 5.12e8).clipped(1e8)
    128000000.0
    """

    low: float
    high: float

    def clipped(self, value: float) -> float:
        """Return the value in the range that is nearest to `value`."""
        return min(max(value, self.low), self.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferRanges:
    """Range to tune each buffer setting in, and the setting to use without tuning.

    The default size range, 128 to 512 MB, is that of the paper's evaluation. The default ranges
    of both shares are wide.
    """

    bytes: Range = Range(1.28e8, 5.12e8)
    metadata_share: Range = Range(0.01, 0.5)
    spill_threshold: Range = Range(0.5, 0.95)
    default: BufferSetting = BufferSetting()

    def __post_init__(self) -> None:
        for name in ("bytes", "metadata_share", "spill_threshold"):
            span = getattr(self, name)
            if not span.low <= span.high:
                raise InvalidInput(
                    f"{name} is [{span.low:g}, {span.high:g}]",
                    where="buffer",
                    hint="give the lower end first, then the upper end",
                )
            # Both ends must be valid settings; BufferSetting checks them.
            for end in (span.low, span.high):
                BufferSetting(**{name: end})
