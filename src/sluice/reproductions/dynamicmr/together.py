"""Figures 4.15 and 4.16: all parts together against static slots, under fair sharing and FIFO."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Any, Final

from sluice.model.job import Job
from sluice.reproductions.charts import bars_chart
from sluice.reproductions.dynamicmr.workload import (
    BENCHMARKS,
    CONFIGURATIONS,
    DEFAULT_SLOTS,
    GENERATOR,
    NEARNESS,
    Way,
    batch,
)
from sluice.reproductions.runner import Cell, Experiment, OnProgress
from sluice.reproductions.seed_means import SeedMean, gain_percent, some

_WORLD: Final[Mapping[str, Any]] = {
    **NEARNESS,
    "p_slow": 0.05,
    "slow_factor": [3.0, 6.0],
    "speculation": "late",
    "min_age_s": 60.0,
}
_PARTS: Final[Mapping[str, Any]] = {"mode": "pi", "sepb": 0.6, "prescheduling": True}
_BASELINES: Final = {"6/2": (6, 2), "10/2": DEFAULT_SLOTS}
_START: Final = (9, 3)  # of the search for the best configuration
_TITLE: Final = "All parts together against static slots, {} ({})"
# By number of jobs, the fraction of seeds to run: large batches take long and differ little.
_ONE_IN: Final[Mapping[str, Mapping[int, int]]] = {
    "fair": {1: 4, 5: 4, 10: 5, 20: 5, 30: 5},
    "fifo": {1: 5, 5: 5, 10: 5, 20: 5, 30: 5},
}
_SEARCHED_MAX: Final = 10  # up to this many jobs the best configuration is searched
_PAPER: Final[Mapping[tuple[str, bool], Cell]] = {
    ("fair", True): "46 to 115 %",
    ("fair", False): "49 to 112 %",
    ("fifo", True): "up to 60 %",
    ("fifo", False): "up to 60 %",
}


def _together(
    order: str, name: str, figure: str, seeds: int, on_progress: OnProgress
) -> Experiment:
    rows: list[dict[str, Cell]] = []
    bars: dict[str, dict[str, SeedMean]] = {}
    best = _START
    for label, jobs, runs in _workloads(order, seeds):
        on_progress(f"{name}: {label}")
        times = _Times(order, jobs)
        if len(jobs) <= _SEARCHED_MAX:
            best = best_configuration(times.first_s)
        # The best for one seed may be worse than 10/2 over all seeds.
        best = min(best, DEFAULT_SLOTS, key=partial(times.sum_s, seeds=runs))
        gains = times.gains(best, runs)
        bars[label] = {f"over {way}": gain for way, gain in gains.items()}
        rows.append(_row(label, _PAPER[order, len(jobs) == 1], best, gains))
    return Experiment(
        name=name,
        title=_TITLE.format("fair" if order == "fair" else "FIFO", figure),
        setup=(
            f"{GENERATOR} Racks and replicas, delay scheduling under fair, 5 % of the attempts 3"
            " to 6 times as long, LATE for both. All parts: PI, SEPB 0.6, prescheduling, on 10/2."
            f" {_seeds_text(order, seeds)}. Best: the best of 1/11 .. 11/1, by local search from"
            f" 9/3 on the first seed (for over {_SEARCHED_MAX} jobs that of {_SEARCHED_MAX}), or"
            " 10/2."
        ),
        columns=(
            "jobs", "paper: over 6/2", "over 6/2 %", "6/2 +-", "over 10/2 %", "10/2 +-", "best",
            "over best %", "best +-",
        ),
        rows=tuple(rows),
        why=_why(rows),
        chart=bars_chart(
            f"Speed gained by all parts, {'fair' if order == 'fair' else 'FIFO'}",
            "Relative to three static configurations; means and standard errors over seeds.",
            "speed gained (%)",
            {"": bars},
        ),
    )  # fmt: skip


def _workloads(order: str, seeds: int) -> Iterator[tuple[str, Sequence[Job], int]]:
    """Label, jobs and seeds."""
    for jobs, one_in in _ONE_IN[order].items():
        if jobs > 1:
            yield f"{jobs} jobs", batch(jobs), some(seeds, one_in)
            continue
        for benchmark in BENCHMARKS:
            yield benchmark.name, (benchmark.job(),), some(seeds, one_in)


def _seeds_text(order: str, seeds: int) -> str:
    each = (f"{some(seeds, one_in)} ({jobs})" for jobs, one_in in _ONE_IN[order].items())
    return "Seeds by number of jobs: " + ", ".join(each)


class _Times:
    """Makespans of the jobs under static slots. Runs are made when they are needed."""

    def __init__(self, order: str, jobs: Sequence[Job]) -> None:
        self._settings = {**_WORLD, "order": order}
        self._jobs = jobs
        self._known: dict[tuple[int, int], list[float]] = {}

    def first_s(self, slots: tuple[int, int]) -> float:
        """The makespan with the first seed."""
        return self._static_s(slots, 1)[0]

    def sum_s(self, slots: tuple[int, int], seeds: int) -> float:
        """The sum of makespans over seeds."""
        return sum(self._static_s(slots, seeds))

    def gains(self, best: tuple[int, int], seeds: int) -> dict[str, SeedMean]:
        """The speed gained by all parts over each baseline, in percent."""
        way = Way(scheduler="dynamicmr", settings={**self._settings, **_PARTS}, has_racks=True)
        parts = way.makespans_s(self._jobs, seeds)
        return {
            name: gain_percent(self._static_s(slots, seeds), parts)
            for name, slots in {**_BASELINES, "best": best}.items()
        }

    def _static_s(self, slots: tuple[int, int], seeds: int) -> list[float]:
        known = self._known.get(slots, [])
        if len(known) < seeds:
            way = Way(scheduler="static", slots=slots, settings=self._settings, has_racks=True)
            self._known[slots] = known = way.makespans_s(self._jobs, seeds)
        return known[:seeds]


def best_configuration(makespan_s: Callable[[tuple[int, int]], float]) -> tuple[int, int]:
    """Local search from 9/3, one slot at a time: the makespan has one minimum over them.

    >>> best_configuration(lambda slots: abs(slots[0] - 6))
    (6, 6)
    """
    at = CONFIGURATIONS.index(_START)
    while True:
        near = [one for one in (at, at - 1, at + 1) if 0 <= one < len(CONFIGURATIONS)]
        best = min(near, key=lambda one: makespan_s(CONFIGURATIONS[one]))
        if best == at:
            return CONFIGURATIONS[at]
        at = best


def _row(
    label: str, paper: Cell, best: tuple[int, int], gains: Mapping[str, SeedMean]
) -> dict[str, Cell]:
    row: dict[str, Cell] = {"jobs": label, "paper: over 6/2": paper, "best": f"{best[0]}/{best[1]}"}
    for name, gain in gains.items():
        row[f"over {name} %"], row[f"{name} +-"] = gain.mean, gain.error
    return row


def _why(rows: Sequence[Mapping[str, Cell]]) -> str:
    def range_of(column: str, *, is_batch: bool) -> str:
        of = [
            float(str(row[column])) for row in rows if str(row["jobs"]).endswith("jobs") == is_batch
        ]
        return f"{min(of):.0f} to {max(of):.0f} % (mean {fmean(of):.0f})"

    single, many = (
        ", ".join(
            f"{range_of(f'over {name} %', is_batch=is_batch)} over {name}"
            for name in ("6/2", "10/2", "best")
        )
        for is_batch in (False, True)
    )
    return (
        f"One job gains {single}; batches {many}. The thesis compares with 6/2, which uses 8 of"
        " the 12 slots of a worker, while DynamicMR uses all: that alone could give 50 %. The gain"
        " of lending is the gain over the best configuration with 12 slots."
    )


def by_fair(seeds: int, on_progress: OnProgress) -> Experiment:
    """Figure 4.15: all three techniques together, under fair."""
    return _together("fair", "fig-4.15", "Fig. 4.15", seeds, on_progress)


def by_fifo(seeds: int, on_progress: OnProgress) -> Experiment:
    """Figure 4.16: all three techniques together, under fifo."""
    return _together("fifo", "fig-4.16", "Fig. 4.16", seeds, on_progress)
