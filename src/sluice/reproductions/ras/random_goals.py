"""Goals met on random workloads: the best static Fair setting, RAS, and RAS with `aim=goals`.

The comparison favours Fair: its best setting is chosen afterwards, for each workload by itself.
"""

from __future__ import annotations

import random
from statistics import fmean, stdev
from typing import Final, NamedTuple

from sluice.model.job import Job
from sluice.reproductions.charts import plain_bars_chart
from sluice.reproductions.ras.workload import (
    PROFILES,
    application_job,
    goals_met,
    run_fair,
    run_ras,
)
from sluice.reproductions.runner import Cell, Experiment, OnProgress

NODES: Final = 4
FAIR_SLOTS: Final = tuple(range(1, 7))
_WORKLOADS_A_SEED: Final = 40
_BUSIEST: Final = {"Sort": 0.45, "Combine": 0.25, "Select": 0.20}  # of a node, by one map
_START_S: Final = 60  # a job may miss a first control cycle or two


class GoalsMet(NamedTuple):
    """Goals met in one workload. best_fair: by the best of `FAIR_SLOTS`."""

    jobs: int
    best_fair: int
    utility: int
    goals: int


def random_jobs(number: int) -> tuple[Job, ...]:
    """1 to 9 jobs within 15 minutes. Goals: 0.5 to 7.5 times the length alone on the cluster."""
    draw = random.Random(f"{number}/goals")
    tightness = draw.uniform(0.6, 3.0)
    return tuple(_random_job(f"j{index}", tightness, draw) for index in range(draw.randint(1, 9)))


def _random_job(name: str, tightness: float, draw: random.Random) -> Job:
    application = draw.choice(list(PROFILES))
    maps = draw.randint(8, 80)
    reduces = draw.randint(1, 4) if application == "Sort" else 1
    submitted_at_s = draw.randint(0, 900)
    reduce_s = draw.randint(20, 80)
    map_s = PROFILES[application].map_s
    alone_s = maps * map_s * _BUSIEST[application] / NODES + map_s + reduce_s
    within_s = round(alone_s * tightness * draw.uniform(0.8, 2.5)) + _START_S
    return application_job(
        name,
        application,
        maps=maps,
        reduces=reduces,
        reduce_s=reduce_s,
        submitted_at_s=submitted_at_s,
        goal_at_s=submitted_at_s + within_s,
    )


def compared(number: int) -> GoalsMet:
    """Goals met in one workload by each way of scheduling."""
    jobs = random_jobs(number)
    fair = [goals_met(run_fair(jobs, slots, {}, 1, nodes=NODES)) for slots in FAIR_SLOTS]
    utility, goals = (
        goals_met(run_ras(jobs, {"aim": aim}, 1, nodes=NODES)) for aim in ("utility", "goals")
    )
    return GoalsMet(len(jobs), max(fair), utility, goals)


def goals_on_random_workloads(seeds: int, on_progress: OnProgress) -> Experiment:
    """Means, spread, and in how many workloads each way meets as many as the best Fair."""
    found = []
    for number in range(seeds * _WORKLOADS_A_SEED):
        on_progress(f"random-goals: workload {number + 1} of {seeds * _WORKLOADS_A_SEED}")
        found.append(compared(number))
    rows = [_row(name, found, field) for name, field in _WAYS.items()]
    more = [one.goals - one.best_fair for one in found]
    share = rows[2]["as many as Fair %"]
    return Experiment(
        name="random-goals",
        title="Goals met on random workloads (not in the paper)",
        setup=(
            f"{len(found)} workloads of 1 to 9 jobs on {NODES} nodes, tight to loose goals. Fair:"
            " the best of 1 to 6 map slots, chosen afterwards for each workload."
        ),
        rows=tuple(rows),
        why=(
            f"aim=goals meets at least as many goals as the best static setting in {share:.0f} % of"
            f" the workloads; on average it meets {fmean(more):.2f} more"
            + (f" (standard deviation {stdev(more):.2f})." if len(more) > 1 else ".")
        ),
        chart=plain_bars_chart(
            "Goals met on random workloads",
            "Mean number of goals met in a workload.",
            "goals met",
            {
                "": {
                    name: fmean(getattr(one, field) for one in found)
                    for name, field in _WAYS.items()
                }
            },
        ),
    )


_WAYS: Final = {"Fair, best of 1..6": "best_fair", "RAS": "utility", "RAS, aim=goals": "goals"}


def _row(name: str, found: list[GoalsMet], field: str) -> dict[str, Cell]:
    met = [getattr(one, field) for one in found]
    at_least = [getattr(one, field) >= one.best_fair for one in found]
    return {
        "scheduler": name,
        "goals met": fmean(met),
        "standard deviation": stdev(met) if len(met) > 1 else None,
        "met %": 100 * sum(met) / sum(one.jobs for one in found),
        "as many as Fair %": 100 * fmean(at_least),
    }
