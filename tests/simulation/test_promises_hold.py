"""Promises in a world whose truth is known: they hold as often as they say."""

import math
import random
from dataclasses import replace

import pytest
from tests.effort import share_of
from tests.runs import even_nodes, scheduler_of

from sluice.bootstrap.service.futures import interval_of
from sluice.core.events import JobsForgotten
from sluice.core.record.opening import opening_of
from sluice.core.record.restoring import restore
from sluice.estimate.length_spread import TASK_SIGMA_ASSUMED, LengthSpread
from sluice.estimate.uncertainty import LEVEL
from sluice.model.ids import JobId, PoolId
from sluice.model.job import Job, Phase
from sluice.model.lengths import ConstantLengths, ListedLengths
from sluice.model.slot_kind import SlotKind
from sluice.simulation.driver import Simulation
from sluice.simulation.forward import simulate_on
from sluice.simulation.settings import SimulationSettings

pytestmark = pytest.mark.no_invariants
CLUSTER = even_nodes(2, 3, 0)
SIGMA = 0.4
DRAWS = 20
JOBS = share_of(800)


def world(seed):
    """Jobs with their true lengths, and what is known of each: the mean of a task."""
    draw = random.Random(seed)
    sigma = TASK_SIGMA_ASSUMED
    at_s, jobs, means = 0.0, [], {}
    for number in range(JOBS):
        at_s += draw.expovariate(1 / 16)
        tasks, mean_s = draw.randint(1, 8), draw.uniform(5, 25)
        factor = math.exp(draw.gauss(0, SIGMA))
        lengths_s = tuple(
            mean_s * factor * draw.lognormvariate(-sigma * sigma / 2, sigma) for _ in range(tasks)
        )
        phase = Phase(name="map", kind=SlotKind.MAP, tasks=tasks, lengths=ListedLengths(lengths_s))
        name = JobId(f"j{number}")
        means[name] = mean_s
        jobs.append(Job(job_id=name, pool=PoolId("p"), phases=(phase,), submitted_at_s=at_s))
    return jobs, means


def present(scheduler):
    """An opening with the jobs that are not over: what the others were changes no future."""
    copy = restored(opening_of(scheduler))
    ended = tuple(one.job_id for one in copy.state.jobs.values() if one.has_ended)
    copy.handle(JobsForgotten(copy.state.now_s, ended))
    return opening_of(copy)


def restored(line):
    fresh = scheduler_of()
    return restore(line, fresh.policies, fresh.rules)


def drawn_end_s(line, means, job, seed):
    """One future of a job that comes now."""
    scheduler, now_s = restored(line), job.submitted_at_s

    def known(phase, name):
        return replace(phase, lengths=ConstantLengths(means[name], means[name]))

    for entry in scheduler.state.jobs.values():
        for phase in entry.phases:
            phase.phase = known(phase.phase, entry.job_id)
    new = replace(job, phases=tuple(known(one, job.job_id) for one in job.phases))
    simulate_on(
        scheduler, now_s, new=[new], to_come=(), spread=lambda _: LengthSpread(SIGMA), seed=seed
    )
    return scheduler.state.jobs[job.job_id].finished_at_s


@pytest.mark.slow
@pytest.mark.interpreted  # it gives compiled entries other lengths
def test_nine_of_ten_promises_are_kept():
    jobs, means = world(3)
    scheduler = scheduler_of()
    simulation = Simulation(scheduler, CLUSTER, jobs, settings=SimulationSettings(heartbeat_s=0.0))
    promises = {}
    for job in jobs:
        simulation.run(until_s=job.submitted_at_s - 1e-6)
        line = present(scheduler)
        ends_s = sorted(drawn_end_s(line, means, job, seed) for seed in range(DRAWS))
        promises[job.job_id] = interval_of(ends_s)
    simulation.run()
    kept = 0
    for name, promise in promises.items():
        end_s = scheduler.state.jobs[name].finished_at_s
        kept += promise["low"] <= end_s <= promise["high"]
    share = kept / len(promises)
    # Jobs that wait together share luck.
    reach = 3 * math.sqrt(0.09 / len(promises)) + 0.03
    assert abs(share - LEVEL) <= reach, share
