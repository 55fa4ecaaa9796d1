"""How the result of experiment 1 depends on what the paper does not print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sluice.reproductions.charts import lines_chart
from sluice.reproductions.ras.workload import (
    FAIR_SLOTS,
    PROTOTYPE_RATIOS,
    REDUCE_SLOTS,
    SETUP,
    makespan_s,
    paper_jobs,
    run_fair,
    run_ras,
)
from sluice.reproductions.runner import Cell, Experiment, OnProgress

_NO_PENALTY: Final = {"kappa_cpu": 0.0, "kappa_io": 0.0, "kappa_memory": 0.0}
# Changes of the world, with the ratios Fair / RAS of the prototype for 1..8 slots.
WORLDS: Final[Mapping[str, tuple[Mapping[str, Any], Sequence[float | None]]]] = {
    "defaults": ({}, PROTOTYPE_RATIOS),
    "no penalty": (_NO_PENALTY, (2.70, 1.37, 1.00, 0.92, 0.93, 0.92, 0.92, 0.92)),
    "memory penalty only": (
        {**_NO_PENALTY, "kappa_memory": 2.0},
        (2.73, 1.38, 1.04, 0.96, 1.11, 1.16, 1.39, 1.54),
    ),
    "disk penalty only": (
        {**_NO_PENALTY, "kappa_io": 0.5},
        (2.70, 1.38, 1.03, 1.00, 1.03, 1.07, 1.11, 1.18),
    ),
    "peak 1": ({"peak": 1.0}, (3.17, 1.59, 1.21, 1.07, 1.19, 1.35, 1.61, 2.04)),
    "peak 2": ({"peak": 2.0}, (1.82, 1.03, 1.10, 1.15, 1.23, 1.48, 1.70, 2.10)),
    "shuffle_memory=reduce": (
        {"shuffle_memory": "reduce"},
        (2.66, 1.26, 1.20, 1.31, None, None, None, 2.48),
    ),
}
# Changes of RAS and of Fair alone, in the world of the defaults.
RAS_CHANGES: Final[Mapping[str, Mapping[str, Any]]] = {
    "period_s=10": {"period_s": 10.0},
    "period_s=60": {"period_s": 60.0},
    "rounds=1": {"rounds": 1},
    "rounds=20": {"rounds": 20},
}
_BEST_SLOTS: Final = (3, 4)


def worlds(_: int, on_progress: OnProgress) -> Experiment:
    """Fair / RAS for 1..8 slots under other models of contention; one seed each."""
    rows: list[dict[str, Cell]] = []
    ratios_in: dict[str, list[float]] = {}
    jobs = paper_jobs(has_goals=False)
    for name, (settings, prototype) in WORLDS.items():
        on_progress(f"sensitivity: {name}")
        ras_s = makespan_s(run_ras(jobs, settings, 0))
        ratios = [makespan_s(run_fair(jobs, slots, settings, 0)) / ras_s for slots in FAIR_SLOTS]
        ratios_in[name] = ratios
        rows.append(_row(name, "prototype", None, prototype))
        rows.append(_row(name, "ours", ras_s, ratios))
    return Experiment(
        name="sensitivity",
        title="Experiment 1 under other models of contention",
        setup=f"{SETUP} One seed. Makespan of Fair over that of RAS, by map slots of each node.",
        rows=tuple(rows),
        why=_findings(ratios_in),
        chart=lines_chart(
            "Fair over RAS",
            "By the model of contention; above 1 RAS is faster.",
            ("map slots of each node", "makespan of Fair / RAS"),
            {
                str(row["model"]): [(slots, _ratio(row[str(slots)])) for slots in FAIR_SLOTS]
                for row in rows
                if row["by"] == "ours"
            },
        ),
    )


def _findings(ratios_in: Mapping[str, Sequence[float]]) -> str:
    """Return what the ratios Fair / RAS of each world show."""
    best = {name: min(ratios) for name, ratios in ratios_in.items()}
    free = [
        slots for slots, one in zip(FAIR_SLOTS, ratios_in["no penalty"], strict=True) if one < 1
    ]
    beaten = f"beats RAS with {_counts(free)} map slots" if free else "never beats RAS"
    lead = [f"{best[name]:.2f} ({name})" for name in best if name not in {"defaults", "no penalty"}]
    return (
        f"Without penalties, over-committed slots cost nothing, and Fair {beaten}: the claim of the"
        " paper rests on disks that lose speed to seeks and on memory that thrashes. Best static"
        f" setting of Fair over RAS: {best['defaults']:.2f} with the defaults, {', '.join(lead)}."
    )


def _counts(slots: Sequence[int]) -> str:
    """Slot counts as text.

    >>> _counts([4, 5, 6]), _counts([3])
    ('4 to 6', '3')
    """
    return f"{slots[0]} to {slots[-1]}" if len(slots) > 1 else str(slots[0])


def _ratio(cell: Cell) -> float:
    assert isinstance(cell, float), "each of our ratios is measured"
    return cell


def _row(
    name: str, by: str, ras_s: float | None, ratios: Sequence[float | None]
) -> dict[str, Cell]:
    by_slots = {str(slots): one for slots, one in zip(FAIR_SLOTS, ratios, strict=True)}
    return {"model": name, "by": by, "RAS s": ras_s, **by_slots}


def schedulers(_: int, on_progress: OnProgress) -> Experiment:
    """Other settings of RAS, and one reduce slot for Fair; one seed each."""
    jobs = paper_jobs(has_goals=False)
    base_s = makespan_s(run_ras(jobs, {}, 0))
    rows: list[dict[str, Cell]] = [_change("RAS", base_s, base_s)]
    for name, settings in RAS_CHANGES.items():
        on_progress(f"settings: {name}")
        rows.append(_change(f"RAS, {name}", makespan_s(run_ras(jobs, settings, 0)), base_s))
    for reduce_slots in (REDUCE_SLOTS, 1):
        for slots in _BEST_SLOTS:
            on_progress(f"settings: Fair, {slots}/{reduce_slots}")
            state = run_fair(jobs, slots, {}, 0, reduce_slots=reduce_slots)
            name = f"Fair, {slots} map slots, {reduce_slots} reduce slot{'s' * (reduce_slots > 1)}"
            rows.append(_change(name, makespan_s(state), base_s))
    changed = [abs(_ratio(row["over RAS"]) - 1) for row in rows[: 1 + len(RAS_CHANGES)]]
    two, one = (
        _best(rows, f"{count} reduce slot{'s' * (count > 1)}") for count in (REDUCE_SLOTS, 1)
    )
    return Experiment(
        name="settings",
        title="Experiment 1 under other settings of the schedulers",
        setup=f"{SETUP} One seed. A row names what differs.",
        rows=tuple(rows),
        why=(
            "The control period and the number of rounds change the makespan of RAS by"
            f" {100 * max(changed):.1f} % at most. At its best, Fair takes {two:.2f} times"
            f" as long as RAS with {REDUCE_SLOTS} reduce slots on each node, and {one:.2f} times"
            " with one; the paper does not say how many it had."
        ),
    )


def _best(rows: Sequence[Mapping[str, Cell]], ending: str) -> float:
    """The lowest ratio of the rows whose name has that ending."""
    return min(_ratio(row["over RAS"]) for row in rows if str(row["scheduler"]).endswith(ending))


def _change(name: str, time_s: float, base_s: float) -> dict[str, Cell]:
    return {"scheduler": name, "makespan s": time_s, "over RAS": time_s / base_s}
