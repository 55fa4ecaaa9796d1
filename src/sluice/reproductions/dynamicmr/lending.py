"""Figures 4.10 and 4.11: lending and static slots, by configuration and by share lent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from sluice.model.job import Job
from sluice.reproductions.charts import curves_chart
from sluice.reproductions.dynamicmr.workload import (
    BY_NAME,
    CONFIGURATIONS,
    GENERATOR,
    Settings,
    Way,
    batch,
    with_disk,
)
from sluice.reproductions.runner import Cell, Experiment, OnProgress
from sluice.reproductions.seed_means import SeedMean, estimate, gain_percent, ratio, some

_DISK_BOUND: Final = 0.40
_EARLY: Final = {"slowstart": 0.05}
_WAYS: Final[Mapping[str, tuple[str, Settings]]] = {
    "static": ("static", {}),
    "PI": ("dynamicmr", {"mode": "pi"}),
    "PD": ("dynamicmr", {"mode": "pd"}),
}
_PAPER_SPREAD: Final[Mapping[tuple[str, str], Cell]] = {
    ("Sort", "static"): "1.8",
    ("Sort", "PI"): "flat, 2x over 1/11",
    ("Sort", "PD"): "as PI",
}

Times = Mapping[tuple[int, int], list[float]]  # by configuration, a makespan for each seed


def configurations(seeds: int, on_progress: OnProgress) -> Experiment:
    """Figure 4.10: static slots from 1/11 to 11/1 against both ways of lending."""
    rows: list[dict[str, Cell]] = []
    views = {}
    for name, jobs, settings, runs in _workloads(seeds):
        times: dict[str, Times] = {}
        for way, (scheduler, own) in _WAYS.items():
            on_progress(f"fig-4.10: {name}, {way}")
            times[way] = _times_s(scheduler, {**settings, **own}, jobs, runs)
        rows += [_spread(name, way, times) for way in _WAYS]
        views[name] = {
            way: [(maps, estimate(of[maps, reduces])) for maps, reduces in CONFIGURATIONS]
            for way, of in times.items()
        }
    return Experiment(
        name="fig-4.10",
        title="Slot configurations from 1/11 to 11/1 (Fig. 4.10)",
        setup=(
            f"{GENERATOR} Reduces start after the last map, or after 5 % of the maps in workloads"
            f" called early. {seeds} seeds for Sort, {some(seeds, 5)} for the others."
            " Worst/best is over the eleven configurations; over 1/11: how many times faster than"
            " static 1/11 at its own best; disk-bound: each task takes 0.40 of a disk."
        ),
        rows=tuple(rows),
        why=_why_flat(rows),
        chart=curves_chart(
            "Makespan by slot configuration",
            "Means and standard errors over seeds. PI is hidden behind PD if they agree.",
            ("map slots of each worker, of 12", "makespan (s)"),
            views,
        ),
    )  # fmt: skip


def _workloads(seeds: int) -> Iterator[tuple[str, tuple[Job, ...], Settings, int]]:
    """Name, jobs, settings and seeds."""
    sort, few = BY_NAME["Sort"], some(seeds, 5)
    yield "Sort", (sort.job(),), {}, seeds
    yield "Sort, disk-bound", (with_disk(sort, _DISK_BOUND).job(),), {}, few
    yield "Sort, early", (sort.job(),), _EARLY, few
    yield "5 jobs, fair", batch(5), {}, few
    yield "5 jobs, FIFO", batch(5), {"order": "fifo"}, few


def _times_s(scheduler: str, settings: Settings, jobs: Sequence[Job], seeds: int) -> Times:
    return {
        slots: Way(scheduler=scheduler, slots=slots, settings=settings).makespans_s(jobs, seeds)
        for slots in CONFIGURATIONS
    }


def _spread(name: str, way: str, times: Mapping[str, Times]) -> dict[str, Cell]:
    own, static = times[way], times["static"]
    by_seed = list(zip(*own.values(), strict=True))
    worst, best = [max(one) for one in by_seed], [min(one) for one in by_seed]
    best_static = min(static.values(), key=sum)
    spread, over = ratio(worst, best), ratio(best_static, best)
    return {
        "workload": name,
        "way": way,
        "paper: worst/best": _PAPER_SPREAD.get((name, way)),
        "worst/best": spread.mean,
        "+-": spread.error,
        "worst s": estimate(worst).mean,
        "best s": estimate(best).mean,
        "over 1/11": ratio(static[CONFIGURATIONS[0]], best).mean,
        "over best static": over.mean,
        "over +-": over.error,
    }


def _why_flat(rows: Sequence[Mapping[str, Cell]]) -> str:
    lending = [row for row in rows if row["way"] != "static"]
    late = [row for row in lending if not str(row["workload"]).endswith("early")]
    spread = max(float(str(row["worst/best"])) for row in late)
    behind = [row for row in late if float(str(row["over best static"])) < 1]
    names = ", ".join(dict.fromkeys(str(row["workload"]) for row in behind))
    return (
        "Static slots differ more here than by the factor 1.8 of the thesis, whose Sort is limited"
        " by more than slots: with a busier disk ours is close to it."
        f" If reduces start after the maps, worst/best with lending is at most {spread:.2f}."
        " If they start early it is larger, because reduces occupy slots while they wait, as the"
        " lines called early show. The thesis must have started them late: its Fig. 4.9 has no"
        " reduces at first."
        + (f" Slower than the best static configuration: {names}; more tasks at once than a disk"
           " can serve cost more than idle slots." if names else "")
    )  # fmt: skip


# --- figure 4.11 ------------------------------------------------------------------------------

_SHARES: Final = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
_DISKS: Final = {"Each task takes 0.10 of a disk": 0.10, "Each task takes 0.25 of a disk": 0.25}
_LINES: Final[Mapping[str, tuple[str, dict[str, float], Cell]]] = {
    "pct_map, pct_reduce 0": ("pct_map", {"pct_reduce": 0.0}, "+29 %"),
    "pct_map, pct_reduce 1": ("pct_map", {"pct_reduce": 1.0}, "+29 %"),
    "pct_reduce, pct_map 0": ("pct_reduce", {"pct_map": 0.0}, "little"),
    "pct_reduce, pct_map 1": ("pct_reduce", {"pct_map": 1.0}, "little"),
}


def fractions(seeds: int, on_progress: OnProgress) -> Experiment:
    """Figure 4.11: Sort at 10/2, by the share of idle slots that may be lent."""
    rows: list[dict[str, Cell]] = []
    views = {}
    for disk, share in _DISKS.items():
        jobs = (with_disk(BY_NAME["Sort"], share).job(),)
        static = Way(scheduler="static").makespans_s(jobs, seeds)
        lines: dict[str, list[tuple[float, SeedMean]]] = {}
        for name, (varied, fixed, paper) in _LINES.items():
            on_progress(f"fig-4.11: {disk}, {name}")
            times = {
                lent: Way(scheduler="dynamicmr", settings={**fixed, varied: lent}).makespans_s(
                    jobs, seeds
                )
                for lent in _SHARES
            }
            lines[name] = [(lent, gain_percent(static, of)) for lent, of in times.items()]
            gain = gain_percent(times[0.0], times[1.0])
            rows.append(
                {"disk share": share, "varied": name, "paper: gain 0 to 1": paper,
                 "gain %": gain.mean, "+-": gain.error, "best %": _best(static, times).mean}
            )  # fmt: skip
        views[disk] = lines
    return Experiment(
        name="fig-4.11",
        title="Sort, by the share of idle slots that may be lent (Fig. 4.11)",
        setup=(
            f"{GENERATOR} 10/2 slots, PI, shares 0 to 1 in fifths, {seeds} seeds. Gain: of speed,"
            " from share 0 to 1; best: the largest gain at any share, relative to no lending."
        ),
        rows=tuple(rows),
        why=(
            "As in the thesis the gain comes from map slots that reduces borrow: 200 reduces have"
            " 18 slots of their own. The size of the gain depends on other shared resources, which"
            " the thesis does not describe. With little disk load it is far more than 29 %. With"
            " more disk load it is close, and lending all is not better than lending some."
        ),
        chart=curves_chart(
            "Speed gained by lending",
            "Sort at 10/2, relative to no lending; means and standard errors over seeds.",
            ("share that may be lent", "speed gained (%)"),
            views,
        ),
    )


def _best(static: Sequence[float], times: Mapping[float, Sequence[float]]) -> SeedMean:
    return max((gain_percent(static, of) for of in times.values()), key=lambda gain: gain.mean)
