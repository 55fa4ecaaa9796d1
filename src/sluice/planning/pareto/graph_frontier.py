"""The frontier of jobs that wait for each other: composed, or by a sweep of integer programs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sluice.model.errors import InvalidInput
from sluice.planning.pareto.archive import Archive
from sluice.planning.pareto.frontier import Frontier, Plan, PlanEntries, plan_of
from sluice.planning.pareto.graph_sweep import CHOICES_MAX, Choices, GraphProgram, sweep
from sluice.planning.pareto.precedence import Precedence
from sluice.planning.pareto.pricing import JobPricing
from sluice.planning.pareto.problem import ParetoProblem
from sluice.planning.pareto.series_parallel import Block, blocks_of, thinned
from sluice.planning.pareto.staircase import Staircase, job_entries, staircases
from sluice.planning.pareto.vm_cap import staircase_in_vms

_SETS_MAX = 2_000


def frontier_of_graph(problem: ParetoProblem) -> Frontier:
    """The frontier of jobs of which some wait for others; empty if no plan fits the VM cap.

    Exact for graphs that are series-parallel, as far as no block has more choices than
    `series_parallel.CHOICES_MAX`; a sample of exact plans (`graph_sweep`) for all other graphs,
    under a cap on VMs, and where jobs must meet deadlines of their own.
    Raises InvalidInput where too many sets of jobs may run at once.
    """
    if problem.limits.vms_max is not None or problem.options.meet_deadlines:
        return _swept_by_job(problem)
    of_jobs = staircases(problem)
    blocks, waits = blocks_of(of_jobs, problem.precedence)
    if len(blocks) > 1:
        return _swept_by_block(problem, of_jobs, blocks, waits)
    (block,) = blocks

    def make(choice: int) -> Plan:
        return plan_of(_entries(of_jobs, [block], (choice,)), problem.precedence)

    if block.is_thinned:
        return _of_plans([make(choice) for choice in range(len(block.times_s))], is_sample=True)
    return Frontier(tuple(block.times_s.tolist()), tuple(block.usd.tolist()), make)


def _swept_by_block(
    problem: ParetoProblem, of_jobs: Sequence[Staircase], blocks: Sequence[Block], waits: Precedence
) -> Frontier:
    few = [thinned(block, CHOICES_MAX) for block in blocks]
    choices = [
        Choices(times_s=block.times_s.tolist(), usd=block.usd.tolist(), vms=()) for block in few
    ]
    found, has_more = sweep(GraphProgram(blocks=choices, precedence=waits))
    plans = [plan_of(_entries(of_jobs, few, each), problem.precedence) for each in found]
    return _of_plans(plans, is_sample=has_more or any(block.is_thinned for block in few))


def _swept_by_job(problem: ParetoProblem) -> Frontier:
    vms_max = problem.limits.vms_max
    at_once = problem.precedence.may_run_at_once(_SETS_MAX) if vms_max is not None else []
    if at_once is None:
        raise InvalidInput(
            f"more than {_SETS_MAX} sets of jobs may run at once, too many to plan under a cap",
            where="limits.vms_max",
            hint="leave it out, or plan fewer jobs",
        )
    of_jobs = [
        staircase_in_vms(job_entries(problem, JobPricing(problem, number), vms_max))
        for number in range(len(problem.jobs))
    ]
    if not all(of_jobs):
        return _of_plans([], is_sample=False)
    blocks = [
        Choices(
            times_s=[entry.time_s for entry in staircase],
            usd=[entry.cost_usd for entry in staircase],
            vms=[entry.vms for entry in staircase],
            latest_s=math.inf
            if job.deadline_s is None or not problem.options.meet_deadlines
            else job.deadline_s,
        )
        for job, staircase in zip(problem.jobs, of_jobs, strict=True)
    ]
    program = GraphProgram(
        blocks=blocks, precedence=problem.precedence, at_once=at_once, vms_max=vms_max
    )
    found, has_more = sweep(program)
    plans = [
        plan_of(
            tuple(staircase[at] for staircase, at in zip(of_jobs, each, strict=True)),
            problem.precedence,
        )
        for each in found
    ]
    return _of_plans(plans, is_sample=has_more)


def _entries(
    of_jobs: Sequence[Staircase], blocks: Sequence[Block], chosen: Sequence[int]
) -> PlanEntries:
    picks = {
        job: step
        for block, choice in zip(blocks, chosen, strict=True)
        for job, step in block.picks(choice)
    }
    return tuple(staircase[picks[job]] for job, staircase in enumerate(of_jobs))


def _of_plans(plans: Sequence[Plan], *, is_sample: bool) -> Frontier:
    """The undominated ones of some plans."""
    archive: Archive[Plan] = Archive()
    for plan in plans:
        archive.offer(plan.makespan_s, plan.budget_usd, plan)
    held = archive.held
    return Frontier(archive.makespans_s, archive.budgets_usd, held.__getitem__, is_sample)
