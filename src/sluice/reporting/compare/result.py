"""Results of several schedulers on one workload, with their spread over seeds.

A comparison holds, for each row, the summaries of its runs by seed. From them follow the spread of
each measure, and the differences to the first row: these are paired by seed, as runs of one seed
saw the same random numbers, and count as clear where their interval is on one side of 0. The
sentence of the answer is made of clear differences alone.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sluice.estimate.paired_difference import PairedDifference
from sluice.model.ids import JobId, PoolId
from sluice.model.workload import Workload
from sluice.reporting.compare.run_summary import PERCENTILES, RunSummary, tails
from sluice.reporting.document_html import NotebookView
from sluice.reporting.extras import DataFrame, data_frame
from sluice.reporting.formatting import duration, share
from sluice.reporting.run.outcomes import JobReplay
from sluice.reporting.run.result import RunResult
from sluice.reporting.run.slowdowns import percentile

if TYPE_CHECKING:
    from sluice.reporting.fairness.result import FairnessResult

ADVISED = "auto"  # the row of the newest advice
_SAID = {"makespan_s": "makespan", "wait_s_p95": "wait p95"}
MOSTLY_IDLE = 0.5  # a cluster this idle hardly has waits that schedulers could shorten


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
    """One row. `spreads` by measure: makespan_s, wait_s_p95 and so on.

    pools: by pool, `jobs`, and spreads of the same names.  differences: by measure, to the first
    row, paired by seed; empty in that row.  waits_s: of all jobs of all runs, sorted.
    """

    scheduler: str
    runs: int
    spreads: Mapping[str, MeasureSpread | None]
    pools: Mapping[PoolId, Mapping[str, MeasureSpread | None]] = field(default_factory=dict)
    differences: Mapping[str, PairedDifference | None] = field(default_factory=dict)
    waits_s: tuple[float, ...] = field(default=(), repr=False)

    def document(self) -> dict[str, object]:
        """The row of the JSON document: means under the plain names, then their spread."""
        row: dict[str, object] = {"scheduler": self.scheduler, "runs": self.runs}
        row |= spreads_document(self.spreads)
        row["wait_s_by_percent"] = self.wait_s_by_percent
        row["pools"] = {pool: spreads_document(spreads) for pool, spreads in self.pools.items()}
        if self.differences:
            row["difference"] = {
                name: None if one is None else one.document()
                for name, one in self.differences.items()
            }
        return row

    @property
    def wait_s_by_percent(self) -> list[float]:
        """The waits that 0, 1, .. 100 % of all jobs of all runs did not exceed; empty without."""
        found = (percentile(self.waits_s, percent / 100) for percent in range(101))
        return [wait_s for wait_s in found if wait_s is not None]

    @property
    def clear_differences(self) -> frozenset[str]:
        """Measures whose interval of the difference excludes 0."""
        return frozenset(
            name for name, one in self.differences.items() if one is not None and one.is_clear
        )


_NESTED = (*PERCENTILES, "mean")
_PARTS = {"": "mean", "_sd": "sd", "_min": "least", "_max": "most"}


def spreads_document(spreads: Mapping[str, MeasureSpread | None]) -> dict[str, object]:
    """Means and spreads; percentiles are nested: `wait_s: {p50, p95, p99}`, `wait_s_sd: {..}`."""
    found: dict[str, Any] = {}
    for name, spread in spreads.items():
        column, _, percentile = name.rpartition("_")
        for suffix, part in _PARTS.items():
            value = None if spread is None else getattr(spread, part)
            if percentile in _NESTED:
                found.setdefault(f"{column}{suffix}", {})[percentile] = value
            else:
                found[f"{name}{suffix}"] = value
    return found


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SchedulerComparison(NotebookView):
    """Rows in the given order of schedulers. deadlines: number of jobs with one.

    ledgers: the fairness ledger of each scheduler's run with the first seed, if asked for.
    replays: by job, for a workload made from logs, recorded and replayed times; else None.
    """

    rows: tuple[ComparedScheduler, ...]
    deadlines: int
    ledgers: Mapping[str, FairnessResult] = field(default_factory=dict)
    replays: Mapping[JobId, JobReplay] | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what to know about the differences: none, no interval, what advice changes."""
        if len(self.rows) < 2:  # noqa: PLR2004  # one row differs from nothing
            return ()
        first, *others = self.rows
        notes = []
        if first.runs == 1:
            notes.append("1 seed: differences have no interval; use --seeds 10 to get one")
        if not any(_differs(row) for row in others):
            notes.append(_none_differs(first, others))
        notes += [
            _found(row, first) for row in others if row.scheduler == ADVISED and _differs(row)
        ]
        return tuple(notes)

    def document(self) -> dict[str, object]:
        """The one JSON document of `compare`."""
        rows = [row.document() for row in self.rows]
        ledgers = {name: ledger.document() for name, ledger in self.ledgers.items()}
        document: dict[str, object] = {"rows": rows, "deadlines": self.deadlines}
        document["remarks"] = list(self.notes)
        if self.replays is not None:
            document["jobs"] = {job: one.document() for job, one in self.replays.items()}
        return document | {"ledgers": ledgers} if ledgers else document

    def to_frame(self) -> DataFrame:
        """A pandas frame, one row a scheduler. Needs the extra `frame`."""
        return data_frame([_flat(row.document()) for row in self.rows])


