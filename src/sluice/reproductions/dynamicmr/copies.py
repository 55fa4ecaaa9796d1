"""Figure 4.12: waiting tasks of several jobs before second copies of one (SEPB)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

from sluice.reproductions.charts import curves_chart
from sluice.reproductions.dynamicmr.workload import GENERATOR, Way, batch, makespan_s, mean_job_s
from sluice.reproductions.runner import Cell, Experiment, OnProgress
from sluice.reproductions.seed_means import SeedMean, estimate, gain_percent, ratio, some

_SLOW: Final[Mapping[str, Any]] = {"p_slow": 0.06, "slow_factor": [3.0, 6.0]}
_HUNG: Final[Mapping[str, Any]] = {"p_hang": 0.005}
_ALL: Final = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
_FEW: Final = (0.0, 0.6, 1.0)
_ENDS: Final = (0.0, 1.0)
_PAPER: Final = "3 to 10 %"


@dataclass(frozen=True, slots=True, kw_only=True)
class _World:
    """A kind of fault, a number of jobs, and the fractions to try.

    one_in: 2 to use every second seed, and so on.
    """

    name: str
    jobs: int
    settings: Mapping[str, Any]
    fractions: tuple[float, ...]
    one_in: int = 1


_WORLDS: Final = (
    _World(name="slow", jobs=5, settings=_SLOW, fractions=_ALL),
    _World(name="slow", jobs=10, settings=_SLOW, fractions=_FEW),
    _World(name="slow", jobs=20, settings=_SLOW, fractions=_ENDS, one_in=2),
    _World(name="hung", jobs=5, settings=_HUNG, fractions=_ENDS),
    _World(name="hung, kills", jobs=5, settings={**_HUNG, "kill_slow": True}, fractions=_ENDS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Runs:
    """The results of one fraction, by seed."""

    makespans_s: list[float]
    job_s: list[float]
    copies: list[int]


def pending_first(seeds: int, on_progress: OnProgress) -> Experiment:
    """Figure 4.12: waiting tasks before second copies, SEPB against LATE."""
    rows: list[dict[str, Cell]] = []
    lines: dict[str, list[tuple[float, SeedMean]]] = {}
    for world in _WORLDS:
        runs: dict[float, _Runs] = {}
        for fraction in world.fractions:
            on_progress(
                f"fig-4.12: {world.jobs} jobs, {world.name}, {fraction:.1f} of the jobs checked"
            )
            runs[fraction] = _runs(world, fraction, some(seeds, world.one_in))
        rows += _rows(world, runs)
        lines[f"{world.jobs} jobs, {world.name}"] = [
            (fraction, gain_percent(runs[0.0].makespans_s, of.makespans_s))
            for fraction, of in runs.items()
        ]
    return Experiment(
        name="fig-4.12",
        title="Waiting tasks before second copies: SEPB against LATE (Fig. 4.12)",
        setup=(
            f"{GENERATOR} Static 10/2, fair, {seeds} seeds ({some(seeds, 2)} for 20 jobs). Slow:"
            " 6 % of attempts take 3 to 6 times as long; hung: 0.5 % never end, and are killed"
            " after 600 s. Gain of speed and job time are relative to LATE (f = 0)."
        ),
        rows=tuple(rows),
        why=_why(rows),
        chart=curves_chart(
            "Speed of the whole batch gained by SEPB",
            "Relative to LATE; means and standard errors over seeds.",
            ("share of the jobs that are checked (f)", "speed gained (%)"),
            {"": lines},
        ),
    )  # fmt: skip


def _runs(world: _World, fraction: float, seeds: int) -> _Runs:
    settings = {**world.settings, "speculation": "late", "min_age_s": 60.0, "sepb": fraction}
    way = Way(scheduler="static", settings=settings)
    states = [way.run(batch(world.jobs), seed) for seed in range(seeds)]
    return _Runs(
        makespans_s=[makespan_s(state) for state in states],
        job_s=[mean_job_s(state) for state in states],
        copies=[sum(one.launch.is_copy for one in state.closed) for state in states],
    )


def _rows(world: _World, runs: Mapping[float, _Runs]) -> Iterator[dict[str, Cell]]:
    late = runs[0.0]
    for fraction, of in runs.items():
        gain = gain_percent(late.makespans_s, of.makespans_s)
        longer = ratio(of.job_s, late.job_s)
        yield {
            "jobs": world.jobs,
            "attempts": world.name,
            "f": fraction,
            "paper: gain": _PAPER if fraction else None,
            "gain %": gain.mean,
            "+-": gain.error,
            "copies": estimate(of.copies).mean,
            "job time %": 100 * (longer.mean - 1),
            "time +-": None if longer.error is None else 100 * longer.error,
        }


def _why(rows: Sequence[Mapping[str, Cell]]) -> str:
    """An explanation that depends on the figures."""
    late = fmean(_number(row, "copies") for row in rows if row["f"] == 0)
    checked = [row for row in rows if row["f"] == 1]
    fewer = 100 * (1 - fmean(_number(row, "copies") for row in checked) / late) if late else 0.0
    if not fewer:
        return _WITHOUT_EFFECT
    gains = [_number(row, "gain %") for row in checked]
    clear = sum(_is_clear(row) for row in checked)
    return (
        f"With all jobs checked there are {fewer:.0f} % fewer copies than under LATE, and the"
        f" speed of the batch changes by {min(gains):+.1f} to {max(gains):+.1f} %; {clear} of"
        f" {len(checked)} changes exceed two standard errors. The thesis reports a gain of 3 to 10"
        " % without an error, from one cluster. Delaying copies frees slots for waiting tasks, but"
        " a batch often ends with its last straggler, which then gets its copy later. The delay is"
        " longest for hung attempts that only a copy can replace."
    )


_WITHOUT_EFFECT: Final = (
    "f has no effect: also at f = 0 a copy uses only slots that no waiting task of any job can use,"
    " so waiting tasks of other jobs always come first. The LATE of the thesis starts a copy"
    " whenever it is the turn of a job, also if other jobs wait. Compared with that, SEPB starts"
    " fewer copies. The 3 to 10 % of the thesis do not appear here."
)


def _number(row: Mapping[str, Cell], column: str) -> float:
    return float(str(row[column]))


def _is_clear(row: Mapping[str, Cell]) -> bool:
    return row["+-"] is not None and abs(_number(row, "gain %")) > 2 * _number(row, "+-")
