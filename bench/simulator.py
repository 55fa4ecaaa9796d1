"""How fast is the simulator with the whole core and its checks on, and how does its cost grow?

Question: tasks a second at 10^4, 10^5, 10^6 tasks with per-task random lengths, FIFO and Fair, on
1,000 map and 250 reduce slots, against a SimPy model of the same order and workload in the same
run; the same with phases of alike tasks, which are counted. Memory of the largest run.
Budgets, from 10^5 tasks up (below, the start-up of a run, and of SimPy's, is what is measured): at
least 1.5 times SimPy's rate task by task, at least 3 times it when alike; 10^6 tasks in 30 s and
2 GB; ten times the tasks in at most twelve times the time, both compared with SimPy's time at that
size, for the machine's speed drifts between cells.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import time

from bench._peers import Lengths, simpy_fair, simpy_fifo

from sluice.bootstrap.scheduler import scheduler_for
from sluice.bootstrap.settings import resolved_settings
from sluice.model.cluster import Cluster, Node
from sluice.model.ids import JobId, NodeId, PoolId
from sluice.model.job import Job, Phase
from sluice.model.lengths import ConstantLengths, ListedLengths, TaskLengths
from sluice.model.slot_kind import SlotKind
from sluice.simulation.driver import Simulation
from sluice.simulation.settings import SimulationSettings

JOBS, MAP_SLOTS, REDUCE_SLOTS, POOLS = 20, 1000, 250, 4
SIZES = (10_000, 100_000, 1_000_000)


def lengths_of(tasks: int, seed: int) -> Lengths:
    """Four fifths maps, one fifth reduces, uniform between 5 and 15 s."""
    draw = random.Random(seed)
    maps = tasks // JOBS * 4 // 5
    reduces = tasks // JOBS - maps
    return [
        [[draw.uniform(5, 15) for _ in range(count)] for count in (maps, reduces)]
        for _ in range(JOBS)
    ]


def jobs_of(lengths: Lengths, *, alike: bool) -> list[Job]:
    """The same as jobs; alike: every task of a phase takes the phase's mean."""

    def phase(name: str, kind: SlotKind, each_s: list[float], after: tuple[int, ...]) -> Phase:
        mean_s = sum(each_s) / len(each_s)
        form: TaskLengths = (
            ConstantLengths(mean_s, mean_s) if alike else ListedLengths(tuple(each_s))
        )
        return Phase(name=name, kind=kind, tasks=len(each_s), lengths=form, after=after)

    return [
        Job(
            job_id=JobId(f"job-{index}"),
            pool=PoolId(f"pool-{index % POOLS}"),
            phases=(
                phase("map", SlotKind.MAP, list(phases[0]), ()),
                phase("reduce", SlotKind.REDUCE, list(phases[1]), (0,)),
            ),
        )
        for index, phases in enumerate(lengths)
    ]


def sluice_run(policy: str, jobs: list[Job]) -> tuple[float, float, int]:
    """Returns (seconds, makespan in model seconds, tasks done)."""
    scheduler = scheduler_for(tasks=policy, settings=resolved_settings({}))
    node = Node(node_id=NodeId("node-1"), map_slots=MAP_SLOTS, reduce_slots=REDUCE_SLOTS)
    simulation = Simulation(
        scheduler, Cluster(nodes=(node,), is_totals=True), jobs, settings=SimulationSettings()
    )
    start_s = time.perf_counter()
    simulation.run()
    took_s = time.perf_counter() - start_s
    done = sum(attempt.launch.tasks for attempt in scheduler.state.closed)
    return took_s, max(job.finished_at_s for job in scheduler.state.jobs.values()), done


def measure(tasks: int, policy: str, *, alike: bool) -> dict[str, object]:
    """One cell: SimPy and Sluice in turn, the best of `rounds`."""
    lengths = lengths_of(tasks, seed=tasks)
    jobs = jobs_of(lengths, alike=alike)
    rounds = 2 if tasks >= SIZES[-1] and not alike else 5
    base_s = took_s = float("inf")
    for _ in range(rounds):
        seconds, base_makespan_s = (
            simpy_fifo(lengths, MAP_SLOTS, REDUCE_SLOTS)
            if policy == "fifo"
            else simpy_fair(lengths, MAP_SLOTS, REDUCE_SLOTS, POOLS)
        )
        base_s = min(base_s, seconds)
        seconds, makespan_s, done = sluice_run(policy, jobs)
        took_s = min(took_s, seconds)
        assert done == sum(len(phase) for phases in lengths for phase in phases)
        if not alike:
            # Right before fast. SimPy's model lets jobs become ready out of order, hence the room.
            assert abs(makespan_s / base_makespan_s - 1) < 0.02, (makespan_s, base_makespan_s)
    return {
        "tasks": tasks,
        "policy": policy,
        "alike": alike,
        "tasks_per_s": tasks / took_s,
        "simpy_tasks_per_s": tasks / base_s,
        "ratio": base_s / took_s,
        "took_s": took_s,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def main() -> int:
    """Every cell, or the one asked for; 1 if a budget is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cell", nargs=3, metavar=("TASKS", "POLICY", "ALIKE"))
    arguments = parser.parse_args()
    if arguments.cell:
        tasks, policy, alike = arguments.cell
        print(json.dumps(measure(int(tasks), policy, alike=alike == "alike")))
        return 0
    ok = True
    for alike in ("apart", "alike"):
        for policy in ("fifo", "fair"):
            before: dict[str, float] = {}
            for tasks in SIZES:
                # A process for each cell, so that memory is that of the cell alone.
                cell = [sys.executable, "-m", "bench.simulator", "--cell"]
                answer = subprocess.run(
                    [*cell, str(tasks), policy, alike], check=True, capture_output=True, text=True
                )
                row = json.loads(answer.stdout)
                # Time in units of what SimPy takes a task at that size.
                growth = (
                    row["tasks"] / before["tasks"] * before["ratio"] / row["ratio"]
                    if before
                    else None
                )
                least = 3.0 if alike == "alike" else 1.5
                fits = tasks == SIZES[0] or row["ratio"] >= least
                if growth is not None and before["tasks"] > SIZES[0]:
                    fits = fits and growth <= 12
                before = row
                if tasks == SIZES[-1]:
                    fits = fits and row["took_s"] <= 30 and row["peak_bytes"] <= 2e9
                ok = ok and fits
                print(
                    f"{alike:5} {policy:4} {tasks:>9,} tasks: {row['tasks_per_s']:>12,.0f}/s,"
                    f" {row['ratio']:.2f} x SimPy ({row['simpy_tasks_per_s']:,.0f}/s),"
                    f" {row['took_s']:.2f} s, {row['peak_bytes'] / 1e6:.0f} MB"
                    + (f", growth x{growth:.1f}" if growth else "")
                    + ("" if fits else "  <-- over budget")
                )
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
