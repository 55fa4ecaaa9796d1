"""The measurements of the first run as a prediction of the next, with an interval, and its error.

Theory of operation. The first run measures each task on this machine, under the load that it has
now. The prediction takes the mean length of each phase, and the engine's gaps before and between
tasks. The interval takes 100 more simulations of the same jobs. Tasks of one phase do the same
work on equal files, so their lengths differ by the load of the machine, and by little else. Each
simulated task is as much longer or shorter than its mean as some measured task was. The load of
the two runs may differ, too: each simulation has one more such factor, for all its tasks.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, quantiles
from typing import TYPE_CHECKING

from sluice.api.simulate import simulate
from sluice.api.sources import workload_of
from sluice.bootstrap.history.profiles import past_gaps
from sluice.bootstrap.live.predicted_makespan import delayed
from sluice.estimate.phase_measure import relative_error
from sluice.model.job import Phase
from sluice.model.lengths import ListedLengths
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload
from sluice.reporting.formatting import NOTHING, duration, duration_tight
from sluice.reporting.run.result import RunResult
from sluice.reporting.run.trace import records
from sluice.reporting.table_style import plain_table, plain_text

if TYPE_CHECKING:
    from rich.table import Table

DRAWS = 100
ALL = "all (makespan)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The measurements of the first run. workload: its jobs, with mean lengths of tasks and gaps.

    start_s: from the start of a run to its first task.
    ratios: length of each map, as a multiple of the mean of its phase.
    """

    workload: Workload
    start_s: float
    ratios: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedEnd:
    """When a job should end, seconds after the start: the prediction, and its 90 % interval."""

    name: str
    predicted_s: float
    low_s: float
    high_s: float

    def holds(self, ended_s: float) -> bool:
        """Whether the job ended within the interval."""
        return self.low_s <= ended_s <= self.high_s


def measured(workload: Workload, first: RunResult) -> Measured:
    """Return what `first`, the last run of the workload, measured.

    What really runs is left out of the workload: this is for the simulator.
    """
    known = workload_of(workload, on_message=print).jobs
    gaps = past_gaps(known, print)
    jobs = tuple(replace(delayed(job, gaps.between_s), run=None) for job in known)
    return Measured(
        workload=replace(workload, jobs=jobs), start_s=gaps.start_s, ratios=tuple(_ratios(first))
    )


def _ratios(first: RunResult) -> Iterator[float]:
    """Reduces are left out: some wait for maps while they run, and one alone has no mean."""
    lengths_s = defaultdict(list)
    for row in records(first.attempts):
        if row["slot"] == SlotKind.MAP.value:
            lengths_s[row["job"], row["phase"]].append(row["finished_at_s"] - row["started_at_s"])
    for phase_s in lengths_s.values():
        mean_s = fmean(phase_s)
        yield from (length_s / mean_s for length_s in phase_s)


def predict(known: Measured, tasks: str) -> list[PredictedEnd]:
    """The end of each job under that task policy, then of all."""
    expected = _ends_s(known.workload, known.start_s, tasks)
    rng = random.Random(0)  # no secret; the same measurements give the same interval
    drawn = [_ends_s(_drawn(known, rng), known.start_s, tasks) for _ in range(DRAWS)]
    names = [*(str(job.job_id) for job in known.workload.jobs), ALL]
    ends = []
    for name, predicted_s, others_s in zip(names, expected, zip(*drawn, strict=True), strict=True):
        twentieths = quantiles(others_s, n=20)
        low_s, high_s = min(twentieths[0], predicted_s), max(twentieths[-1], predicted_s)
        ends.append(PredictedEnd(name=name, predicted_s=predicted_s, low_s=low_s, high_s=high_s))
    return ends


def _ends_s(workload: Workload, start_s: float, tasks: str) -> list[float]:
    """The simulated end of each job, then of the last. All jobs are submitted at 0 s."""
    ends_s = [start_s + (job.finished_at_s or 0.0) for job in simulate(workload, tasks=tasks).jobs]
    return [*ends_s, max(ends_s)]


def _drawn(known: Measured, rng: random.Random) -> Workload:
    """The workload with lengths that another run might have."""
    load = rng.choice(known.ratios)

    def drawn(phase: Phase) -> Phase:
        assert phase.lengths is not None, "the first run measured every phase"
        mean_s = phase.lengths.avg_s(phase.tasks) * load
        lengths = ListedLengths(
            tuple(mean_s * rng.choice(known.ratios) for _ in range(phase.tasks))
        )
        return replace(phase, lengths=lengths)

    jobs = (replace(job, phases=tuple(map(drawn, job.phases))) for job in known.workload.jobs)
    return replace(known.workload, jobs=tuple(jobs))


def ends_s(result: RunResult) -> list[float]:
    """When each job of a run ended, then the last one; seconds after the start."""
    return [*(job.finished_at_s or 0.0 for job in result.jobs), result.makespan_s or 0.0]


def prediction_table(
    before_s: Sequence[float], predicted: Sequence[PredictedEnd], ended_s: Sequence[float]
) -> Table:
    """The ends of jobs under two schedulers; the error is a share of what was measured."""
    heads = ("fifo", "predicted", "90 % interval", "fair", "error", "held")
    table = plain_table("", names=("job",), numbers=heads)
    for was_s, end, did_s in zip(before_s, predicted, ended_s, strict=True):
        if end.name == ALL:
            table.add_section()
        error = relative_error(end.predicted_s, did_s)
        table.add_row(
            plain_text(end.name, "bold"),
            duration(was_s),
            duration(end.predicted_s),
            interval(end),
            duration(did_s),
            NOTHING if error is None else f"{error:+.0%}".replace("%", " %"),
            "yes" if end.holds(did_s) else "no",
        )
    return table


def interval(end: PredictedEnd) -> str:
    """Both ends of the interval."""
    return f"{duration_tight(end.low_s)}–{duration_tight(end.high_s)}"
