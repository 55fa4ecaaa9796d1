"""How long does a day like Facebook's take, with every attempt recorded?

Question: 24,443 jobs with 8.1 million maps arrive over a day, sizes heavy-tailed as in published
traces of that cluster; 600 nodes of 8 map and 4 reduce slots run them under FIFO and Fair. A task
takes 15 to 45 s, drawn when its job arrives. CPU seconds and peak memory of the whole run, and the
rate against SimPy's FIFO model of 60,000 tasks in the same run.
Budget: all tasks are recorded as done, in 1 GB; the aim of 30 s is printed next to the time.
`--part 20` runs the first twentieth of the day.
Machine: 2 cores, 24 GiB, Python 3.11.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import time

from bench._peers import simpy_fifo
from bench.simulator import lengths_of

from sluice.bootstrap.scheduler import scheduler_for
from sluice.bootstrap.settings import resolved_settings
from sluice.core.transitions import AttemptState
from sluice.model.cluster import Cluster, Node
from sluice.model.ids import JobId, NodeId, PoolId
from sluice.model.job import Job, Phase
from sluice.model.lengths import ConstantLengths
from sluice.model.slot_kind import SlotKind
from sluice.simulation.driver import Simulation
from sluice.simulation.settings import SimulationSettings

JOBS, MAPS, POOLS = 24_443, 8_100_000, 50
DAY_S, TASK_S, JITTER = 86_400.0, 30.0, 0.5
MAPS_MAX = 60_000  # of one job, before all are scaled to the day's number
CALIBRATION_TASKS = 60_000
AIM_S, PEAK_BYTES_MAX = 30.0, 1e9


def jobs_of_a_day(part: int) -> list[Job]:
    """The jobs of the first 1/part of the day, in the order of their arrival."""
    draw = random.Random(3)
    drawn = [min(MAPS_MAX, max(1, int(draw.paretovariate(0.75)))) for _ in range(JOBS)]
    scale = MAPS / sum(drawn)
    arrivals_s = sorted(round(draw.uniform(0, DAY_S), 3) for _ in drawn)
    return [
        Job(
            job_id=JobId(f"job-{index}"),
            pool=PoolId(f"pool-{index % POOLS}"),
            submitted_at_s=at_s,
            phases=(
                Phase(
                    name="map",
                    kind=SlotKind.MAP,
                    tasks=max(1, round(size * scale)),
                    lengths=ConstantLengths(TASK_S, TASK_S),
                ),
            ),
        )
        for index, (size, at_s) in enumerate(zip(drawn, arrivals_s, strict=True))
        if at_s <= DAY_S / part
    ]


def measure(policy: str, nodes: int, part: int) -> bool:
    """Run one policy and print what it took; whether the budget is kept."""
    jobs = jobs_of_a_day(part)
    tasks = sum(job.tasks for job in jobs)
    calibration = lengths_of(CALIBRATION_TASKS, seed=1)
    start_s = time.process_time()
    simpy_fifo(calibration, 1_000, 250)
    peer_rate_per_s = CALIBRATION_TASKS / (time.process_time() - start_s)
    scheduler = scheduler_for(tasks=policy, settings=resolved_settings({"jitter": JITTER}))
    cluster = Cluster(
        nodes=tuple(
            Node(node_id=NodeId(f"node-{index}"), map_slots=8, reduce_slots=4)
            for index in range(nodes)
        )
    )
    simulation = Simulation(scheduler, cluster, jobs, settings=SimulationSettings(jitter=JITTER))
    start_s = time.process_time()
    simulation.run()
    took_s = time.process_time() - start_s
    log = scheduler.state.closed
    assert log.ended[AttemptState.DONE] == len(log) == tasks
    digest_start_s = time.process_time()
    log.digest(is_totals=False)
    digest_s = time.process_time() - digest_start_s
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    fits = peak_bytes <= PEAK_BYTES_MAX
    print(
        f"{policy:4} {nodes:>5,} nodes, {len(jobs):,} jobs, {tasks:,} tasks: {took_s:.1f} s CPU"
        f" (aim {AIM_S / part:.1f} s), {took_s / tasks * 1e6:.2f} us a task,"
        f" {tasks / took_s / peer_rate_per_s:.2f} x SimPy, digest {digest_s:.2f} s,"
        f" {peak_bytes / 1e6:.0f} MB" + ("" if fits else "  <-- over budget"),
        flush=True,
    )
    return fits


def main() -> int:
    """FIFO and Fair, each in its own process; 1 if a budget is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policy", choices=("fifo", "fair"))
    parser.add_argument("--nodes", type=int, default=600)
    parser.add_argument("--part", type=int, default=1)
    given = parser.parse_args()
    if given.policy:
        return 0 if measure(given.policy, given.nodes, given.part) else 1
    more = ["--nodes", str(given.nodes), "--part", str(given.part)]
    command = [sys.executable, "-m", "bench.facebook_day", *more, "--policy"]
    return max(
        subprocess.run([*command, policy], check=False).returncode for policy in ("fifo", "fair")
    )


if __name__ == "__main__":
    sys.exit(main())
