"""Results of several schedulers on one workload, with their spread over seeds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sluice.model.workload import Workload
from sluice.reporting.extras import data_frame
from sluice.reporting.fairness.result import FairnessResult
from sluice.reporting.run.result import RunResult

if TYPE_CHECKING:
    from pandas import DataFrame

Measure = Callable[[RunResult], float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureSpread:
    """Mean, standard deviation (0 for one run), minimum and maximum over runs."""

    mean: float
    sd: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float | None]) -> MeasureSpread | None:
        """None if a run has no value."""
        known = [value for value in values if value is not None]
        if not known or len(known) < len(values):
            return None
        return cls(
            mean=math.fsum(known) / len(known),
            sd=statistics.stdev(known) if len(known) > 1 else 0.0,
            least=min(known),
            most=max(known),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedScheduler:
    """One row. `spreads` by measure: makespan_s, total_response_s and so on."""

    scheduler: str
    runs: int
    spreads: Mapping[str, MeasureSpread | None]

    def document(self) -> dict[str, object]:
        """The row of the JSON document: means under the plain names, then their spread."""
        row: dict[str, object] = {"scheduler": self.scheduler, "runs": self.runs}
        for name, spread in self.spreads.items():
            row[name] = None if spread is None else spread.mean
            row[f"{name}_sd"] = None if spread is None else spread.sd
            row[f"{name}_min"] = None if spread is None else spread.least
            row[f"{name}_max"] = None if spread is None else spread.most
        return row


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerComparison:
    """Rows in the given order of schedulers. deadlines: number of jobs with one.

    ledgers: the fairness ledger of each scheduler's run with the first seed, if asked for.
    """

    rows: tuple[ComparedScheduler, ...]
    deadlines: int
    ledgers: Mapping[str, FairnessResult] = field(default_factory=dict)

    def document(self) -> dict[str, object]:
        """The one JSON document of `compare`."""
        rows = [row.document() for row in self.rows]
        ledgers = {name: ledger.document() for name, ledger in self.ledgers.items()}
        document: dict[str, object] = {"rows": rows, "deadlines": self.deadlines}
        return document | {"ledgers": ledgers} if ledgers else document

    def to_frame(self) -> DataFrame:
        """A pandas frame, one row a scheduler. Needs the extra `frame`."""
        return data_frame([row.document() for row in self.rows])

    def _repr_html_(self) -> str:
        return str(self.to_frame().to_html(index=False))


def compared(runs: Mapping[str, Sequence[RunResult]], workload: Workload) -> SchedulerComparison:
    """One row for each scheduler, from its runs."""
    measures: dict[str, Measure] = {
        "makespan_s": lambda run: run.makespan_s,
        "total_completion_s": lambda run: run.total_completion_s,
        "total_response_s": lambda run: run.total_response_s,
        "mean_response_s": lambda run: run.mean_response_s,
        "deadlines_met": lambda run: run.deadlines_met,
        "cost_usd": lambda run: _cost_usd(run, workload),
        "map_slots_used": lambda run: run.utilisation.get("map_slots"),
        "reduce_slots_used": lambda run: run.utilisation.get("reduce_slots"),
    }
    rows = tuple(
        ComparedScheduler(
            scheduler=name,
            runs=len(results),
            spreads={
                measure: MeasureSpread.of([value_of(result) for result in results])
                for measure, value_of in measures.items()
            },
        )
        for name, results in runs.items()
    )
    deadlines = sum(job.deadline_at_s is not None for job in workload.jobs)
    return SchedulerComparison(rows=rows, deadlines=deadlines)


def _cost_usd(run: RunResult, workload: Workload) -> float | None:
    """Rent of all nodes over the makespan, billed in whole units; None without a price."""
    prices = workload.prices
    if prices is None or run.makespan_s is None:
        return None
    return len(run.cluster.nodes) * prices.rent_usd(run.makespan_s)
