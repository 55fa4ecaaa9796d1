"""Disk I/O of the maps of a job: spills of a buffer that fills repeatedly.

The paper's model charges a last, partly full spill as a full one, so a buffer larger than the
output costs more (E12). Under it tuning gains only this rounding. The `merge` model moves the
output once if it fits into one spill, and three times if all spills can be merged at once. Each
further pass of the merge reads and writes it again.
"""

from __future__ import annotations

from typing import NamedTuple

from sluice.model.buffers import BufferSetting
from sluice.model.prices import billed_units
from sluice.planning.pareto.problem import IoModel

METADATA_BYTES = 16.0  # of each record in the buffer
_PASS = 2.0  # a merge reads what was written, and writes it again


class MapShare(NamedTuple):
    """Output of one map: bytes and records."""

    bytes: float
    records: float

    @property
    def metadata_bytes(self) -> float:
        return METADATA_BYTES * self.records


class Spills(NamedTuple):
    """Number of spills of one map, and the bytes of one spill with data and metadata."""

    times: float
    filled_bytes: float


def spills(share: MapShare, setting: BufferSetting) -> Spills:
    """Spills of one map. Source: pareto (18) to (21), with E13: data wins ties.

    >>> setting = BufferSetting(bytes=1e8, metadata_share=0.05, spill_threshold=0.8)
    >>> found = spills(MapShare(60e6, 600_000), setting)
    >>> found.times, round(found.filled_bytes)
    (3.0, 29000000)
    """
    max_data, max_meta = setting.spill_bytes, setting.spill_metadata_bytes
    of_data = share.bytes / max_data
    of_meta = share.metadata_bytes / max_meta
    times = max(billed_units(of_data), billed_units(of_meta))
    record_bytes = share.bytes / share.records
    if of_data >= of_meta:
        return Spills(times, max_data + METADATA_BYTES * max_data / record_bytes)
    return Spills(times, max_meta + max_meta / METADATA_BYTES * record_bytes)


def moved_bytes(share: MapShare, setting: BufferSetting, model: IoModel) -> float:
    """Bytes that one map moves to and from its disk. Source: pareto (13), E12."""
    found = spills(share, setting)
    if model is IoModel.PAPER:
        return found.times * found.filled_bytes
    return share.bytes * (1.0 + _PASS * setting.merge_passes(round(found.times)))
