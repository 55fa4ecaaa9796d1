"""Reference for undominated plans: all combinations of all allocations.

Written from the equations alone, with no line of the planner's but the buffer setting, whose closed
form has a referee of its own.
"""

import itertools
import math

import numpy as np

from sluice.planning.pareto.buffers import closed_form
from sluice.planning.pareto.problem import BufferTuning, IoModel, TaskTuning
from sluice.planning.pareto.spills import MapShare


def ceiling(number):
    return max(1, math.ceil(number - 1e-9 * max(1, abs(number))))


def phase_s(parts, tasks, slots, *, is_exact=False):
    """(low + up) / 2 of equations (5) and (6), over all parts."""
    low = up = 0.0
    for part in parts:
        avg_s, max_s = part.avg_s(tasks), part.max_s(tasks)
        if is_exact and tasks <= slots:
            low, up = low + max_s, up + max_s
            continue
        low += math.ceil(tasks / slots) * avg_s
        up += math.ceil((tasks - 1) / slots) * avg_s + max_s
    return (low + up) / 2


def counts(phase, slots, tuning):
    """Task counts to try on these slots."""
    if tuning is TaskTuning.FIXED:
        return [phase.tasks]
    if tuning is TaskTuning.SCAN:
        return range(slots, phase.tasks_max + 1)
    tasks = slots
    while tasks < phase.tasks_max and phase_s(phase.parts, tasks + 1, slots) < phase_s(
        phase.parts, tasks, slots
    ):
        tasks += 1
    return [tasks]


def io_usd(job, problem, tasks):
    """Equations (13), (18) to (21)."""
    if job.output is None:
        return 0.0
    data, records = job.output.bytes / tasks, job.output.records / tasks
    setting = job.buffer.default
    if problem.options.buffers is BufferTuning.CLOSED_FORM:
        setting = closed_form(job.buffer, MapShare(data, records), problem.options.io_model)
    max_data = (1 - setting.metadata_share) * setting.bytes * setting.spill_threshold
    max_meta = setting.metadata_share * setting.bytes * setting.spill_threshold
    times = max(ceiling(data / max_data), ceiling(16 * records / max_meta))
    if data / max_data >= 16 * records / max_meta:
        spill = max_data + 16 * max_data / (data / records)
    else:
        spill = max_meta + (max_meta / 16) * (data / records)
    moved = times * spill
    if problem.options.io_model is IoModel.MERGE:
        moved, files = data, times
        while files > 1:  # each pass of the merge reads all and writes it again
            moved, files = moved + 2 * data, ceiling(files / setting.merge_width)
    return tasks * moved / problem.prices.io_bytes_per_op * problem.prices.io_op_usd


def paid_hours(time_s, billing_s):
    return ceiling(time_s / billing_s) * billing_s / 3600 if billing_s else time_s / 3600


def allocations(job, problem):
    """Yield (time, cost, VMs) of every allowed allocation of one job."""
    tuning = problem.options.tasks
    is_exact = problem.options.single_wave.value == "exact"
    found = []
    for phase in (job.maps, job.reduces):
        limit = phase.tasks if tuning is TaskTuning.FIXED else phase.tasks_max
        cuts = [(k, n) for k in range(1, limit + 1) for n in counts(phase, k, tuning) if k <= n]
        times = [phase_s(phase.parts, n, k, is_exact=is_exact) for k, n in cuts]
        found.append(list(zip(cuts, times, strict=True)))
    rows = []
    for offer in problem.offers:
        for ((ms, mt), map_s), ((rs, _), reduce_s) in itertools.product(*found):
            time_s = (map_s + reduce_s) / offer.speed + job.driver_s
            vms = max(
                math.ceil(ms / offer.shape.map_slots), math.ceil(rs / offer.shape.reduce_slots)
            )
            rent_usd = vms * paid_hours(time_s, problem.prices.billing_s) * offer.hour_usd
            rows.append((time_s, rent_usd + io_usd(job, problem, mt), vms))
    return np.array(rows)


def all_plans(problem):
    """Yield (makespan, budget) of every combination that fits the cap on VMs."""
    makespans, budgets, vms = (np.zeros(1) for _ in range(3))
    for job in problem.jobs:
        time_s, usd, own_vms = allocations(job, problem).T
        makespans = np.maximum(makespans[:, None], time_s).ravel()
        budgets = (budgets[:, None] + usd).ravel()
        vms = (vms[:, None] + own_vms).ravel()
    cap = problem.limits.vms_max
    fits = vms <= (math.inf if cap is None else cap)
    return makespans[fits], budgets[fits]


def undominated(makespans, budgets):
    """The points that no other dominates by more than rounding, the fastest first."""
    kept: list[tuple[float, float]] = []
    for place in np.lexsort((budgets, makespans)):
        time_s, usd = float(makespans[place]), float(budgets[place])
        if not kept or usd < kept[-1][1] * (1 - 1e-12):
            kept.append((time_s, usd))
    return kept


def are_alike(ours, theirs, tolerance=1e-9):
    """Whether both fronts are equal: each point of one is equalled or dominated in the other."""
    return all(
        any(t <= time_s * (1 + tolerance) and u <= usd * (1 + tolerance) for t, u in other)
        for one, other in ((ours, theirs), (theirs, ours))
        for time_s, usd in one
    )
