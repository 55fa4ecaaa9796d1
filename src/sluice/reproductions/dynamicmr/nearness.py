"""Figures 4.13 and 4.14: the effect of slot prescheduling on data locality and speed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from sluice.core.state import ClusterState
from sluice.model.cluster import Locality
from sluice.model.job import Job
from sluice.reproductions.charts import bars_chart
from sluice.reproductions.dynamicmr.workload import (
    BENCHMARKS,
    BY_NAME,
    GENERATOR,
    MAPS_A_GIB,
    NEARNESS,
    Benchmark,
    Way,
    makespan_s,
)
from sluice.reproductions.runner import Cell, Experiment, OnProgress
from sluice.reproductions.seed_means import SeedMean, estimate, gain_percent

_NOTHING_LENT: Final = {"pct_map": 0.0, "pct_reduce": 0.0}
_SIZES: Final = (16, 32, 160)
_PAPER: Final = "2 to 25 % more"
_FULL_JOBS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Runs:
    """Results without and with prescheduling, by seed."""

    near: list[float]  # percentage of node-local maps
    near_ahead: list[float]
    makespans_s: list[float]
    makespans_ahead_s: list[float]

    @property
    def gain(self) -> SeedMean:
        """Speed gained, in percent."""
        return gain_percent(self.makespans_s, self.makespans_ahead_s)


def prescheduling(seeds: int, on_progress: OnProgress) -> Experiment:
    """Figures 4.13 and 4.14: small jobs of each program, then a full cluster."""
    rows: list[dict[str, Cell]] = []
    views: dict[str, dict[str, dict[str, SeedMean]]] = {}
    for maps in _SIZES:
        on_progress(f"fig-4.13: {maps} maps")
        runs = {
            one.name: _runs([_sized(one, maps).job()], seeds) for one in BENCHMARKS
        }  # fmt: skip
        rows.append(_row(f"Sort, {maps} maps", [runs["Sort"]], _PAPER))
        rows.append(_row(f"all nine, {maps} maps", runs.values(), _PAPER))
        gains = {name: {"speed gained": of.gain} for name, of in runs.items()}
        views[f"One job of {maps} maps"] = gains
    on_progress("fig-4.13: a full cluster")
    sort = _sized(BY_NAME["Sort"], _SIZES[-1])
    full = [sort.job(f"sort-{number}") for number in range(_FULL_JOBS)]
    rows.append(_row(f"{_FULL_JOBS} Sorts of {_SIZES[-1]} maps", [_runs(full, seeds)], None))
    return Experiment(
        name="fig-4.13",
        title="Node-local maps: slot prescheduling (Figs. 4.13 and 4.14)",
        setup=(
            f"{GENERATOR} 10/2, three racks, three replicas, 1.3 and 1.6 times as long away from"
            " data; delay scheduling of 4.5 s with and without prescheduling, nothing lent;"
            f" one job at a time with a tenth as many reduces as maps, {seeds} seeds. Near: maps"
            " on a node with their data. Errors are those of the gain of speed."
        ),
        rows=tuple(rows),
        why=(
            "If there are fewer maps than slots, slots beyond the balance line are free, and"
            " prescheduling gives them to node-local maps. Nearly every map is then local, and jobs"
            " end sooner, small ones most. Delay scheduling alone does better here than in the"
            " thesis, so there is less locality to gain; most of the speed comes from maps that"
            " start at once instead of waiting. With more maps than slots there are no free slots."
        ),
        chart=bars_chart(
            "Speed gained by slot prescheduling",
            "Means and standard errors over seeds.",
            "speed gained (%)",
            views,
        ),
    )


def _sized(benchmark: Benchmark, maps: int) -> Benchmark:
    """The program with that many blocks of input."""
    return replace(
        benchmark, input_gib=maps // MAPS_A_GIB, reduces=max(1, maps // 10)
    )  # fmt: skip


def _runs(jobs: Sequence[Job], seeds: int) -> _Runs:
    before, after = (
        [
            Way(scheduler="dynamicmr", settings=settings, has_racks=True).run(jobs, seed)
            for seed in range(seeds)
        ]
        for settings in (
            {**NEARNESS, **_NOTHING_LENT},
            {**NEARNESS, **_NOTHING_LENT, "prescheduling": True},
        )
    )
    return _Runs(
        near=list(map(near_percent, before)),
        near_ahead=list(map(near_percent, after)),
        makespans_s=list(map(makespan_s, before)),
        makespans_ahead_s=list(map(makespan_s, after)),
    )


def near_percent(state: ClusterState) -> float:
    """Percentage of finished maps that ran on a node with their data."""
    placed = [one.launch.locality for one in state.closed if one.launch.locality is not None]
    return 100 * sum(one is Locality.NODE for one in placed) / len(placed)


def _row(name: str, runs: Iterable[_Runs], paper: Cell) -> dict[str, Cell]:
    runs = list(runs)
    gain = _mean([_gains(one) for one in runs])
    return {
        "jobs": name,
        "paper: near, speed": paper or "-",
        "near %": _mean([one.near for one in runs]).mean,
        "near then %": _mean([one.near_ahead for one in runs]).mean,
        "speed %": gain.mean,
        "+-": gain.error,
    }


def _gains(one: _Runs) -> list[float]:
    pairs = zip(one.makespans_s, one.makespans_ahead_s, strict=True)
    return [100 * (before / after - 1) for before, after in pairs]


def _mean(of_programs: Sequence[Sequence[float]]) -> SeedMean:
    """The mean over programs, then over seeds."""
    return estimate([sum(of_seed) / len(of_seed) for of_seed in zip(*of_programs, strict=True)])
