"""How long does VM-aware scheduling on pools take for the default load, and how does that grow?

Question: 11,500 light jobs in 100 minutes (1.92 a second, 50 customers, 54 configurations for each
job, mean deadline 400 s) on 70 servers of 16 units, a sixth more than the jobs use on average; then
a tenth of the jobs. First it checks that no deadline is missed and no pool lends more VMs than it
has. Budgets: 11,500 jobs under 10 s of CPU time, growth under 15 for ten times the jobs.
Reading the file is not counted. Machine: 2 cores, 24 GiB, Python 3.11, shared.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

from bench._figures import Spent, verdict

from sluice.planning.pools.least_servers import on_servers
from sluice.planning.pools.online import vm_aware
from sluice.planning.pools.problem import PoolProblem
from sluice.planning.pools.schedule import PoolSchedule, usage
from sluice.reproductions.cura.figures import matched_shares, problem
from sluice.reproductions.cura.workloads import Load

JOBS, SERVERS, ROUNDS = 11_500, 70, 3
CPU_S_MAX, GROWTH_MAX = 10.0, 15.0


def timed(pools: PoolProblem) -> tuple[PoolSchedule, Spent]:
    """The schedule, and the best time of the rounds."""
    schedule, best = timed_once(pools)
    for _ in range(ROUNDS - 1):
        best = best.best(timed_once(pools)[1])
    return schedule, best


def timed_once(pools: PoolProblem) -> tuple[PoolSchedule, Spent]:
    """The schedule, and the time that it took."""
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    schedule = vm_aware(pools)
    return schedule, Spent(time.perf_counter() - wall_s, time.process_time() - cpu_s)


def main() -> int:
    """Print the figures; 1 if a budget is missed."""
    drawn = problem(Load(jobs=JOBS), seed=0)
    pools = on_servers(drawn, SERVERS, matched_shares(drawn))
    schedule, spent = timed(pools)
    assert schedule.missed == ()
    assert all(
        used <= vms
        for counts in usage(schedule)
        for used, vms in zip(counts, pools.sizes, strict=True)
    )
    _, tenth = timed(replace(pools, jobs=pools.jobs[: JOBS // 10]))
    growth = spent.cpu_s / tenth.cpu_s
    print(f"{JOBS:>6,} jobs {spent}")
    print(f"{JOBS // 10:>6,} jobs {tenth}")
    print(f"growth for ten times the jobs: {growth:.1f}")
    fits = spent.cpu_s < CPU_S_MAX and growth < GROWTH_MAX
    print(verdict(fits=fits))
    return 0 if fits else 1


if __name__ == "__main__":
    sys.exit(main())
