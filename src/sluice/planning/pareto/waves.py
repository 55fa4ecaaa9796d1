"""The paper's method for too few VMs: run the jobs in waves, one wave after another.

Jobs are sorted by rising time. A wave takes jobs while their VMs fit; the next job starts a new
wave. The makespan is the sum of the slowest jobs of all waves. If a plan under the cap can run all
jobs at once (`vm_cap`), it is usually better.
Source: pareto, section 3, last paragraph, and E18.
"""

from __future__ import annotations

import math

from sluice.planning.pareto.archive import Archive
from sluice.planning.pareto.frontier import Frontier, Plan


def in_waves(plan: Plan, vms_max: int) -> Plan:
    """Return the plan with its jobs in waves. Every job alone must fit."""
    by_time = sorted(
        range(len(plan.entries)), key=lambda number: (plan.entries[number].time_s, number)
    )
    waves: list[list[int]] = []
    used = 0
    for number in by_time:
        vms = plan.entries[number].vms
        assert vms <= vms_max, "staircases have no entry above the cap"
        if not waves or used + vms > vms_max:
            waves.append([])
            used = 0
        waves[-1].append(number)
        used += vms
    makespan_s = math.fsum(plan.entries[wave[-1]].time_s for wave in waves)
    return Plan(makespan_s, plan.budget_usd, plan.entries, tuple(map(tuple, waves)))


def frontier_in_waves(frontier: Frontier, vms_max: int) -> Frontier:
    """Run the plans of a frontier in waves and return the undominated ones."""
    archive: Archive[int] = Archive()
    for number in range(len(frontier)):
        plan = in_waves(frontier.plan(number), vms_max)
        archive.offer(plan.makespan_s, plan.budget_usd, number)
    kept = frontier.at(archive.held)
    return Frontier(
        archive.makespans_s,
        archive.budgets_usd,
        lambda position: in_waves(kept.plan(position), vms_max),
    )
