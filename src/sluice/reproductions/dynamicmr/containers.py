"""Figures 4.17 and 4.18: lent slots against equal containers, and network traffic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from sluice.model.job import Job
from sluice.reproductions.charts import bars_chart
from sluice.reproductions.dynamicmr.runs import GENERATOR, SeedMean, Way, gain_percent, some
from sluice.reproductions.dynamicmr.shuffles import shuffle_bytes_per_s
from sluice.reproductions.dynamicmr.workload import BENCHMARKS, batch, makespan_s
from sluice.reproductions.runner import Cell, Experiment, OnProgress

_STEP_S: Final = 2.0  # of figure 4.18
_SLOWSTARTS: Final = (1.0, 0.8, 0.05)
_RAMPS: Final = (0.1, 0.25, 0.5)
_ONE: Final = "one job"
_WATCHED: Final = "5 jobs"  # figure 4.18 shows their shuffles
_MORE: Final = (10, 20)
_ONE_IN: Final = 5  # of the seeds
_PAPER_ONE: Final = "mixed"
_PAPER_MANY: Final = "2 to 9 %"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Runs:
    """Values by seed. peaks: of all shuffles together, bytes per second; empty if not measured."""

    makespans_s: list[float]
    peaks: list[float]

    @property
    def peak_mb(self) -> float | None:
        """The mean peak, in MB/s."""
        return fmean(self.peaks) / 1e6 if self.peaks else None


def containers(seeds: int, on_progress: OnProgress) -> Experiment:
    """Figure 4.17 for several values of two settings that the thesis omits, with figure 4.18."""
    rows: list[dict[str, Cell]] = []
    bars: dict[str, dict[str, SeedMean]] = {}
    for label, batches, runs in _workloads(seeds):
        for slowstart in _SLOWSTARTS:
            on_progress(f"fig-4.17: {label}, slowstart {slowstart:g}")
            lent = _runs("dynamicmr", label, batches, runs, slowstart=slowstart)
            # Without early reduces the ramp has no effect.
            for ramp in _RAMPS if slowstart < 1 else (None,):
                limit = {} if ramp is None else {"ramp": ramp}
                rival = _runs("yarn-like", label, batches, runs, slowstart=slowstart, **limit)
                rows.append(_row(label, slowstart, ramp, rival, lent))
                gain = gain_percent(rival.makespans_s, lent.makespans_s)
                group = f"slowstart {slowstart:g}" + ("" if ramp is None else f", ramp {ramp:g}")
                bars.setdefault(group, {})[label] = gain
    return Experiment(
        name="fig-4.17",
        title="Lent slots against equal containers (Figs. 4.17 and 4.18)",
        setup=(
            f"{GENERATOR} PI on 10/2 against 12 containers a worker. Slowstart: maps done before"
            " reduces start; ramp: the share of its containers that a job's reduces may hold"
            f" before its maps are done. {some(seeds, _ONE_IN)} seeds, because they differ little;"
            " one job: all nine, one after the other. Peak: of all shuffles together in 2 s,"
            " computed from the start of each reduce and the ends of maps."
        ),
        rows=tuple(rows),
        why=_why(rows),
        chart=bars_chart(
            "How much faster lent slots are than equal containers",
            "By the two settings that the thesis omits; standard errors over seeds.",
            "faster by (%)",
            {"": bars},
        ),
    )  # fmt: skip


def _workloads(seeds: int) -> Iterator[tuple[str, list[Sequence[Job]], int]]:
    """Label, batches that run one after the other, and seeds."""
    runs = some(seeds, _ONE_IN)
    yield _ONE, [(benchmark.job(),) for benchmark in BENCHMARKS], runs
    yield _WATCHED, [batch(5)], runs
    for jobs in _MORE:
        yield f"{jobs} jobs", [batch(jobs)], runs


def _runs(
    scheduler: str, label: str, batches: Sequence[Sequence[Job]], seeds: int, **settings: float
) -> _Runs:
    way = Way(scheduler=scheduler, settings=settings)
    makespans_s, peaks = [], []
    for seed in range(seeds):
        states = [way.run(jobs, seed) for jobs in batches]
        makespans_s.append(sum(map(makespan_s, states)))
        if label == _WATCHED:
            peaks.append(max(max(shuffle_bytes_per_s(state, _STEP_S)) for state in states))
    return _Runs(makespans_s=makespans_s, peaks=peaks)


def _row(
    label: str, slowstart: float, ramp: float | None, rival: _Runs, lent: _Runs
) -> dict[str, Cell]:
    gain = gain_percent(rival.makespans_s, lent.makespans_s)
    return {
        "jobs": label,
        "slowstart": slowstart,
        "ramp": ramp,
        "paper: faster by": _PAPER_ONE if label == _ONE else _PAPER_MANY,
        "faster %": gain.mean,
        "+-": gain.error,
        "peak MB/s": lent.peak_mb,
        "YARN's peak": rival.peak_mb,
    }


def _why(rows: Sequence[Mapping[str, Cell]]) -> str:
    def faster(slowstart: float) -> str:
        of = [float(str(row["faster %"])) for row in rows if row["slowstart"] == slowstart]
        return f"{min(of):.1f} to {max(of):.1f} %"

    late, early = (_peaks(rows, is_late=is_late) for is_late in (True, False))
    return (
        f"With late reduces (slowstart 1) both are close: lent slots are {faster(1.0)} faster. At"
        f" slowstart 0.8 they are {faster(0.8)} faster, at 0.05 {faster(0.05)}: early reduces"
        " occupy containers while they wait; a larger ramp means more. The 2 to 9 % of the thesis"
        " are in this range; it gives neither setting. YARN's peak of all shuffles is"
        f" {late} that of lent slots if reduces start late, and {early} if they start early, as in"
        " Fig. 4.18 of the thesis: few reduces run in lent slots as long as maps need them."
    )


def _peaks(rows: Sequence[Mapping[str, Cell]], *, is_late: bool) -> str:
    """Ratio of the peaks of YARN to ours."""
    of = [
        float(str(row["YARN's peak"])) / float(str(row["peak MB/s"]))
        for row in rows
        if row["peak MB/s"] is not None and (row["slowstart"] == 1) == is_late
    ]
    least, most = f"{min(of):.1f}", f"{max(of):.1f}"
    return f"{least} times" if least == most else f"{least} to {most} times"
