"""The options of `predict`, `eta` and `quote`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sluice.api.options.fields import count, option
from sluice.api.options.history import MACHINES, Levelled, Priced, RentedType, RunsOfLogs, Stored
from sluice.api.options.scheduling import Seeded

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_COUNT_MAX = 10**6
LISTS = "squeue, Workloads of Kueue, applications of YARN, or its web address"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PredictedSlots(RunsOfLogs):
    """How many slots or VMs a job will have."""

    slots: int | None = count(
        "Slots of each stage (default: those of FILE's cluster, or of the newest run).",
        low=1, high=_COUNT_MAX, panel=MACHINES,
    )  # fmt: skip
    vms: int | None = count(
        "Number of VMs, instead of slots.", low=1, high=_COUNT_MAX, panel=MACHINES
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Interrupted:
    """The time that spot VMs cost, and how much the job reads."""

    interruptions: float = option(
        "How often a spot VM is taken back in an hour, such as 0.05.",
        0.0, metavar="N", panel=MACHINES,
    )  # fmt: skip
    boot_s: float = option(
        "Seconds until another VM takes its place.",
        120.0, name="boot", metavar="SECONDS", panel=MACHINES,
    )  # fmt: skip
    input_bytes: int | None = count(
        "Input size (default: that of the newest run).", high=10**18, metavar="B"
    )


# Fields of the last base come first, also below.
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PredictOptions(Stored, Levelled, Interrupted, Priced, RentedType, PredictedSlots):
    """Options of `predict`."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class QueueFacts:
    """The facts that are known of a live queue."""

    history: Sequence[str | Path] = option(
        "Log of jobs that ended, in any format of import; may be given again.", (), metavar="FILE"
    )
    slots: int | None = count(
        "Slots of the cluster (default: the most that were in use).", low=1, high=10**7
    )
    nodes: str | Path | None = option(
        "What sinfo prints: the slots are the processors of nodes that are up.", metavar="FILE"
    )
    backfills: bool | None = option(
        "Whether jobs start out of turn (default: as the scheduler of the list does).",
        kind=bool, name="backfill", flag="--backfill/--no-backfill",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class QuoteOptions(Seeded, Levelled, QueueFacts):
    """Options of `quote`."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Futures:
    """How many futures are simulated."""

    replications: int | None = count(
        "Futures that are simulated (default: 100, fewer for more than 1,000 jobs).",
        low=1, high=10_000,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class QueueOrService:
    """The live queue."""

    queue: str | Path | None = option(
        f"List of the queue: {LISTS} (default: the queue of the service).", metavar="FILE"
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EtaOptions(Seeded, Futures, Levelled, QueueFacts, QueueOrService):
    """Options of `eta`."""
