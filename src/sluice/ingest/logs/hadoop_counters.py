"""Hadoop's counters of one attempt, as work.

Counters are in groups whose names changed over the versions (`FileSystemCounters` before 0.23,
`org.apache.hadoop.mapreduce.FileSystemCounter` since); a counter's own name did not, so that is
what they are found by. Only the two file formats call theirs alike, BYTES_READ and BYTES_WRITTEN.

    input     bytes read from every file system but the node's own; where these are none, what the
              input format read (a job on local files)
    output    likewise what was written
    shuffled  of a map the output as it was stored (MAP_OUTPUT_MATERIALIZED_BYTES: combined and
              compressed), else as it was emitted (MAP_OUTPUT_BYTES); of a reduce what it fetched
"""

from __future__ import annotations

from collections.abc import Mapping

from sluice.ingest.logs.hadoop_attempts import MAP, Work
from sluice.ingest.logs.hadoop_values import amount, items, members

STORED, EMITTED = "MAP_OUTPUT_MATERIALIZED_BYTES", "MAP_OUTPUT_BYTES"
_LOCAL = "FILE"
_MEMORY = (
    "PHYSICAL_MEMORY_BYTES",
    "MAP_PHYSICAL_MEMORY_BYTES_MAX",
    "REDUCE_PHYSICAL_MEMORY_BYTES_MAX",
)


def counters_of(value: object) -> dict[str, int]:
    """Counters by name, in any group; values that are not counts are left out.

    >>> counters_of({"groups": [{"name": "g", "counts": [{"name": "SPILLED", "value": 3}]}]})
    {'SPILLED': 3}
    """
    found: dict[str, int] = {}
    for group in items(members(value).get("groups")):
        for counter in items(members(group).get("counts")):
            fields = members(counter)
            name, count = fields.get("name"), amount(fields.get("value"))
            if isinstance(name, str) and count is not None:
                found[name] = count
    return found


def work_of(counters: Mapping[str, int], kind: str) -> Work:
    """The work of an attempt of a kind, from its counters."""
    is_map = kind == MAP
    prefix = "MAP" if is_map else "REDUCE"
    return Work(
        input_bytes=_moved(counters, "BYTES_READ"),
        output_bytes=_moved(counters, "BYTES_WRITTEN"),
        shuffle_read_bytes=0 if is_map else counters.get("REDUCE_SHUFFLE_BYTES", 0),
        shuffle_write_bytes=counters.get(STORED, counters.get(EMITTED, 0)) if is_map else 0,
        input_records=counters.get(f"{prefix}_INPUT_RECORDS", 0),
        output_records=counters.get(f"{prefix}_OUTPUT_RECORDS", 0),
        cpu_ms=counters.get("CPU_MILLISECONDS"),
        rss_bytes=max((counters[name] for name in _MEMORY if name in counters), default=None),
        spilled_records=counters.get("SPILLED_RECORDS"),
        gc_ms=counters.get("GC_TIME_MILLIS"),
    )


def remote_maps(counters: Mapping[str, int]) -> int | None:
    """Maps away from their input, from the counters of a job; None if they do not hold it.

    Maps without input count as OTHER_LOCAL_MAPS, so that a job with those alone shows nothing.

    >>> remote_maps({"DATA_LOCAL_MAPS": 5, "RACK_LOCAL_MAPS": 2, "OTHER_LOCAL_MAPS": 1})
    3
    """
    if not counters.keys() & {"DATA_LOCAL_MAPS", "RACK_LOCAL_MAPS"}:
        return None
    return counters.get("RACK_LOCAL_MAPS", 0) + counters.get("OTHER_LOCAL_MAPS", 0)


def _moved(counters: Mapping[str, int], what: str) -> int:
    """Bytes over all file systems but the node's own; HDFS_BYTES_READ, S3A_BYTES_READ, ..."""
    remote = sum(
        count
        for name, count in counters.items()
        if name.endswith(f"_{what}") and name != f"{_LOCAL}_{what}"
    )
    return remote or counters.get(what, 0)
