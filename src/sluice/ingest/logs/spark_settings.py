"""The configuration of a Spark application: the properties that affect its speed, and its cores."""

from __future__ import annotations

import re
from collections.abc import Mapping

_KEPT = frozenset((
    "spark.default.parallelism",
    "spark.driver.memory",
    "spark.dynamicAllocation.enabled",
    "spark.dynamicAllocation.maxExecutors",
    "spark.dynamicAllocation.minExecutors",
    "spark.executor.cores",
    "spark.executor.instances",
    "spark.executor.memory",
    "spark.executor.memoryOverhead",
    "spark.io.compression.codec",
    "spark.locality.wait",
    "spark.master",
    "spark.memory.fraction",
    "spark.memory.offHeap.size",
    "spark.memory.storageFraction",
    "spark.reducer.maxSizeInFlight",
    "spark.scheduler.mode",
    "spark.serializer",
    "spark.shuffle.compress",
    "spark.shuffle.file.buffer",
    "spark.shuffle.service.enabled",
    "spark.shuffle.spill.compress",
    "spark.speculation",
    "spark.sql.adaptive.coalescePartitions.enabled",
    "spark.sql.adaptive.enabled",
    "spark.sql.adaptive.skewJoin.enabled",
    "spark.sql.autoBroadcastJoinThreshold",
    "spark.sql.files.maxPartitionBytes",
    "spark.sql.shuffle.partitions",
    "spark.task.cpus",
))  # fmt: skip
_VALUE_CHARACTERS_MAX = 200
QUEUE = "spark.yarn.queue"
_LOCAL = re.compile(r"local(?:-cluster)?\[(\d{1,6})(?:,\s*(\d{1,6}),\s*\d+|,\s*\d+)?\]")


def kept(properties: Mapping[str, object]) -> dict[str, str]:
    """Those that are of any use here, in order of their names, shortened."""
    given = dict(properties)
    return {
        name: str(given[name])[:_VALUE_CHARACTERS_MAX]
        for name in sorted(_KEPT | {QUEUE})
        if name in given
    }


def configuration_of(properties: Mapping[str, str], version: str | None) -> dict[str, str]:
    """The properties that bear on speed, and Spark's version."""
    found = {name: value for name, value in properties.items() if name in _KEPT}
    return {**found, "spark.version": version} if version else found


def task_cores(properties: Mapping[str, str]) -> int:
    """Cores that one task takes; 1 unless the application set another number.

    >>> task_cores({"spark.task.cpus": "2"}), task_cores({})
    (2, 1)
    """
    text = properties.get("spark.task.cpus", "1")
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 7 else 1  # noqa: PLR2004  # no machine has more


def local_cores(properties: Mapping[str, str]) -> int:
    """Cores of a local master that gives them; 0 for any other.

    >>> [local_cores({"spark.master": m}) for m in ("local[4]", "local-cluster[2,1,1024]", "yarn")]
    [4, 2, 0]
    """
    found = _LOCAL.fullmatch(properties.get("spark.master", ""))
    return int(found[1]) * int(found[2] or 1) if found else 0
