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
    )


def _moved(counters: Mapping[str, int], what: str) -> int:
    """Bytes over all file systems but the node's own; HDFS_BYTES_READ, S3A_BYTES_READ, ..."""
    remote = sum(
        count
        for name, count in counters.items()
        if name.endswith(f"_{what}") and name != f"{_LOCAL}_{what}"
    )
    return remote or counters.get(what, 0)
