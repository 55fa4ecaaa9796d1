"""From the present state of a real cluster to a possible future: simulate on.

Each job is longer or shorter than its profile says by one factor, drawn for the job, because what
makes a run differ from the last one (its input, the machine) mostly does so for all of its tasks.
A task that runs gets a length *given* that it has run so long already. Source: service spec,
section 4.1, "simulation".
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from functools import partial

from sluice.core.entries import PhaseEntry
from sluice.core.events import JobSubmitted, Tick
from sluice.core.scheduler import Scheduler
from sluice.estimate.length_spread import LengthSpread
from sluice.model.cluster import Cluster
from sluice.model.ids import JobId
from sluice.model.job import Job
from sluice.model.lengths import ListedLengths
from sluice.simulation.driver import Simulation
from sluice.simulation.efforts import PhaseEffort
from sluice.simulation.settings import SimulationSettings

LEAST_S = 0.001
_REST = 0.2  # of its age: the rest of a task that has run longer than any draw
_DRAWS_MAX = 20

Spread = Callable[[JobId], LengthSpread]  # of the factor of a job, and of its tasks
TaskDraw = Callable[[float], float]


def simulate_on(
    scheduler: Scheduler,
    now_s: float,
    *,
    new: Iterable[Job],
    to_come: Iterable[Job],
    spread: Spread,
    seed: int,
) -> None:
    """Simulate until all jobs have ended, or nothing happens any more; the scheduler has the end.

    new: jobs that are submitted now.  to_come: jobs that wait for others.
    The scheduler must not be used otherwise afterwards. Phases of unknown length take no time.
    """
    scheduler.pass_time(now_s)
    for job in new:
        scheduler.handle(JobSubmitted(now_s, job))
    _draw_lengths(scheduler, now_s, spread, seed)
    nodes = tuple(entry.node for entry in scheduler.state.nodes.values() if entry.is_up)
    if not nodes:
        return  # nothing is known of when one comes
    simulation = Simulation(
        scheduler,
        Cluster(nodes=nodes),
        to_come,
        settings=SimulationSettings(heartbeat_s=0.0),
        seed=seed,
    )
    simulation.take_over(now_s)
    simulation.run()
    scheduler.handle(Tick(scheduler.state.now_s))


def _draw_lengths(scheduler: Scheduler, now_s: float, spread: Spread, seed: int) -> None:
    """Give each open phase the lengths of its tasks."""
    ages: dict[PhaseEntry, dict[int, float]] = {}
    for attempt in scheduler.state.running.values():
        age_s = max(0.0, now_s - attempt.started_at_s)
        ages.setdefault(attempt.phase, {})[attempt.task] = age_s
    for entry in scheduler.state.jobs.values():
        if entry.has_ended:
            continue
        draw = random.Random(f"{seed}/forward/{entry.job_id}")
        known = spread(entry.job_id)
        factor = known.factor(draw)
        usual = known.phase_factors or (1.0,) * len(entry.phases)
        for phase, phase_factor in zip(entry.phases, usual, strict=True):
            if not phase.is_done:
                task_s = partial(_task_s, known.task_sigma, draw)
                phase.effort = _effort(phase, phase_factor, factor, task_s, ages.get(phase, {}))


def _effort(
    entry: PhaseEntry,
    phase_factor: float,
    run_factor: float,
    task_s: TaskDraw,
    ages: dict[int, float],
) -> PhaseEffort:
    """task_s: draws the length of a task around a mean."""
    phase, factor = entry.phase, phase_factor * run_factor
    lengths = phase.lengths
    if isinstance(lengths, ListedLengths):
        base = [length_s * factor for length_s in lengths.durations_s]
        each_s = [max(LEAST_S, length_s) for length_s in base]
    else:
        mean_s = LEAST_S if lengths is None else lengths.avg_s(phase.tasks) * factor
        each_s = [task_s(mean_s) for _ in range(phase.tasks)]
    for task, age_s in ages.items():
        each_s[task] = _longer_than(age_s, each_s[task], task_s)
    fetch_s = 0.0 if phase.fetch is None else phase.fetch.avg_s(phase.tasks) * phase_factor
    return PhaseEffort(fetch_s, LEAST_S, each_s, fetches=bool(entry.after or fetch_s), stream=0)


def _task_s(sigma: float, draw: random.Random, mean_s: float) -> float:
    return max(LEAST_S, mean_s * draw.lognormvariate(-sigma * sigma / 2, sigma))


def _longer_than(age_s: float, length_s: float, task_s: TaskDraw) -> float:
    """The length of a task that has run for `age_s`, drawn from those that are longer."""
    for _ in range(_DRAWS_MAX):
        if length_s > age_s:
            return length_s
        length_s = task_s(length_s)
    return age_s * (1 + _REST) + LEAST_S
