"""The evaluation of Zacheilas and Kalogeraki, "A Pareto-based scheduler for exploring
cost-performance trade-offs for MapReduce workloads", EURASIP J. Embedded Systems 2017:29.

Measurements on the authors' cluster cannot be run again. Simulations and comparisons of searches
can. Source: pareto spec, sections 7 and 8.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice
from statistics import fmean

from sluice.planning.pareto.plan_search import PlanSearch
from sluice.planning.pareto.problem import ParetoProblem
from sluice.reproductions.charts import Lines, frontiers_chart, lines_chart
from sluice.reproductions.pareto.measures import DRAWN, peer_points, points_of, volume_ratio
from sluice.reproductions.pareto.peers import PEERS, Judge, Points
from sluice.reproductions.pareto.policies import limits, policies
from sluice.reproductions.pareto.tuning import buffer_tuning, model_accuracy, task_adjustment
from sluice.reproductions.pareto.workloads import WORKLOADS
from sluice.reproductions.runner import Cell, Evaluation, Experiment, OnProgress

Draw = Callable[[int, int], ParetoProblem]  # jobs, seed

_COMBINATIONS_MAX = 2_000_000
_PEER_JOBS = (10, 25)  # each takes seconds
_JOBS = (5, 10, 15, 20, 25)


def search_time(seeds: int, on_progress: OnProgress) -> Experiment:
    """Time of each search, up to 25 jobs: figure 13."""
    rows: list[dict[str, Cell]] = []
    lines: dict[str, list[tuple[float, float]]] = {}
    for name, made in WORKLOADS.items():
        for jobs in _JOBS:
            on_progress(f"search time: {name} {jobs}")
            row: dict[str, Cell] = {"workload": f"{name} {jobs}", "paper: own ms": "< 150"}
            row |= {"paper: others ms": "> 5000" if jobs == _JOBS[-1] else None}
            for way, took_ms in _times_ms(made(jobs, 0), seeds):
                row[way] = took_ms
                if took_ms is not None and name == "Yahoo":
                    lines.setdefault(way, []).append((jobs, took_ms))
            rows.append(row)
    return Experiment(
        name="search-time",
        title="Time of the search (Fig. 13)",
        setup=f"{DRAWN} The best of {min(seeds, 5)} runs; peers run once, 100 x 200 evaluations.",
        columns=(
            "workload", "paper: own ms", "paper: others ms", "exact", "slots", "VMs", *PEERS,
        ),
        rows=tuple(rows),
        why=(
            "Milliseconds on another machine. The exact sweep evaluates only numbers of VMs that"
            " change the time of a job, so it is faster than the greedy search too. The peers stop"
            " after a fixed number of generations, which the paper does not state."
        ),
        chart=lines_chart(
            "Time of the search, Yahoo", "On a logarithmic scale.", ("jobs", "milliseconds"), lines,
            is_log=True,
        ),
    )  # fmt: skip


def _times_ms(problem: ParetoProblem, seeds: int) -> Iterator[tuple[str, float | None]]:
    rounds = range(min(seeds, 5))
    for way, search in (
        ("exact", PlanSearch.EXACT),
        ("slots", PlanSearch.SLOTS),
        ("VMs", PlanSearch.VMS),
    ):
        yield way, min(points_of(problem, search)[1] for _ in rounds)
    if len(problem.jobs) in _PEER_JOBS:
        for way in PEERS:
            yield way, peer_points(way, problem, 0)[1]


def frontier_quality(seeds: int, on_progress: OnProgress) -> Experiment:  # noqa: ARG001  # peers take seconds, so one draw
    """Frontiers of all searches for 10 jobs: figure 14."""
    rows: list[dict[str, Cell]] = []
    views: dict[str, Lines] = {}
    for name, made in WORKLOADS.items():
        on_progress(f"frontier quality: {name}")
        series = views[f"10 jobs of {name}"] = _all_frontiers(made(10, 0), 0)
        rows += [
            {
                "workload": f"{name} 10",
                "search": way,
                "paper": _PAPER_ON_QUALITY.get(way),
                "hypervolume": volume_ratio(points, series["exact"]),
            }
            for way, points in series.items()
        ]
    return Experiment(
        name="frontier-quality",
        title="Frontiers of all searches (Fig. 14)",
        setup=f"{DRAWN} One draw; shares of the exact hypervolume.",
        rows=tuple(rows),
        why=(
            "In the figure of the paper its own points are close to those of the genetic searches."
            " No point is better than the exact frontier. The slots policy is closest to it, and"
            " RRS is far behind, as in the paper."
        ),
        chart=frontiers_chart("Frontiers by search", "One seed, billed by the hour.", views),
    )


_PAPER_ON_QUALITY: dict[str, Cell] = {
    "slots": "near NSGA-II and GDE3",
    "NSGA-II": "near own",
    "GDE3": "near own",
    "RRS": "far worse",
}


def _all_frontiers(problem: ParetoProblem, seed: int) -> dict[str, Points]:
    found = {"exact": points_of(problem, PlanSearch.EXACT)[0]}
    found["slots"] = points_of(problem, PlanSearch.SLOTS)[0]
    for name in PEERS:
        points, _ = peer_points(name, problem, seed)
        if points is not None:
            found[name] = points
    return found


def against_optimal(seeds: int, on_progress: OnProgress) -> Experiment:
    """Three jobs, every combination of VMs: figure 15."""
    rows: list[dict[str, Cell]] = []
    drawn: dict[str, Lines] = {}
    for name, made in WORKLOADS.items():
        gaps: dict[str, list[float]] = {"exact": [], "slots": []}
        times_ms: dict[str, list[float]] = {"exact": [], "slots": [], "all combinations": []}
        combinations = 0
        for problem in _small_ones(made, seeds):
            on_progress(f"against optimal: {name}")
            began_s = time.perf_counter()
            optimal, tried = _enumerated(problem)
            times_ms["all combinations"].append(1000 * (time.perf_counter() - began_s))
            combinations += tried
            series = {"all combinations": optimal}
            for way, mine in gaps.items():
                points, took_ms = points_of(problem, PlanSearch(way))
                series[way] = points
                mine.append(1 - volume_ratio(points, optimal))
                times_ms[way].append(took_ms)
            drawn.setdefault(f"3 jobs of {name}", series)
        rows += [
            {
                "workload": f"{name} 3",
                "search": way,
                "paper: gap": {"slots": "small"}.get(way),
                "gap": max(gaps[way]) if way in gaps else 0.0,
                "paper: ms": {"slots": 30, "all combinations": 450_000}.get(way),
                "ms": fmean(times_ms[way]),
                "combinations": combinations // seeds if way == "all combinations" else None,
            }
            for way in times_ms
        ]
    return Experiment(
        name="against-optimal",
        title="Against all combinations (Fig. 15)",
        setup=(
            f"{DRAWN} The first {seeds} draws of 3 jobs with at most {_COMBINATIONS_MAX:,}"
            " combinations; gap: largest missing share of the hypervolume."
        ),
        rows=tuple(rows),
        why=(
            "All combinations of VMs per job, with all their slots used, are evaluated in arrays."
            " The exact sweep misses nothing; the greedy search misses a little, as the paper says."
            " The 7.5 minutes of the paper are for one combination after the other."
        ),
        chart=frontiers_chart(
            "Frontiers against all combinations",
            "The first draw; the exact frontier hides that of all combinations.",
            drawn,
        ),
    )


def _small_ones(made: Draw, seeds: int) -> Iterator[ParetoProblem]:
    """The first draws of three jobs whose combinations can all be tried in a second."""
    problems = (made(3, seed) for seed in count())
    small = (one for one in problems if math.prod(_vms_max(one)) <= _COMBINATIONS_MAX)
    return islice(small, seeds)


def _vms_max(problem: ParetoProblem) -> list[int]:
    """The largest useful number of VMs for each job."""
    (offer,) = problem.offers
    return [
        offer.shape.vms(map_slots=job.maps.tasks, reduce_slots=job.reduces.tasks)
        for job in problem.jobs
    ]


def _enumerated(problem: ParetoProblem) -> tuple[Points, int]:
    """The frontier of all combinations of VMs per job, and their number."""
    import numpy as np

    judge = Judge(problem)
    (offer,) = problem.offers
    makespans, budgets = np.zeros(1), np.zeros(1)
    for number, vms_max in enumerate(_vms_max(problem)):
        shape, counts = offer.shape, np.arange(1, vms_max + 1)
        slots = np.tile(judge.tasks, (len(counts), 1))
        columns = (number, number + len(problem.jobs))
        for column, per_vm in zip(columns, (shape.map_slots, shape.reduce_slots), strict=True):
            slots[:, column] = np.minimum(judge.tasks[column], counts * per_vm)
        time_s, usd = judge.of_job(slots, number).T
        makespans = np.maximum(makespans[:, None], time_s).ravel()
        budgets = (budgets[:, None] + usd).ravel()
    return _undominated(makespans.tolist(), budgets.tolist()), len(makespans)


def _undominated(makespans: Sequence[float], budgets: Sequence[float]) -> Points:
    kept: Points = []
    for point in sorted(zip(makespans, budgets, strict=True)):
        if not kept or point[1] < kept[-1][1] * (1 - 1e-12):
            kept.append(point)
    return kept


EVALUATION = Evaluation(
    name="pareto",
    title="Makespan and budget: Zacheilas and Kalogeraki, EURASIP J. Embedded Systems 2017:29",
    timed={
        "model-accuracy": (model_accuracy, 0.01),
        "policies": (policies, 0.06),
        "search-time": (search_time, 0.16),
        "frontier-quality": (frontier_quality, 0.03),
        "against-optimal": (against_optimal, 0.04),
        "limits": (limits, 0.1),
        "task-adjustment": (task_adjustment, 0.01),
        "buffer-tuning": (buffer_tuning, 0.02),
    },
    left_out={
        "Fig. 10": "the authors' cluster; model-accuracy simulates its jobs instead",
        "Fig. 16": "frontiers of runs on the authors' cluster, whose profiles are not published",
        "Figs. 2, 3, 5": "measurements of one job on the authors' cluster",
    },
    seeds=5,
)
