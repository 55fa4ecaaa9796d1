"""The searches that the pareto paper compares with: NSGA-II, GDE3, and RRS run once per budget.

They choose map and reduce slots of every job, and use the same equations as the planner, computed
for a whole population at once. NSGA-II is from pymoo and GDE3 from pymoode (the extra `bench`).
Recursive random search is our own. Source: pareto, section 7.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from sluice.planning.pareto.archive import Archive
from sluice.planning.pareto.problem import ParetoProblem
from sluice.planning.pareto.random_search import Point, recursive_random_search, scaled_to_whole
from sluice.reporting.extras import required

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.typing import NDArray

    Matrix = NDArray[float64]
    Slots = NDArray[int64]

Points = list[tuple[float, float]]
Peer = Callable[[ParetoProblem, int], Points]

POPULATION, GENERATIONS = 100, 200
RRS_BUDGETS, RRS_EVALUATIONS = 20, 1000


class Judge:
    """Makespan and budget of many allocations at once: rows of map slots, then reduce slots.

    Task counts do not change, all VMs are equal, and I/O is free.
    """

    def __init__(self, problem: ParetoProblem) -> None:
        jobs = problem.jobs
        (offer,) = problem.offers
        self._shape, self._usd = offer.shape, offer.hour_usd
        self._billing_s = problem.prices.billing_s
        phases = [job.maps for job in jobs] + [job.reduces for job in jobs]
        self.tasks: Slots = np.array([phase.tasks for phase in phases])
        self._avg = np.array([phase.parts[0].avg_s(phase.tasks) for phase in phases])
        self._max = np.array([phase.parts[0].max_s(phase.tasks) for phase in phases])

    def judged(self, slots: Slots) -> Matrix:
        """(makespan, budget) of each row. Source: pareto (1), (5) to (14)."""
        times, usd = self._of_jobs(slots)
        return np.column_stack([times.max(axis=1), usd.sum(axis=1)])

    def of_job(self, slots: Slots, number: int) -> Matrix:
        """(time, cost) of one job in each row."""
        times, usd = self._of_jobs(slots)
        return np.column_stack([times[:, number], usd[:, number]])

    def _of_jobs(self, slots: Slots) -> tuple[Matrix, Matrix]:
        rounds = -(-self.tasks // slots) + -(-(self.tasks - 1) // slots)
        seconds = (rounds * self._avg + self._max) / 2
        jobs = slots.shape[1] // 2
        times = seconds[:, :jobs] + seconds[:, jobs:]
        vms = np.maximum(
            -(-slots[:, :jobs] // self._shape.map_slots),
            -(-slots[:, jobs:] // self._shape.reduce_slots),
        )
        return times, vms * self._hours(times) * self._usd

    def _hours(self, times: Matrix) -> Matrix:
        if not self._billing_s:
            return times / 3600
        units = times / self._billing_s
        begun: Matrix = np.maximum(1, np.ceil(units - 1e-9 * np.maximum(1, units)))
        return begun * self._billing_s / 3600

    def slots(self, cube: Matrix) -> Slots:
        """Numbers from 0 to 1 as slots, from 1 to the tasks of each phase."""
        scaled = 1 + np.floor(cube * self.tasks).astype(np.int64)
        return np.minimum(scaled, self.tasks)


def nsga2(problem: ParetoProblem, seed: int) -> Points:
    """NSGA-II of pymoo. Raises MissingExtra without it."""
    algorithm = _pymoo("pymoo.algorithms.moo.nsga2").NSGA2(pop_size=POPULATION)
    return _evolved(problem, algorithm, seed)


def gde3(problem: ParetoProblem, seed: int) -> Points:
    """GDE3 of pymoode. Raises MissingExtra without it."""
    algorithm = _pymoo("pymoode.algorithms").GDE3(
        pop_size=POPULATION, variant="DE/rand/1/bin", CR=0.5, F=(0.0, 0.9)
    )
    return _evolved(problem, algorithm, seed)


def rrs_by_budget(problem: ParetoProblem, seed: int) -> Points:
    """The least makespan within each of some budgets, by recursive random search."""
    judge = Judge(problem)
    draw = random.Random(seed)
    least_usd = float(judge.judged(np.ones((1, len(judge.tasks)), dtype=np.int64))[0, 1])
    most_usd = float(judge.judged(judge.tasks[None, :])[0, 1])
    archive: Archive[None] = Archive()
    for step in range(RRS_BUDGETS):
        limit_usd = least_usd + (most_usd - least_usd) * step / (RRS_BUDGETS - 1)
        _search_within(judge, limit_usd, draw, archive)
    return list(zip(archive.makespans_s, archive.budgets_usd, strict=True))


def _search_within(
    judge: Judge, limit_usd: float, draw: random.Random, archive: Archive[None]
) -> None:
    def cost(point: Point) -> tuple[float, float]:
        slots = [
            scaled_to_whole(at, 1, int(tasks)) for at, tasks in zip(point, judge.tasks, strict=True)
        ]
        makespan_s, usd = judge.judged(np.array([slots]))[0].tolist()
        if usd <= limit_usd:
            archive.offer(makespan_s, usd, None)
        return max(0.0, usd - limit_usd), makespan_s

    recursive_random_search(cost, len(judge.tasks), draw=draw, evaluations=RRS_EVALUATIONS)


def _evolved(problem: ParetoProblem, algorithm: Any, seed: int) -> Points:  # noqa: ANN401  # pymoo has no types
    base = _pymoo("pymoo.core.problem").Problem
    judge = Judge(problem)
    size = len(judge.tasks)

    class Slots(base):  # type: ignore[misc, valid-type]  # pymoo has no types
        def __init__(self) -> None:
            super().__init__(n_var=size, n_obj=2, xl=0.0, xu=1.0)

        def _evaluate(self, x: Matrix, out: dict[str, Matrix], *_: object, **__: object) -> None:
            out["F"] = judge.judged(judge.slots(x))

    minimize = _pymoo("pymoo.optimize").minimize
    with warnings.catch_warnings(action="ignore"):  # pymoo uses names that numpy has changed
        found = minimize(Slots(), algorithm, ("n_gen", GENERATIONS), seed=seed, verbose=False)
    return sorted((float(time_s), float(usd)) for time_s, usd in np.atleast_2d(found.F))


def _pymoo(module: str) -> Any:  # noqa: ANN401  # as above
    return required(module, extra="bench", what="comparing with evolutionary searches")


PEERS: dict[str, Peer] = {"NSGA-II": nsga2, "GDE3": gde3, "RRS": rrs_by_budget}
