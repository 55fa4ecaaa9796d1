"""Spot VMs that are taken back: the mean and the ends of the interval, against drawn runs."""

import heapq
import math
import random
from statistics import fmean

import pytest

from sluice.estimate.interruptions import Interruptions, poisson_quantile

RUNS = 300


def drawn_run(lengths_s, vms, slots, per_hour, boot_s, rng):
    """The makespan of tasks, taken in order, on VMs that are taken back at random instants.

    What a VM ran starts again as soon as a slot is free; another VM takes over after `boot_s`.
    """
    rate = per_hour / 3600
    waiting = list(reversed(lengths_s))
    free, is_up = [slots] * vms, [True] * vms
    running: list[dict[int, float]] = [{} for _ in range(vms)]
    events = [(rng.expovariate(rate) if rate else math.inf, 1, vm, 0) for vm in range(vms)]
    heapq.heapify(events)
    now_s, done, number = 0.0, 0, 0
    while done < len(lengths_s):
        for vm in range(vms):
            while is_up[vm] and free[vm] and waiting:
                number += 1
                free[vm] -= 1
                running[vm][number] = waiting.pop()
                heapq.heappush(events, (now_s + running[vm][number], 0, vm, number))
        now_s, kind, vm, task = heapq.heappop(events)
        if kind == 0 and running[vm].pop(task, None) is not None:
            free[vm] += 1
            done += 1
        elif kind == 1:
            waiting += running[vm].values()
            running[vm], free[vm], is_up[vm] = {}, 0, False
            heapq.heappush(events, (now_s + boot_s, 2, vm, 0))
        elif kind == 2:
            is_up[vm], free[vm] = True, slots
            heapq.heappush(events, (now_s + rng.expovariate(rate), 1, vm, 0))
    return now_s


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tasks", "task_s", "vms", "slots", "per_hour", "boot_s"),
    [
        (400, 60, 10, 2, 0.2, 120),
        (400, 60, 10, 2, 2.0, 120),
        (40, 600, 10, 2, 0.5, 120),
        (200, 300, 4, 2, 0.3, 60),
        (2000, 30, 50, 4, 1.0, 120),
        (20, 1200, 20, 1, 0.5, 120),
        (100, 100, 1, 2, 0.5, 120),
    ],
)
def test_the_mean_and_the_interval_are_those_of_drawn_runs(
    tasks, task_s, vms, slots, per_hour, boot_s
):
    rng = random.Random(1)
    lengths_s = [task_s * rng.uniform(0.5, 1.5) for _ in range(tasks)]
    alone_s = drawn_run(lengths_s, vms, slots, 0.0, boot_s, rng)
    drawn = [drawn_run(lengths_s, vms, slots, per_hour, boot_s, rng) for _ in range(RUNS)]
    seen_s = sum(one**2 for one in lengths_s) / sum(lengths_s)
    spot = Interruptions(per_hour=per_hour, task_s=seen_s, boot_s=boot_s, vms=vms)

    assert spot.expected_s(alone_s) == pytest.approx(fmean(drawn), rel=0.1)
    low_s, high_s = spot.low_s(alone_s, 0.05), spot.high_s(alone_s, 0.95)
    within = sum(low_s <= one <= high_s for one in drawn) / RUNS
    assert 0.88 <= within
    assert alone_s <= low_s <= spot.expected_s(alone_s) <= high_s


def test_without_interruptions_nothing_is_lost():
    calm = Interruptions(per_hour=0.0, task_s=60.0, boot_s=120.0, vms=4)

    assert (100.0, 100.0, 100.0) == (
        calm.expected_s(100.0), calm.low_s(100.0, 0.05), calm.high_s(100.0, 0.95),
    )  # fmt: skip


def test_a_task_that_never_ends_has_no_time():
    hopeless = Interruptions(per_hour=1000.0, task_s=3600.0, boot_s=0.0, vms=4)

    assert math.isinf(hopeless.expected_s(3600.0))


@pytest.mark.parametrize("mean", [0.3, 4.0, 80.0, 499.0, 501.0])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_the_quantile_is_the_least_number_that_reaches_the_share(mean, share):
    terms = [math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(1000)]
    number = poisson_quantile(mean, share)

    slack = 0.02 if mean > 500 else 1e-9  # the normal distribution from there on
    assert sum(terms[: number + 1]) >= share - slack
    assert sum(terms[:number]) < share + slack


@pytest.mark.parametrize("vms", [1, 2])
def test_with_one_vm_the_last_task_counts_once(vms):
    """Of one VM, every interruption decides; of more, a last task may start again on top."""
    spot = Interruptions(per_hour=1.0, task_s=600.0, boot_s=120.0, vms=vms)
    times = poisson_quantile(vms * 3600.0 / 3600, 0.95)
    again = poisson_quantile(600 / 3600, 0.95 ** (1 / vms)) if vms > 1 else 0

    assert spot.high_s(3600.0, 0.95) == pytest.approx(3600 + times * 420 / vms + again * 600)
    assert times > 0
    assert (again > 0) == (vms > 1)
