"""Records that the maps of a Hadoop job spilled, next to those that its buffer makes them spill."""

from __future__ import annotations

from dataclasses import dataclass

from sluice.model.history import PastRun
from sluice.model.job import MapOutput
from sluice.planning.pareto.hadoop_buffers import SORT_MB, HadoopBuffer

_COMPRESSES = "mapreduce.map.output.compress"


@dataclass(frozen=True, slots=True, kw_only=True)
class MapSpills:
    """Records that all maps wrote to disk. sort_mb: size of the buffer of a map, MiB."""

    records: int
    predicted_records: int
    sort_mb: int


def map_spills(run: PastRun) -> MapSpills | None:
    """Compare a run with the prediction. None if its log lacks counters or the size of the buffer.

    Compressed output has no prediction: the buffer holds it uncompressed, the counters do not.
    """
    maps = [phase for phase in run.phases if phase.kind == "map" and phase.shuffle_write_bytes]
    spilled = [phase.costs.spilled_records for phase in maps if phase.costs is not None]
    is_compressed = run.configuration.get(_COMPRESSES, "false").lower() == "true"
    buffer = HadoopBuffer.configured(run.configuration)
    if SORT_MB not in run.configuration or buffer is None or is_compressed:
        return None
    records = sum(phase.output_records for phase in maps)
    if not records or None in spilled or len(spilled) < len(maps):
        return None
    output = MapOutput(bytes=sum(phase.shuffle_write_bytes for phase in maps), records=records)
    predicted = buffer.spills(output, sum(phase.tasks for phase in maps))
    return MapSpills(
        records=sum(one for one in spilled if one is not None),
        predicted_records=predicted.records,
        sort_mb=buffer.sort_mb,
    )
