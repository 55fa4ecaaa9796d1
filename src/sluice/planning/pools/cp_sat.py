"""The offline optimum by constraint programming, where OR-Tools is installed.

Each option of a job is an optional interval, of which exactly one is there; a pool is a cumulative
resource. CP-SAT counts in whole numbers, so that times are ticks and costs are rounded to
1/COST_PARTS of a server-second; the cost that is returned is exact. One worker and a fixed seed
give the same answer each time.
"""

from __future__ import annotations

import importlib.util
import math
from typing import Any

from sluice.planning.pools.offline_optimum import OfflineOptimum, Places, usable_options
from sluice.planning.pools.problem import Option, PoolJob, PoolProblem
from sluice.planning.pools.slots import Slot

COST_PARTS = 10_000
EFFORT_MAX = 300.0  # of the solver's own deterministic time, about seconds
_TICKS_MAX = 10**9


def is_available() -> bool:
    """Whether OR-Tools is installed. A process that has loaded highspy cannot import it."""
    return importlib.util.find_spec("ortools") is not None


def cp_sat(
    problem: PoolProblem, start: Places | None = None, *, effort_max: float = EFFORT_MAX
) -> OfflineOptimum:
    """The optimum of a problem whose times are whole ticks.

    start: a schedule to begin with, by order of job.  effort_max: deterministic seconds.
    """
    from ortools.sat.python import cp_model

    made = _Model(problem, start)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.max_deterministic_time = effort_max
    status = solver.solve(made.model)
    has_answer = status in {cp_model.OPTIMAL, cp_model.FEASIBLE}
    places = made.places(solver) if has_answer else {}
    cost = math.fsum(slot.option.cost_server_s for slot in places.values())
    is_infeasible = status == cp_model.INFEASIBLE
    return OfflineOptimum(
        cost_server_s=cost if has_answer else None,
        bound_server_s=math.inf if is_infeasible else
        cost if status == cp_model.OPTIMAL else solver.best_objective_bound / COST_PARTS,
        is_proven=is_infeasible or status == cp_model.OPTIMAL,
        slots={job.job_id: places[job.order] for job in problem.jobs} if has_answer else {},
        method="cp-sat",
    )  # fmt: skip


class _Model:
    """The problem as CP-SAT sees it. OR-Tools has no types that could be checked."""

    def __init__(self, problem: PoolProblem, start: Places | None) -> None:
        from ortools.sat.python import cp_model

        self._tick_s = problem.tick_s
        self.model: Any = cp_model.CpModel()
        self._choices: dict[int, list[tuple[Option, Any, Any]]] = {}
        self._ends = {order: self.model.new_int_var(0, _TICKS_MAX, f"end {order}")
                      for order in {one for job in problem.jobs for one in job.after}}  # fmt: skip
        intervals: list[list[tuple[Any, int]]] = [[] for _ in problem.sizes]
        terms: list[Any] = []
        for job in problem.jobs:
            self._add_job(job, problem, intervals, terms)
            if start is not None:
                self._hint(job, start[job.order])
        for pool, held in enumerate(intervals):
            if held:
                spans, vms = zip(*held, strict=True)
                self.model.add_cumulative(spans, vms, problem.sizes[pool])
        self.model.minimize(sum(terms))

    def _add_job(
        self,
        job: PoolJob,
        problem: PoolProblem,
        intervals: list[list[tuple[Any, int]]],
        terms: list[Any],
    ) -> None:
        model = self.model
        choices = self._choices[job.order] = []
        ready = self._ready(job) if job.start_within_s < math.inf else None
        for number, option in enumerate(usable_options(job, problem)):
            name = f"{job.order}/{number}"
            latest_s = job.latest_starts_s[job.options.index(option)]
            first = self._ticks(job.arrives_at_s)
            last = min(_TICKS_MAX, math.floor(latest_s / self._tick_s + 1e-9))
            length = self._ticks(option.length_s)
            begin = model.new_int_var(first, max(first, last), f"start {name}")
            is_chosen = model.new_bool_var(f"chosen {name}")
            span = model.new_optional_fixed_size_interval_var(begin, length, is_chosen, name)
            intervals[option.pool].append((span, option.vms))
            if job.order in self._ends:
                model.add(self._ends[job.order] == begin + length).only_enforce_if(is_chosen)
            for before in job.after:
                model.add(begin >= self._ends[before]).only_enforce_if(is_chosen)
            if ready is not None:
                within = math.floor(job.start_within_s / self._tick_s + 1e-9)
                model.add(begin <= ready + within).only_enforce_if(is_chosen)
            terms.append(round(option.cost_server_s * COST_PARTS) * is_chosen)
            choices.append((option, begin, is_chosen))
        model.add_exactly_one([is_chosen for _, _, is_chosen in choices])

    def _ready(self, job: PoolJob) -> Any:  # noqa: ANN401  # as above
        """The instant from which the wait of the job counts."""
        first = self._ticks(job.arrives_at_s)
        ready = self.model.new_int_var(first, _TICKS_MAX, f"ready {job.order}")
        self.model.add_max_equality(ready, [first, *(self._ends[one] for one in job.after)])
        return ready

    def _hint(self, job: PoolJob, slot: Slot) -> None:
        for option, begin, is_chosen in self._choices[job.order]:
            self.model.add_hint(is_chosen, option == slot.option)
            if option == slot.option:
                self.model.add_hint(begin, self._ticks(slot.start_s))

    def _ticks(self, at_s: float) -> int:
        return round(at_s / self._tick_s)

    def places(self, solver: Any) -> Places:  # noqa: ANN401  # as above
        """The slot of each job in the solver's answer."""
        found: Places = {}
        for order, choices in self._choices.items():
            for option, begin, is_chosen in choices:
                if solver.boolean_value(is_chosen):
                    start_s = solver.value(begin) * self._tick_s
                    found[order] = Slot(option, start_s, start_s + option.length_s)
        return found
