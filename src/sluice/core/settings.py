"""Settings of the core, and those that the core's drivers and policies share."""

from __future__ import annotations

from dataclasses import dataclass

from sluice.model.settings import SettingsGroup, number, share, whole, word


@dataclass(frozen=True, kw_only=True)
class HeartbeatSettings(SettingsGroup):
    """How often nodes report."""

    heartbeat_s: float = number(
        0.0, "seconds between heartbeats of a node; at 0 a freed slot is refilled at once"
    )


@dataclass(frozen=True, kw_only=True)
class TimeoutSettings(SettingsGroup):
    """When an attempt without progress is ended."""

    task_timeout_s: float | None = number(
        600.0,
        "seconds without progress after which an attempt is ended",
        above=0.0,
        may_be_none=True,
    )


@dataclass(frozen=True, kw_only=True)
class ShuffleSettings(SettingsGroup):
    """The settings that a shuffling reduce uses. Source: RAS spec, sections 3 and 6 (E11, E12)."""

    parallel_copies: int = whole(
        5,
        "the most maps that one reduce fetches from at once (ras, or contention=shared)",
        low=1,
        reason="Hadoop's mapreduce.reduce.shuffle.parallelcopies; the RAS paper names it",
    )
    shuffle_memory: str = word(
        "profile",
        "memory of a shuffling reduce: that of its profile, or as much as its work"
        " (ras, or contention=shared)",
        "profile",
        "reduce",
    )


@dataclass(frozen=True, kw_only=True)
class CoreSettings(SettingsGroup):
    """The settings that the scheduler itself reads; see `core.scheduler.Rules`."""

    slowstart: float = share(1.0, "share of a job's maps done before its reduces may start")
    failures_max: int = whole(
        4,
        "failures of one task that fail its job",
        low=1,
        high=1000,
        reason="Hadoop's mapreduce.map.maxattempts: work that fails often by nature needs more",
    )
    equal_failures_max: int | None = whole(
        3,
        "tasks whose first attempts fail with the same exception that fail their job at once",
        low=2,
        high=1000,
        may_be_none=True,
        reason="of a service that is down for a while, all tasks fail with the same exception",
    )
    node_faults_max: int = whole(
        5,
        "faults of a node in a row after which it gets no more tasks",
        low=1,
        high=1000,
        reason="clusters of spot machines lose nodes that are good again a minute later",
    )
