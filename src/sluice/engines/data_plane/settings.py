"""Settings of the data plane."""

from __future__ import annotations

from dataclasses import dataclass

from sluice.model.settings import SettingsGroup, whole, word


@dataclass(frozen=True, kw_only=True)
class DataPlaneSettings(SettingsGroup):
    """How nodes of a cluster get data, and read from each other."""

    data_plane: str = word(
        "auto",
        "how nodes of a cluster get data: over the network where they cannot open it at the"
        " same path (auto), always so, or from folders that all of them share",
        "auto",
        "network",
        "shared",
    )
    fetches_max: int = whole(
        4,
        "the most map outputs that one reduce of a real run fetches at once from other nodes",
        low=1,
        high=64,
        reason="Hadoop's mapreduce.reduce.shuffle.parallelcopies; networks differ",
    )
    fetch_tries: int = whole(
        5,
        "tries to fetch from another node before its map output counts as lost",
        low=1,
        high=100,
        reason="Spark's spark.shuffle.io.maxRetries; networks differ",
    )
    fetch_compression: str = word(
        "auto",
        "compress map output between nodes of a real run: lz4 between machines (auto), always"
        " lz4 or zstd, or never",
        "auto",
        "lz4",
        "zstd",
        "off",
        reason="whether lz4 or zstd pays depends on processors and network",
    )
