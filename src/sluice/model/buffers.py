"""Settings of the buffer in which a map gathers its output before it spills it to disk."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sluice.model.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferSetting:
    """One setting: io.sort.mb in bytes, io.sort.record.percent, io.sort.spill.percent.

    metadata_share: part of the buffer that holds metadata.  spill_threshold: how full either part
    grows before it is spilled. Source: pareto, spec section 2.
    """

    bytes: float = 1e8
    metadata_share: float = 0.05
    spill_threshold: float = 0.8

    def __post_init__(self) -> None:
        if not 1 <= self.bytes < math.inf:
            raise InvalidInput(
                f"bytes is {self.bytes}", where="buffer", hint="give finite bytes, 1 or more"
            )
        for name in ("metadata_share", "spill_threshold"):
            share = getattr(self, name)
            if not 0 < share < 1:
                raise InvalidInput(
                    f"{name} is {share}", where="buffer", hint="give a share between 0 and 1"
                )


@dataclass(frozen=True, slots=True)
class Range:
    """From `low` to `high`, both included.

    >>> Range(1.28e8, 5.12e8).clipped(1e8)
    128000000.0
    """

    low: float
    high: float

    def clipped(self, value: float) -> float:
        """The nearest value within."""
        return min(max(value, self.low), self.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferRanges:
    """What may be tried of each setting, and the setting to use where nothing is tuned.

    Where nobody gives ranges: 128 to 512 MB, as in the paper's evaluation, and wide ones of both
    shares.
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
                    hint="give the least first, then the greatest",
                )
            # Ends that could not be settings are refused as settings are.
            for end in (span.low, span.high):
                BufferSetting(**{name: end})
