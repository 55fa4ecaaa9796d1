"""The sort buffer of a map of Hadoop 2 and later, and what its maps spill.

Data and metadata share the buffer, unlike in the paper's model: a spill starts when both together
fill the threshold. A map with one spill writes each record once; with more, each merge writes it
again. Hadoop merges the smallest files first, and in the first pass only so many that all later
passes merge as many as allowed.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping
from dataclasses import dataclass

from sluice.model.buffers import BufferSetting
from sluice.model.job import MapOutput
from sluice.model.prices import billed_units
from sluice.planning.pareto.spills import MapShare

SORT_MB = "mapreduce.task.io.sort.mb"
SORT_FACTOR = "mapreduce.task.io.sort.factor"
SPILL_PERCENT = "mapreduce.map.sort.spill.percent"
SORT_MB_MAX = 2047  # Hadoop refuses more
_MIB = 1 << 20
_SPILLS_MAX = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class HadoopSpills:
    """Spills of all maps of a job. records: written by spills and merges, as SPILLED_RECORDS.

    moved_bytes: written, and read again for each merge.
    """

    spills: int
    records: int
    moved_bytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HadoopBuffer:
    """The three settings, with Hadoop's defaults. sort_mb: MiB.  spill_percent: a share of it."""

    sort_mb: int = 100
    sort_factor: int = 10
    spill_percent: float = 0.8

    @classmethod
    def of(cls, setting: BufferSetting) -> HadoopBuffer:
        """The settings that spill no more often than this one, up to Hadoop's largest buffer.

        >>> HadoopBuffer.of(BufferSetting(bytes=1e8, merge_width=4)).sort_mb
        96
        """
        return cls(
            sort_mb=min(math.ceil(setting.bytes / _MIB), SORT_MB_MAX),
            sort_factor=setting.merge_width,
            spill_percent=setting.spill_threshold,
        )

    @classmethod
    def configured(cls, configuration: Mapping[str, str]) -> HadoopBuffer | None:
        """The settings of a job's configuration; None if they are not valid.

        >>> HadoopBuffer.configured({"mapreduce.task.io.sort.mb": "200"})
        HadoopBuffer(sort_mb=200, sort_factor=10, spill_percent=0.8)
        """
        try:
            found = cls(
                sort_mb=int(configuration.get(SORT_MB, cls().sort_mb)),
                sort_factor=int(configuration.get(SORT_FACTOR, cls().sort_factor)),
                spill_percent=float(configuration.get(SPILL_PERCENT, cls().spill_percent)),
            )
        except ValueError:
            return None
        is_valid = found.sort_mb > 0 and found.sort_factor > 1 and 0 < found.spill_percent <= 1
        return found if is_valid else None

    def options(self) -> dict[str, str]:
        """The settings by the names of Hadoop."""
        return {
            SORT_MB: str(self.sort_mb),
            SORT_FACTOR: str(self.sort_factor),
            SPILL_PERCENT: f"{self.spill_percent:.6g}",
        }

    def spills(self, output: MapOutput, maps: int) -> HadoopSpills:
        """The spills of that many maps with equal shares of the output, without a combiner.

        >>> HadoopBuffer(sort_mb=1).spills(MapOutput(bytes=6e6, records=60_000), maps=2)
        HadoopSpills(spills=10, records=120000, moved_bytes=18000000.0)
        """
        share = MapShare(output.bytes / maps, output.records / maps)
        filled = (share.bytes + share.metadata_bytes) / (self.sort_mb * _MIB * self.spill_percent)
        spills = round(billed_units(filled))
        merged = merged_times(spills, self.sort_factor)
        return HadoopSpills(
            spills=maps * spills,
            records=round(output.records * (1 + merged)),
            moved_bytes=output.bytes * (1 + 2 * merged),
        )


def merged_times(spills: int, factor: int) -> float:
    """The mean number of merges of a record until equal spills are one file.

    >>> [merged_times(spills, 10) for spills in (1, 2, 10, 11, 20)]
    [0.0, 1.0, 1.0, 1.1818181818181819, 1.6]
    """
    if spills == 1:
        return 0.0
    if spills > _SPILLS_MAX:
        return math.log(spills, factor)  # all passes are whole, but for some thousandths
    sizes, written = [1] * spills, spills  # the last merge writes all
    width = (spills - 1) % (factor - 1) + 1
    width = factor if width == 1 else width
    while len(sizes) > factor:
        merged = sum(heapq.heappop(sizes) for _ in range(width))
        heapq.heappush(sizes, merged)
        written += merged
        width = factor
    return written / spills
