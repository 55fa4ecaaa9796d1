"""The options of `fairness`."""

from __future__ import annotations

from dataclasses import dataclass

from sluice.api.options.fields import option, switch
from sluice.api.options.parsers import instant
from sluice.api.options.scheduling import SchedulerOfFile, SeededOfFile


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AllRuns:
    """Which of the recorded runs."""

    all_runs: bool = switch("Join all recorded runs, without the time between them.")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LedgerPeriods:
    """The options for what the ledger of tenants holds."""

    period_s: float | None = option(
        "Length of a period in seconds (default: about a twelfth of the time).",
        kind=float, parser=instant, metavar="T",
    )  # fmt: skip
    misreports: bool = switch("Search for what tenants could have gained by false demands.")


# The last base comes first, also below.
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FairnessOptions(SeededOfFile, SchedulerOfFile, LedgerPeriods):
    """Options of `fairness`, but for which runs."""
