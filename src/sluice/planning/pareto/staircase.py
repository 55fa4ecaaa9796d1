"""The undominated choices of one job, its staircase: faster choices cost more.

For a given number of VMs the best allocation uses all useful slots: time never rises with slots,
and a VM is paid as a whole. Only the numbers of VMs at which a wave disappears matter. So a
staircase checks few of the millions of allocations, and still no allocation dominates it. With
several VM types the choices of all types form one staircase. `tuned` handles jobs with tuned tasks.
Source: pareto, section 4.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import chain

from sluice.model.ids import JobId
from sluice.model.machines import VmOffer
from sluice.planning.pareto.pricing import JobChoice, JobPricing, PlanEntry
from sluice.planning.pareto.problem import ParetoProblem, PlannedJob, TaskTuning
from sluice.planning.pareto.rounding import is_below

Staircase = tuple[PlanEntry, ...]
_ANY = JobId("any")


def staircases(problem: ParetoProblem, *, vms_max: int | None = None) -> tuple[Staircase, ...]:
    """Return the staircase of each job: entries by rising time and falling cost.

    Jobs that differ in nothing but their names have one staircase.

    vms_max: most VMs of one job; a job may then have no entry.
    """
    known: dict[PlannedJob, Staircase] = {}
    return tuple(_staircase(problem, number, vms_max, known) for number in range(len(problem.jobs)))


def _staircase(
    problem: ParetoProblem, number: int, vms_max: int | None, known: dict[PlannedJob, Staircase]
) -> Staircase:
    """One job's staircase. known: those found before, by job without its name."""
    job = problem.jobs[number]
    if job.output is not None:  # the buffers of a job may be drawn by its own generator
        return undominated(job_entries(problem, JobPricing(problem, number), vms_max))
    alike = replace(
        job, job_id=_ANY, deadline_s=job.deadline_s if problem.options.meet_deadlines else None
    )
    found = known.get(alike)
    if found is None:
        found = known[alike] = undominated(
            job_entries(problem, JobPricing(problem, number), vms_max)
        )
    return found


def undominated(entries: Iterable[PlanEntry]) -> Staircase:
    """The entries that are undominated in time and cost; of equals the one with fewest VMs."""
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
    """Yield entries that include all undominated ones in time and cost, for every VM type.

    Where plans must meet deadlines, entries that take longer than the job's own are left out.

    vms_max: most VMs of the job. If it is given and there are other jobs, the entries include all
    that are undominated in time, cost and VMs, because jobs then compete for VMs.
    """
    tuning = problem.options.tasks
    if tuning is TaskTuning.FIXED:
        fastest = _fastest_stages if pricing.job.stages else _fastest
        found = (fastest(pricing, offer) for offer in problem.offers)
    else:
        from sluice.planning.pareto.tuned import TunedJob

        job = TunedJob(pricing, tuning)
        # A job that is alone does not compete for VMs.
        is_shared = vms_max is not None and len(problem.jobs) > 1
        found = (job.entries(offer, vms_max, is_shared=is_shared) for offer in problem.offers)
    entries: Iterator[PlanEntry] = chain.from_iterable(found)
    if problem.options.meet_deadlines:
        entries = (entry for entry in entries if not pricing.job.is_late(entry.time_s))
    return (entry for entry in entries if vms_max is None or entry.vms <= vms_max)


def _fastest(pricing: JobPricing, offer: VmOffer) -> Iterator[PlanEntry]:
    """Yield the fastest entry for each useful number of VMs; a slower one is never cheaper."""
    maps, reduces = pricing.job.maps.tasks, pricing.job.reduces.tasks
    shape, buffer = offer.shape, pricing.buffer(maps)
    breaks = {*breaking_vms(maps, shape.map_slots), *breaking_vms(reduces, shape.reduce_slots)}
    for vms in sorted(breaks):
        map_slots = pricing.maps.useful_slots(maps, vms * shape.map_slots)
        reduce_slots = pricing.reduces.useful_slots(reduces, vms * shape.reduce_slots)
        yield pricing.entry(JobChoice(offer, map_slots, reduce_slots, maps, reduces, buffer))


def _fastest_stages(pricing: JobPricing, offer: VmOffer) -> Iterator[PlanEntry]:
    """Do what `_fastest` does, for a job of stages that share the containers of its VMs in turn."""
    per_vm = offer.shape.containers_of_any
    tasks = [stage.phase.tasks for stage in pricing.stages]
    breaks = sorted({vms for one in set(tasks) for vms in breaking_vms(one, per_vm)})
    buffer = pricing.buffer(pricing.job.map_tasks)
    for vms in breaks:
        useful = max(
            stage.useful_slots(stage.phase.tasks, vms * per_vm) for stage in pricing.stages
        )
        yield pricing.entry(JobChoice(offer, 0, 0, 0, 0, buffer, useful))


@lru_cache(maxsize=10_000)
def breaking_vms(tasks: int, per_vm: int) -> tuple[int, ...]:
    """The numbers of VMs, rising, at which a phase with a fixed task count gets faster.

    per_vm: slots per VM.  Between two of these numbers more VMs only cost more. There are about
    4 * sqrt(tasks) of them, so a hundred million tasks are feasible too.

    >>> breaking_vms(tasks=5, per_vm=2)
    (1, 2, 3)
    """
    found = {1}
    for counted in (tasks, tasks - 1):
        vms = 1
        while counted > vms * per_vm:
            waves = -(-counted // (vms * per_vm))
            slots = -(-counted // (waves - 1))
            vms = -(-slots // per_vm)
            found.add(vms)
    return tuple(sorted(found))
