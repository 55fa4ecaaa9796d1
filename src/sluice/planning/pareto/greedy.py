"""The paper's greedy search, with corrections: repeatedly give the slowest job a slot or a VM.

It is kept for comparison; `frontier` is exact and faster. Every step adds a slot and slots are
bounded, so the search ends at the latest when the slowest job has all slots it can use. It does not
stop when a budget is exceeded (E6), because with hourly billing the budget rises and falls from
step to step. Source: pareto, section 4.2, Algorithms 1 to 3, with E4 to E10.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Callable, Iterator
from enum import Enum
from itertools import count

from sluice.model.errors import InvalidInput
from sluice.model.machines import VmOffer
from sluice.planning.pareto.archive import Archive
from sluice.planning.pareto.exact_budget import ExactBudget
from sluice.planning.pareto.frontier import Frontier, Plan, plan_of
from sluice.planning.pareto.pricing import JobChoice, JobPricing, PhaseTimes, PlanEntry
from sluice.planning.pareto.problem import ParetoProblem, TaskTuning
from sluice.planning.pareto.task_counts import PhaseChoice, PhaseCounts, tuned_choices
from sluice.planning.pareto.waves import in_waves as waves_of

STEPS_MAX = 2_000_000


class GreedyStep(Enum):
    """The slots that the slowest job gets in each step."""

    SLOTS = "slots"  # a slot; on a tie the kind that needs no further VM (E9)
    SLOTS_PRINTED = "slots-printed"  # a slot; on a tie a reduce slot
    VMS = "vms"  # all slots of a VM (E10)


class _Phase:
    """One phase of a job, with its task count for every number of slots."""

    def __init__(self, times: PhaseTimes, tuning: TaskTuning) -> None:
        phase = times.phase
        self.slots_max = phase.tasks if tuning is TaskTuning.FIXED else phase.tasks_max
        self._choices: dict[int, PhaseChoice] = {}
        self._choose = _chooser(times, tuning)

    def on(self, slots: int) -> PhaseChoice:
        known = self._choices.get(slots)
        if known is None:
            known = self._choices[slots] = self._choose(slots)
        return known


def _chooser(times: PhaseTimes, tuning: TaskTuning) -> Callable[[int], PhaseChoice]:
    if tuning is TaskTuning.FIXED:
        tasks = times.phase.tasks
        return lambda slots: PhaseChoice(times.time_s(tasks, slots), slots, tasks)
    # Every slot that the job gets is used: (16), (17).
    choices = tuned_choices(PhaseCounts(times), tuning)
    return lambda slots: choices.at(slots - 1)


class _Walker:
    """One job in the search, from one slot of each kind up to all that it can use."""

    def __init__(self, pricing: JobPricing, offer: VmOffer, tuning: TaskTuning) -> None:
        self._pricing = pricing
        self._offer = offer
        self.maps = _Phase(pricing.maps, tuning)
        self.reduces = _Phase(pricing.reduces, tuning)
        self.map_slots = self.reduce_slots = 1

    def _tasks_s(self, map_slots: int, reduce_slots: int) -> float:
        return self.maps.on(map_slots).time_s + self.reduces.on(reduce_slots).time_s

    def entry(self) -> PlanEntry:
        """Time and cost of the job with its present slots."""
        maps, reduces = self.maps.on(self.map_slots), self.reduces.on(self.reduce_slots)
        return self._pricing.entry(
            JobChoice(
                self._offer,
                maps.slots,
                reduces.slots,
                maps.tasks,
                reduces.tasks,
                self._pricing.buffer(maps.tasks),
            )
        )

    def move(self, policy: GreedyStep) -> bool:
        """Give the job more; returns False if it already has all it can use."""
        can_map = self.map_slots < self.maps.slots_max
        can_reduce = self.reduce_slots < self.reduces.slots_max
        if not can_map and not can_reduce:
            return False
        if policy is GreedyStep.VMS:
            shape = self._offer.shape
            self.map_slots = min(self.maps.slots_max, self.map_slots + shape.map_slots)
            self.reduce_slots = min(self.reduces.slots_max, self.reduce_slots + shape.reduce_slots)
        elif can_map and (not can_reduce or self._prefers_map(policy)):
            self.map_slots += 1
        else:
            self.reduce_slots += 1
        return True

    def _prefers_map(self, policy: GreedyStep) -> bool:
        with_map_s = self._tasks_s(self.map_slots + 1, self.reduce_slots)
        with_reduce_s = self._tasks_s(self.map_slots, self.reduce_slots + 1)
        if with_map_s != with_reduce_s or policy is GreedyStep.SLOTS_PRINTED:
            return with_map_s < with_reduce_s
        map_vms, reduce_vms = (self._vms(1, 0), self._vms(0, 1))
        if map_vms != reduce_vms:
            return map_vms < reduce_vms
        # The longer phase can gain more from later slots.
        maps, reduces = self.maps.on(self.map_slots), self.reduces.on(self.reduce_slots)
        return maps.time_s >= reduces.time_s

    def _vms(self, more_maps: int, more_reduces: int) -> int:
        return self._offer.shape.vms(
            map_slots=self.map_slots + more_maps, reduce_slots=self.reduce_slots + more_reduces
        )


def greedy_frontier(problem: ParetoProblem, policy: GreedyStep, *, in_waves: bool) -> Frontier:
    """Return the undominated plans among the steps of the search.

    Of the limits only the cap on VMs is used: plans that do not fit are dropped, or run in waves
    with `in_waves`.

    Raises InvalidInput for several VM types, or if the search would take too many steps.
    """
    _check_phases(problem)
    (offer,) = _one_offer(problem)
    tuning = problem.options.tasks
    walkers = [
        _Walker(JobPricing(problem, number), offer, tuning) for number in range(len(problem.jobs))
    ]
    _check_steps(walkers)
    # The steps at which each job got each of its entries. A plan is the entries of all jobs at one
    # step; storing only the changes saves memory.
    steps: list[list[int]] = [[0] for _ in walkers]
    entries = [[walker.entry()] for walker in walkers]
    archive: Archive[int] = Archive()
    offered = _Offered(entries, steps, problem.limits.vms_max, in_waves=in_waves)
    for step, makespan_s, usd in _walk(walkers, policy, steps, entries):
        judged_s = offered.makespan_s(step, makespan_s)
        if judged_s is not None:
            archive.offer(judged_s, usd, step)
    held = archive.held
    return Frontier(
        archive.makespans_s, archive.budgets_usd, lambda number: offered.plan(held[number])
    )


class _Offered:
    """The plan at any step of the search, if it fits the cap on VMs."""

    def __init__(
        self,
        entries: list[list[PlanEntry]],
        steps: list[list[int]],
        vms_max: int | None,
        *,
        in_waves: bool,
    ) -> None:
        self._entries = entries
        self._steps = steps
        self._vms_max = vms_max
        self._in_waves = in_waves

    def plan(self, step: int) -> Plan:
        """Return the plan at a step."""
        plan = plan_of(
            tuple(
                own[bisect_right(when, step) - 1]
                for own, when in zip(self._entries, self._steps, strict=True)
            )
        )
        if self._vms_max is not None and self._in_waves:
            return waves_of(plan, self._vms_max)
        return plan

    def makespan_s(self, step: int, makespan_s: float) -> float | None:
        """Makespan of the newest step under the cap; None if the VMs do not suffice."""
        if self._vms_max is None:
            return makespan_s
        vms = [own[-1].vms for own in self._entries]
        if self._in_waves:
            return self.plan(step).makespan_s if max(vms) <= self._vms_max else None
        return makespan_s if sum(vms) <= self._vms_max else None


def _walk(
    walkers: list[_Walker],
    policy: GreedyStep,
    steps: list[list[int]],
    entries: list[list[PlanEntry]],
) -> Iterator[tuple[int, float, float]]:
    """Yield (step, makespan, budget) for each step; extends `steps` and `entries`."""
    budget = ExactBudget(own[0] for own in entries)
    slowest = [(-own[0].time_s, number) for number, own in enumerate(entries)]
    heapq.heapify(slowest)
    for step in count():
        yield step, -slowest[0][0], budget.total_usd
        number = slowest[0][1]
        if not walkers[number].move(policy):
            return
        entry = walkers[number].entry()
        budget.replace(entries[number][-1], entry)
        heapq.heapreplace(slowest, (-entry.time_s, number))
        steps[number].append(step + 1)
        entries[number].append(entry)


def _check_phases(problem: ParetoProblem) -> None:
    for job in problem.jobs:
        if job.stages:
            raise InvalidInput(
                "the greedy search supports jobs of maps and reduces, and it has phases",
                where=f"job {job.job_id!r}",
                hint="use --search exact",
            )


def _one_offer(problem: ParetoProblem) -> tuple[VmOffer, ...]:
    if len(problem.offers) > 1:
        raise InvalidInput(
            f"the greedy search supports one VM type, but there are {len(problem.offers)} offers",
            where="--search",
            hint="use --search exact, or a price list with one offer",
        )
    return problem.offers


def _check_steps(walkers: list[_Walker]) -> None:
    steps = sum(walker.maps.slots_max + walker.reduces.slots_max for walker in walkers)
    if steps > STEPS_MAX:
        raise InvalidInput(
            f"the greedy search would take {steps} steps",
            where="--search",
            hint="use --search exact, which is fast for any number of tasks",
        )