def _flat(row: Mapping[str, Any]) -> dict[str, object]:
    """A row without nesting, pools and lists: `wait_s_p95`, `difference_makespan_s_mean`."""
    found: dict[str, object] = {}
    for name, value in row.items():
        if name in {"pools", "wait_s_by_percent"}:
            continue
        if isinstance(value, dict):
            nested = _flat({f"{name}_{inner}": held for inner, held in value.items()})
            found |= nested
        else:
            found[name] = value
    return found


def _differs(row: ComparedScheduler) -> bool:
    """Whether a row differs from the first; without intervals, whether any figure does."""
    if row.runs > 1:
        return bool(row.clear_differences)
    return _has_any(row)


def _has_any(row: ComparedScheduler) -> bool:
    """Whether any figure of a row is not that of the first, clear or not."""
    return any(one is not None and one.mean for one in row.differences.values())


def _none_differs(first: ComparedScheduler, others: Sequence[ComparedScheduler]) -> str:
    """Why no other row differs from the first one."""
    if any(map(_has_any, others)):
        more = 4 * first.runs  # an interval shrinks with the root of the number of seeds
        return (
            f"no difference is clear after {first.runs} seeds; use --seeds {more} to see one of"
            " half the size"
        )
    idle = first.spreads.get("idle_share")
    if idle is not None and idle.mean >= MOSTLY_IDLE:
        return f"no difference: the cluster is idle {share(idle.mean)} of the time"
    return "no difference"


def _found(row: ComparedScheduler, first: ComparedScheduler) -> str:
    """The differences of a row from the first one, as a sentence."""
    parts = []
    for name, words in _SAID.items():
        one = row.differences.get(name)
        if one is None:
            continue
        more = "longer" if one.mean > 0 else "shorter"
        doubt = "" if row.runs == 1 or one.is_clear else " (not clear)"
        length = "the same" if not one.mean else f"{duration(abs(one.mean))} {more}{doubt}"
        parts.append(f"{words} {length}")
    return f"{row.scheduler} against {first.scheduler}: {', '.join(parts)}"


def compared(runs: Mapping[str, Sequence[RunResult]], workload: Workload) -> SchedulerComparison:
    """One row for each scheduler, from its runs; without slowdowns."""
    summaries = {
        name: [RunSummary.of(run, workload) for run in results] for name, results in runs.items()
    }
    return compared_summaries(summaries, workload)


def compared_summaries(
    summaries: Mapping[str, Sequence[RunSummary]], workload: Workload
) -> SchedulerComparison:
    """One row for each scheduler, from the summaries of its runs, in the order of their seeds."""
    first = next(iter(summaries.values()), ())
    rows = tuple(
        ComparedScheduler(
            scheduler=name,
            runs=len(runs),
            spreads=_spreads([run.figures for run in runs]),
            pools=_pools(runs),
            differences={} if runs is first else _differences(first, runs),
            waits_s=tuple(
                sorted(job.wait_s for run in runs for job in run.jobs if job.wait_s is not None)
            ),
        )
        for name, runs in summaries.items()
    )
    deadlines = sum(job.deadline_at_s is not None for job in workload.jobs)
    return SchedulerComparison(rows=rows, deadlines=deadlines)


def _spreads(figures: Sequence[Mapping[str, float | None]]) -> dict[str, MeasureSpread | None]:
    names = figures[0] if figures else ()
    return {name: MeasureSpread.of([one[name] for one in figures]) for name in names}


def _pools(runs: Sequence[RunSummary]) -> dict[PoolId, Mapping[str, MeasureSpread | None]]:
    by_run = [run.by_pool() for run in runs]
    pools = list(by_run[0]) if by_run else []
    return {
        pool: _spreads(
            [{"jobs": len(jobs), **tails(jobs)} for pools_of in by_run if (jobs := pools_of[pool])]
        )
        for pool in pools
    }


def _differences(
    first: Sequence[RunSummary], runs: Sequence[RunSummary]
) -> dict[str, PairedDifference | None]:
    names = [name for name in first[0].figures if name not in _NOT_COMPARED]
    if len(first) != len(runs):
        return dict.fromkeys(names)  # runs that cannot be paired
    return {
        name: PairedDifference.of(
            [run.figures[name] for run in first], [run.figures[name] for run in runs]
        )
        for name in names
    }


_NOT_COMPARED = frozenset({"map_slots_used", "reduce_slots_used", "idle_share"})
