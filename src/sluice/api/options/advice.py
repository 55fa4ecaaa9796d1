"""The options of `advise`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from sluice.api.options.fairness import AllRuns
from sluice.api.options.fields import like, option
from sluice.api.options.parsers import number

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AdviseOptions(AllRuns):
    """Options of `advise`."""

    all_runs: bool = like(
        "all_runs", AllRuns, text="The history is all recorded runs, in place of FILE."
    )
    objective: str | None = option(
        "bill, deadlines, response, makespan or fairness (default: bill with prices, else"
        " deadlines, else response).",
        metavar="NAME",
    )
    keep: Sequence[str] = option(
        "Bound that the choice keeps to, such as 'fairness_worst>=0.5'; may be given again.",
        (), metavar="BOUND",
    )  # fmt: skip
    seconds: float = option(
        "About as long as the simulations take on one core.",
        60.0, parser=partial(number, low=0), metavar="S",
    )  # fmt: skip
