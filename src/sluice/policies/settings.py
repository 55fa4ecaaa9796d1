"""Settings that several task policies share. A policy's own `Settings` derives from them.

Sources: dynamicmr spec, sections 3, 5.1, 5.4 and 10.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

from sluice.core.settings import HeartbeatSettings
from sluice.model.settings import SettingsGroup, flag, number, share, whole, word


@dataclass(frozen=True, kw_only=True)
class DelaySettings(SettingsGroup):
    """How long a job waits for a node near its data; see `DelayScheduling`."""

    node_wait_s: float = number(0.0, "seconds a job waits for a node that holds its input")
    rack_wait_s: float = number(0.0, "seconds it then waits for a rack that holds its input")


@dataclass(frozen=True, kw_only=True)
class SpeculationSettings(SettingsGroup):
    """Second copies of slow tasks, and the kill rule; see `late`, `sepb` and `slow_kill`."""

    speculation: str = word(
        "none", "second copies of slow tasks (fifo, fair, static, dynamicmr)", "none", "late"
    )
    spec_cap: float = number(
        0.1,
        "copies that run at once: below 1 a share of all slots, from 1 on their number",
        needs="speculation=late",
        reason="LATE's SpeculativeCap; sites choose what copies may cost",
    )
    slow_task: float = number(
        25.0,
        "percentile of rates below which a task is slow",
        high=100.0,
        needs="speculation=late",
        reason="LATE's SlowTaskThreshold; the paper studies its values",
    )
    slow_node: float = number(
        25.0,
        "percentile below which a node gets no copies",
        high=100.0,
        needs="speculation=late",
        reason="LATE's SlowNodeThreshold; the paper studies its values",
    )
    min_age_s: float | None = number(
        None,
        "seconds before an attempt is judged; none: 3 times the mean of its phase, from 1 to 60 s",
        needs="speculation=late",
    )
    kill_slow: bool = flag("kill attempts that run over twice the mean of their phase")
    sepb: float = share(
        0.0, "share of all jobs whose waiting tasks come before copies", needs="speculation=late"
    )
    sepb_pool: float = share(
        0.0,
        "share of the pool's jobs whose waiting tasks come before copies",
        needs="sepb_mode=pool",
        reason="SEPB of the DynamicMR thesis has a share for all jobs and one for the pool",
    )
    sepb_mode: str = word(
        "global",
        "whether sepb (all jobs) or sepb_pool (jobs of the pool) holds",
        "global",
        "pool",
        needs="speculation=late",
        reason="chooses between the two shares of SEPB",
    )

    def completed(self, given: frozenset[str]) -> Self:
        """A share of SEPB asks for copies by itself, unless `speculation` was set."""
        if "speculation" in given or not (self.sepb or self.sepb_pool):
            return self
        return replace(self, speculation="late")

    def copies_max(self, slots: int) -> int:
        """How many copies may run at once on that many slots.

        >>> SpeculationSettings().copies_max(108), SpeculationSettings(spec_cap=3).copies_max(108)
        (10, 3)
        """
        if self.spec_cap >= 1:
            return math.floor(self.spec_cap)
        return max(1, math.floor(self.spec_cap * slots)) if self.spec_cap else 0


@dataclass(frozen=True, kw_only=True)
class FifoSettings(SpeculationSettings, HeartbeatSettings):
    """Settings of `fifo`."""


@dataclass(frozen=True, kw_only=True)
class FairSettings(SpeculationSettings, DelaySettings):
    """Settings of `fair` and `static`."""


@dataclass(frozen=True, kw_only=True)
class YarnLikeSettings(SettingsGroup):
    """Settings of `yarn-like`. Source: dynamicmr spec, section 5.6."""

    ramp: float = share(
        0.5, "share of a job's containers that its early reduces may hold (yarn-like)"
    )


@dataclass(frozen=True, kw_only=True)
class LentSettings(SettingsGroup):
    """Which slots are lent, and how wide they are. Source: dynamicmr spec, section 3."""

    pct_map: float = share(1.0, "share of the unused map slots that reduces may use (dynamicmr)")
    pct_reduce: float = share(1.0, "share of the unused reduce slots that maps may use (dynamicmr)")
    w_map: float = number(1.0, "weight of a map, against a reduce (dynamicmr)", above=0.0)
    w_reduce: float = number(1.0, "weight of a reduce, against a map (dynamicmr)", above=0.0)
    case5: str = word(
        "at_once",
        "when a map runs away from its data rather than leave a slot idle (lent by pool)",
        "at_once",
        "after_wait",
    )
    reduce_slots_lent_max: int = whole(
        100_000,
        "reduce slots lent by prescheduling at most",
        reason="the thesis names it: mapred.prescheduler.maximumNumBorrowedReduceSlots",
    )


@dataclass(frozen=True, kw_only=True)
class LentRoomSettings(LentSettings):
    """Which slots are lent, and on which nodes; `dynamicmr` by itself lends on any."""

    lend: str = word(
        "where_it_fits",
        "on which nodes a task may borrow a slot: where its demand is free, or anywhere (lent)",
        "where_it_fits",
        "anywhere",
    )


@dataclass(frozen=True, kw_only=True)
class DynamicMRSettings(LentSettings, FairSettings, FifoSettings):
    """Settings of `dynamicmr`: what it lends, to whom, and in which order.

    Source: dynamicmr spec, section 3.
    """

    mode: str = word(
        "pi", "what lends slots: each kind as a whole, or the pools (dynamicmr)", "pi", "pd"
    )
    order: str = word("fair", "order of the jobs (dynamicmr)", "fair", "fifo")
    case5: str = word(
        "at_once",
        "when a map runs away from its data rather than leave a slot idle (dynamicmr, mode pd)",
        "at_once",
        "after_wait",
        needs="mode=pd",
    )
    prescheduling: bool = flag(
        "start maps near their data in slots beyond the balance line (dynamicmr)"
    )
    reduce_slots_lent_max: int = whole(
        100_000,
        "reduce slots lent by prescheduling at most",
        needs="prescheduling",
        reason="the thesis names it: mapred.prescheduler.maximumNumBorrowedReduceSlots",
    )
