"""Does admission that rents VMs cost less than a fixed cluster?

Question: ten random workloads of 40 jobs with deadlines and penalties, in the simulator, at two
loads. Fixed clusters of 4 to 24 VMs at $0.15 an hour, and renting that starts from 4 or 8 of them
and adds VMs at $0.40 an hour, up to 24, paid by the second or by the hour. What is the bill?
Budget: none; by the second, renting from 4 VMs costs less than the best fixed cluster. A minute.
Machine: any, because the times are simulated.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from statistics import fmean
from typing import Any

import sluice

WORKLOADS, JOBS = 10, 40
RESERVED_USD, ON_DEMAND_USD, VMS_MAX = 0.15, 0.40, 24


def workload(number: int, vms: int, gap_s: float) -> dict[str, Any]:
    """Jobs that come `gap_s` apart on average, on a cluster of VMs of six containers."""
    draw, at_s, jobs = random.Random(f"{number}/rent"), 0.0, []
    for index in range(JOBS):
        at_s += draw.expovariate(1 / gap_s)
        maps, map_s = draw.randint(20, 120), round(draw.uniform(10, 30))
        jobs.append(
            {
                "id": f"j{index}",
                "submitted_at_s": round(at_s),
                "deadline_s": round(draw.uniform(240, 900)),
                "penalty_usd": round(draw.uniform(0.05, 1.0), 2),
                "maps": {"tasks": maps, "avg_s": map_s, "max_s": map_s * 1.2},
                "reduces": {"tasks": draw.randint(2, 12), "avg_s": 15, "max_s": 20},
            }
        )
    return {
        "version": 1,
        "cluster": {"nodes": vms, "node": {"containers": 6}},
        "prices": {
            "on_demand_vm_usd": ON_DEMAND_USD, "reserved_vm_usd": RESERVED_USD, "reserved_vms": vms,
        },
        "jobs": jobs,
    }  # fmt: skip


def bill(number: int, vms: int, gap_s: float, settings: Mapping[str, Any]) -> tuple[float, ...]:
    """Rent, penalties and deadlines met of one run."""
    given = workload(number, vms, gap_s)
    run = sluice.simulate(given, tasks="yarn-like", admission="capacity", settings=settings)
    rented: Any = run.extra.get("machines", {})
    span_s = run.makespan_s or 0.0
    rent_usd = vms * RESERVED_USD * span_s / 3600 + rented.get("rented_usd", 0.0)
    missed = zip(given["jobs"], run.jobs, strict=True)
    penalties_usd = sum(job["penalty_usd"] for job, end in missed if not end.deadline_met)
    return rent_usd, penalties_usd, float(run.deadlines_met)


def main() -> None:
    """Print a row for each load and cluster, means over the workloads."""
    ways: dict[str, tuple[int, dict[str, Any]]] = {
        f"fixed, {vms} VMs": (vms, {}) for vms in (4, 8, 12, 16, 24)
    }
    for vms in (4, 8):
        for unit, billing_s in (("second", 1), ("hour", 3600)):
            settings = {"capacity.vms_max": VMS_MAX, "capacity.billing_s": billing_s}
            ways[f"renting from {vms}, by the {unit}"] = vms, settings
    for gap_s in (60.0, 180.0):
        print(f"a job every {gap_s:g} s on average")
        for name, (vms, settings) in ways.items():
            found = [bill(number, vms, gap_s, settings) for number in range(WORKLOADS)]
            rent_usd, penalties_usd, met = (fmean(column) for column in zip(*found, strict=True))
            total_usd = rent_usd + penalties_usd
            print(
                f"  {name:28} rent ${rent_usd:5.2f}  penalties ${penalties_usd:5.2f}"
                f"  bill ${total_usd:5.2f}  met {met:4.1f} of {JOBS}"
            )


if __name__ == "__main__":
    main()
