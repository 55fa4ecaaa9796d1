"""The simulator against queueing theory: a cluster of c slots under Poisson arrivals is M/M/c."""

import math
import random
import statistics

import pytest
from tests.runs import simulate, totals

from sluice.model.ids import JobId, PoolId
from sluice.model.job import Job, Phase
from sluice.model.lengths import ConstantLengths
from sluice.model.slot_kind import SlotKind

JOBS = 12_000
BATCHES = 24  # waits of neighbours are alike; means of long batches are nearly independent


def mean_wait_s(slots, arrivals_per_s, length_s):
    """Erlang C: P(wait) / (slots/length - arrivals)."""
    load = arrivals_per_s * length_s
    busy = load**slots / math.factorial(slots) / (1 - load / slots)
    wait = busy / (sum(load**k / math.factorial(k) for k in range(slots)) + busy)
    return wait / (slots / length_s - arrivals_per_s)


def test_erlang_c_on_one_slot_is_the_mm1_formula():
    """W_q = rho / (mu - lambda)."""
    assert math.isclose(0.5 / (1 - 0.5), mean_wait_s(1, 0.5, 1.0))


def single_task_jobs(arrivals_per_s, length_s, seed):
    draw = random.Random(seed)
    at_s = 0.0
    phase = Phase(
        name="map", kind=SlotKind.MAP, tasks=1, lengths=ConstantLengths(length_s, length_s)
    )
    for index in range(JOBS):
        at_s += draw.expovariate(arrivals_per_s)
        yield Job(job_id=JobId(f"j{index}"), pool=PoolId("p"), phases=(phase,), submitted_at_s=at_s)


@pytest.mark.no_invariants
@pytest.mark.parametrize(("slots", "use"), [(1, 0.5), (4, 0.7)])
def test_jobs_wait_as_long_as_erlang_says(slots, use):
    """Within three standard errors of the mean of the batches, at one seed."""
    length_s = 8.0
    arrivals_per_s = use * slots / length_s
    jobs = single_task_jobs(arrivals_per_s, length_s, seed=11)
    state = simulate(totals(slots, 0), jobs, seed=5, spread="exponential")
    waits_s = [job.started_at_s - job.job.submitted_at_s for job in state.jobs.values()]
    size = JOBS // BATCHES
    # The first batch starts with an empty cluster and waits too little.
    means_s = [statistics.fmean(waits_s[i : i + size]) for i in range(size, JOBS, size)]
    error_s = statistics.stdev(means_s) / math.sqrt(len(means_s))
    expected_s = mean_wait_s(slots, arrivals_per_s, length_s)

    assert abs(statistics.fmean(means_s) - expected_s) < 3 * error_s
    assert error_s < 0.12 * expected_s, "the test would not notice much"
