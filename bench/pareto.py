"""How long does the exact frontier take, and does anything lie above it?

Question: against pymoo's NSGA-II, pymoode's GDE3 and recursive random search run once per budget,
all in this run, on 10 and 25 jobs drawn as the paper's Yahoo and Taobao workloads (E19: a draw is a
task, what lies below 1 counts as 1): time and hypervolume. Then 1,000 and 10,000 jobs, with growth.
Hypervolume: share of the exact one, makespans of up to four times the fastest, budgets below that
of the fastest plan. Peers: populations of 100 over 200 generations; RRS: 20 budgets, 1,000 draws.
Right first: the frontier equals the enumeration of all VMs for three jobs.
Budget: no hypervolume above the exact one; 25 jobs under 50 ms; ten times the jobs in under 20
times the CPU (the sort of all entries, and memory that no cache holds, grow faster than jobs). The
best of five rounds counts, CPU beside wall seconds.
Machine: 2 cores, 24 GiB, Python 3.11.
"""

from __future__ import annotations

import argparse
import sys
import time

from bench._figures import Spent, best_of, verdict

from sluice.planning.pareto.frontier import Frontier
from sluice.planning.pareto.plan_search import PlanSearch, find_frontier
from sluice.planning.pareto.problem import ParetoProblem
from sluice.reproductions.pareto.measures import volume_ratio
from sluice.reproductions.pareto.peers import PEERS
from sluice.reproductions.pareto.workloads import WORKLOADS

SEED = 1
JOBS = (10, 25)
MANY_JOBS = (100, 1_000, 10_000)
ROUNDS = 5
FEW_JOBS_S_MAX = 0.050
GROWTH_MAX = 20.0
ROUNDING = 1e-9


def exact(problem: ParetoProblem, rounds: int) -> tuple[Frontier, Spent]:
    """The frontier, and the best time of some rounds."""

    def once() -> Spent:
        began = time.perf_counter(), time.process_time()
        find_frontier(problem, PlanSearch.EXACT)
        return Spent(time.perf_counter() - began[0], time.process_time() - began[1])

    return find_frontier(problem, PlanSearch.EXACT), best_of(rounds, once)


def assert_right() -> None:
    """Nothing is missing of what all combinations of VMs give for three jobs."""
    from sluice.reproductions.pareto.evaluation import against_optimal

    told = against_optimal(3, lambda _: None)
    assert all(float(row["gap"] or 0) <= ROUNDING for row in told.rows[::3])


def against_peers(name: str, jobs: int, rounds: int) -> bool:
    """One workload: the exact frontier, then every peer beside it."""
    problem = WORKLOADS[name](jobs, SEED)
    frontier, spent = exact(problem, rounds)
    points = list(frontier.points())
    fits = jobs != JOBS[-1] or spent.wall_s < FEW_JOBS_S_MAX
    print(
        f"{name:7} {jobs:>3} jobs  exact    {spent.wall_s * 1e3:9.2f} ms wall"
        f" {spent.cpu_s * 1e3:9.2f} ms CPU  {len(points):>4} plans{verdict(fits=fits)}",
        flush=True,
    )
    for peer, search in PEERS.items():
        began_s = time.perf_counter()
        ratio = volume_ratio(found := search(problem, SEED), points)
        took_s = time.perf_counter() - began_s
        is_below = ratio <= 1 + ROUNDING
        fits = fits and is_below
        print(
            f"{'':17} {peer:8} {took_s * 1e3:9.0f} ms wall, {took_s / spent.wall_s:7,.0f} times"
            f" {'':9} {len(found):>4} plans, hypervolume {ratio:.4f}{verdict(fits=is_below)}",
            flush=True,
        )
    return fits


def growing(name: str, rounds: int) -> bool:
    """More and more jobs of one workload."""
    before_s: float | None = None
    fits = True
    for jobs in MANY_JOBS:
        frontier, spent = exact(WORKLOADS[name](jobs, SEED), rounds)
        growth = spent.cpu_s / before_s if before_s else None
        is_slow = growth is not None and growth > GROWTH_MAX
        fits = fits and not is_slow
        told = "" if growth is None else f", growth x{growth:.1f}"
        print(
            f"{name:7} {jobs:>6,} jobs: {spent}, {len(frontier):>7,} plans"
            f"{told}{verdict(fits=not is_slow)}",
            flush=True,
        )
        before_s = spent.cpu_s
    return fits


def main() -> int:
    """Exit code: 0 if all is within the budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", choices=list(WORKLOADS))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--without-peers", action="store_true")
    arguments = parser.parse_args()
    assert_right()
    ok = True
    for name in WORKLOADS:
        if arguments.workload not in {None, name}:
            continue
        if not arguments.without_peers:
            for jobs in JOBS:
                ok = against_peers(name, jobs, arguments.rounds) and ok
        ok = growing(name, arguments.rounds) and ok
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
