"""The choices for one job that no other beats: faster ones cost more.

For every number of VMs worth having, the fullest allocation is best: time never rises with slots,
and a VM is paid whole. So a staircase has an entry for few of the millions of allocations that
there are, and yet none of them beats it. Where VMs come in several types, the staircases of all
types are one. Jobs whose tasks are tuned are the business of `tuned`. Source: pareto, section 4.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from sluice.model.machines import VmOffer
from sluice.planning.pareto.pricing import JobChoice, JobPricing, PlanEntry
from sluice.planning.pareto.problem import ParetoProblem, TaskTuning
from sluice.planning.pareto.rounding import is_below

Staircase = tuple[PlanEntry, ...]


def staircases(problem: ParetoProblem, *, vms_max: int | None = None) -> tuple[Staircase, ...]:
    """For each job its entries by rising time and falling cost.

    vms_max: the most VMs that one job may use; a job may then be left without any entry.
    """
    return tuple(
        undominated(job_entries(problem, JobPricing(problem, number), vms_max))
        for number in range(len(problem.jobs))
    )


def undominated(entries: Iterable[PlanEntry]) -> Staircase:
    """The entries that no other beats in time and cost; the fewest VMs of equals."""
    kept: list[PlanEntry] = []
    for entry in sorted(entries, key=_by_time):
        if not kept or is_below(entry.cost_usd, kept[-1].cost_usd):
            kept.append(entry)
    return tuple(kept)


def _by_time(entry: PlanEntry) -> tuple[float, float, int]:
    return entry.time_s, entry.cost_usd, entry.vms


def job_entries(
    problem: ParetoProblem, pricing: JobPricing, vms_max: int | None = None
) -> Iterator[PlanEntry]:
    """Entries among which are all that none beats in time and cost, for every type of VM.

    vms_max: of the job's VMs; if given, all that none beats in time, cost and VMs, where there are
    other jobs.
    """
    tuning = problem.options.tasks
    if tuning is TaskTuning.FIXED:
        found = (_fastest(pricing, offer) for offer in problem.offers)
    else:
        from sluice.planning.pareto.tuned import TunedJob

        job = TunedJob(pricing, tuning)
        # A job that is alone need not make room for another.
        is_shared = vms_max is not None and len(problem.jobs) > 1
        found = (job.entries(offer, vms_max, is_shared=is_shared) for offer in problem.offers)
    entries = chain.from_iterable(found)
    return (entry for entry in entries if vms_max is None or entry.vms <= vms_max)


def _fastest(pricing: JobPricing, offer: VmOffer) -> Iterator[PlanEntry]:
    """For each number of VMs worth having the fastest entry: no other can be cheaper."""
    maps, reduces = pricing.job.maps.tasks, pricing.job.reduces.tasks
    shape, buffer = offer.shape, pricing.buffer(maps)
    breaks = {*breaking_vms(maps, shape.map_slots), *breaking_vms(reduces, shape.reduce_slots)}
    for vms in sorted(breaks):
        map_slots = pricing.maps.useful_slots(maps, vms * shape.map_slots)
        reduce_slots = pricing.reduces.useful_slots(reduces, vms * shape.reduce_slots)
        yield pricing.entry(JobChoice(offer, map_slots, reduce_slots, maps, reduces, buffer))


def breaking_vms(tasks: int, per_vm: int) -> list[int]:
    """The numbers of VMs at which a phase of fixed tasks gets faster, the least first.

    With `per_vm` slots each. Between two of them more VMs only cost more; there are about
    4 * sqrt(tasks) of them, so that a hundred million tasks are as good as a thousand.

    >>> breaking_vms(tasks=5, per_vm=2)
    [1, 2, 3]
    """
    found = {1}
    for counted in (tasks, tasks - 1):
        vms = 1
        while counted > vms * per_vm:
            waves = -(-counted // (vms * per_vm))
            slots = -(-counted // (waves - 1))
            vms = -(-slots // per_vm)
            found.add(vms)
    return sorted(found)
