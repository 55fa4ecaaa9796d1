"""Experiment 1: relaxed goals. RAS against Fair with 1 to 8 map slots on each node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sluice.core.state import ClusterState
from sluice.reproductions.charts import lines_chart
from sluice.reproductions.ras.workload import (
    FAIR_SLOTS,
    PROTOTYPE_RATIOS,
    SETUP,
    makespan_s,
    paper_jobs,
    run_fair,
    run_ras,
    tasks_per_node,
)
from sluice.reproductions.runner import Cell, Experiment, OnProgress
from sluice.reproductions.seed_means import SeedMean, estimate

_PAPER_RAS_S: Final = 4536.0
_PAPER_BEST_S: Final = 4781.0  # of Fair, with 4 slots
_PAPER_BEST_SLOTS: Final = 4


def relaxed_goals(seeds: int, on_progress: OnProgress) -> Experiment:
    """Makespan and tasks per node of each way of scheduling."""
    jobs = paper_jobs(has_goals=False)
    states: dict[str, list[ClusterState]] = {}
    for name, settings in _RAS.items():
        on_progress(f"experiment-1: {name}")
        states[name] = [run_ras(jobs, settings, seed) for seed in range(seeds)]
    base = [makespan_s(state) for state in states["RAS"]]
    rows = [_row(name, found, base, None) for name, found in states.items()]
    fair: dict[int, SeedMean] = {}
    for slots, prototype in zip(FAIR_SLOTS, PROTOTYPE_RATIOS, strict=True):
        on_progress(f"experiment-1: Fair, {slots} map slots")
        found = [run_fair(jobs, slots, {}, seed) for seed in range(seeds)]
        fair[slots] = estimate([makespan_s(state) for state in found])
        rows.append(_row(f"Fair, {slots}", found, base, prototype))
        if slots == _PAPER_BEST_SLOTS:
            rows[-1]["paper s"] = _PAPER_BEST_S
            rows[-1]["paper: over RAS"] = round(_PAPER_BEST_S / _PAPER_RAS_S, 2)
    rows[0]["paper s"] = _PAPER_RAS_S
    best = min(fair, key=lambda slots: fair[slots].mean)
    worst_of_4 = fair[best].mean / estimate(base).mean
    return Experiment(
        name="experiment-1",
        title="Relaxed goals: RAS against Fair with static slots (experiment 1, figure 2)",
        setup=f"{SETUP} Seeds: {seeds}.",
        columns=(
            "scheduler", "paper s", "ours s", "+-", "paper: over RAS", "prototype: over RAS",
            "over RAS", "tasks per node", "cpu %",
        ),
        rows=tuple(rows),
        why=(
            f"Fair is best with {best} map slots and takes {worst_of_4:.2f} times as long as RAS;"
            " fewer slots leave resources idle, more make tasks slow each other down. The paper"
            " prints 1.05 at 4 slots and up to 2 at the worst setting. It runs 3.4 tasks per node"
            " under RAS; ours counts shuffling reduces too. The lengths of tasks are calibrated so"
            " that RAS ends near the paper's time; single completion times are not comparable."
        ),
        chart=lines_chart(
            "Makespan under relaxed goals",
            "Fair with static slots, and RAS, which chooses the number of tasks itself.",
            ("map slots of each node", "makespan (s)"),
            {
                "Fair": [(slots, one.mean) for slots, one in fair.items()],
                "RAS": [(slots, estimate(base).mean) for slots in FAIR_SLOTS],
            },
        ),
    )  # fmt: skip


_RAS: Final[Mapping[str, Mapping[str, Any]]] = {
    "RAS": {},
    "RAS, printed loop": {"placement": "printed"},
}


def _row(
    name: str, states: Sequence[ClusterState], base: Sequence[float], prototype: float | None
) -> dict[str, Cell]:
    times = estimate([makespan_s(state) for state in states])
    return {
        "scheduler": name,
        "ours s": times.mean,
        "+-": times.error,
        "prototype: over RAS": prototype,
        "over RAS": times.mean / estimate(base).mean,
        "tasks per node": estimate([tasks_per_node(state) for state in states]).mean,
        "cpu %": estimate([_cpu_percent(state) for state in states]).mean,
    }


def _cpu_percent(state: ClusterState) -> float:
    """Useful cpu work over what the nodes have, at the mean lengths of the profiles."""
    work = sum(
        phase.tasks * phase.phase.lengths.avg_s(phase.tasks) * phase.phase.demand.work.cpu
        for job in state.jobs.values()
        for phase in job.phases
        if phase.phase.lengths is not None
    )
    return work / makespan_s(state) / len(state.nodes)
