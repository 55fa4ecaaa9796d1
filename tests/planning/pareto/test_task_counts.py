"""Task counts for all numbers of slots at once, against one evaluation at a time."""

import random
from dataclasses import replace

import numpy as np
import pytest
from tests.planning.pareto_problems import phase, problem_of, random_problem
from tests.planning.pareto_reference import all_plans, are_alike, undominated

from sluice.estimate.bounds import SingleWave
from sluice.model.errors import InvalidInput
from sluice.model.job import MapOutput
from sluice.model.lengths import ConstantLengths, ListedLengths, TableLengths, WorkLengths
from sluice.planning.pareto.plan_search import PlanSearch, find_frontier
from sluice.planning.pareto.pricing import PhaseTimes
from sluice.planning.pareto.problem import (
    BufferTuning,
    PlannedJob,
    PlannedPhase,
    PlanOptions,
    TaskTuning,
)
from sluice.planning.pareto.staircase import breaking_vms
from sluice.planning.pareto.task_counts import PhaseCounts, best_with_at_most, tuned_choices


@pytest.mark.parametrize("per_vm", [1, 2, 3])
@pytest.mark.parametrize("tasks", [*range(1, 30), 97])
def test_a_phase_gets_faster_at_its_breaking_numbers_of_vms_only(tasks, per_vm):
    """Its waves, or those of all tasks but the last one, become fewer there."""

    def waves(counted, vms):
        return -(-counted // (vms * per_vm))

    fewer = {
        vms
        for vms in range(2, tasks + 2)
        if any(waves(one, vms) < waves(one, vms - 1) for one in (tasks, tasks - 1))
    }
    assert set(breaking_vms(tasks, per_vm)) == {1} | fewer


def climbed(times, slots):
    """The paper's Algorithm 4, as printed."""
    tasks = slots
    while tasks < times.phase.tasks_max and times.time_s(tasks + 1, slots) < times.time_s(
        tasks, slots
    ):
        tasks += 1
    return tasks


def scanned(times, slots):
    return min(
        range(slots, times.phase.tasks_max + 1), key=lambda tasks: times.time_s(tasks, slots)
    )


def random_lengths(draw, limit):
    kind = draw.randrange(5)
    if kind == 0:
        return ConstantLengths(average := draw.uniform(1, 100), average * draw.choice([1, 2]))
    if kind == 1:
        return ListedLengths(tuple(draw.uniform(1, 9) for _ in range(3)))
    if kind == 2:
        counts = sorted(draw.sample(range(1, limit + 3), min(limit + 2, draw.randint(2, 5))))
        spans = ((draw.uniform(5, 300), draw.choice([1.0, 1.5])) for _ in counts)
        return TableLengths(
            tuple((n, avg, avg * more) for n, (avg, more) in zip(counts, spans, strict=True))
        )
    # A longest task far above the average makes climbs long.
    factor = draw.choice([1.0, 1.3, 2.0, 30.0, 1000.0])
    return WorkLengths(draw.choice([0.0, 0.1, 5.0]), draw.uniform(10, 5000), factor)


def random_times(number):
    draw = random.Random(number)
    limit = draw.choice([1, 2, 3, 7, 30, 130])
    parts = tuple(random_lengths(draw, limit) for _ in range(draw.choice([1, 1, 2])))
    counted = PlannedPhase(tasks=1, tasks_max=limit, parts=parts)
    return PhaseTimes(counted, draw.choice(list(SingleWave)))


@pytest.mark.parametrize("number", range(120))
def test_simultaneous_climbs_stop_where_single_climbs_stop(number):
    times = random_times(number)
    choices = tuned_choices(PhaseCounts(times), TaskTuning.HILL)

    wanted = [climbed(times, slots) for slots in range(1, times.phase.tasks_max + 1)]
    assert choices.tasks.tolist() == wanted


@pytest.mark.parametrize("slots", [1, 2, 40, 59])
def test_a_climb_stops_where_one_more_task_is_as_fast(slots):
    """A wave of tasks takes the longest, 3 s; one task more: (1 + 1 + 1 + 3) / 2 s, as long."""
    counted = PlannedPhase(tasks=1, tasks_max=60, parts=(ConstantLengths(1.0, 3.0),))
    choices = tuned_choices(PhaseCounts(PhaseTimes(counted, SingleWave.EXACT)), TaskTuning.HILL)

    assert (3.0, slots, slots) == choices.at(slots - 1)


@pytest.mark.parametrize("number", range(120))
def test_the_best_of_few_counts_is_the_best_of_all(number):
    times = random_times(number)
    choices = tuned_choices(PhaseCounts(times), TaskTuning.SCAN)

    for place, slots in enumerate(range(1, times.phase.tasks_max + 1)):
        wanted_s = times.time_s(scanned(times, slots), slots)
        assert choices.seconds[place] == pytest.approx(wanted_s, rel=1e-12)
        assert slots <= choices.tasks[place] <= times.phase.tasks_max


@pytest.mark.parametrize("number", range(60))
@pytest.mark.parametrize("tuning", [TaskTuning.SCAN, TaskTuning.HILL])
def test_times_in_arrays_are_the_same_numbers(number, tuning):
    """Equal bit for bit: a climb stops at a tie, so rounding must not change it."""
    times = random_times(number)
    choices = tuned_choices(PhaseCounts(times), tuning)

    for place in range(len(choices.tasks)):
        seconds, slots, tasks = choices.at(place)
        assert seconds == times.time_s(tasks, slots)


@pytest.mark.parametrize("number", range(60))
def test_slots_stay_idle_if_that_is_faster(number):
    choices = tuned_choices(PhaseCounts(random_times(number)), TaskTuning.HILL)
    best = best_with_at_most(choices)

    assert best.seconds.tolist() == np.minimum.accumulate(choices.seconds).tolist()
    for place in range(len(best.tasks)):
        seconds, slots, tasks = best.at(place)
        assert choices.at(slots - 1) == (seconds, slots, tasks)
        assert slots <= place + 1


def big_job(limit, lengths, output=None):
    def tuned(tasks_max):
        return PlannedPhase(tasks=1, tasks_max=tasks_max, parts=(lengths,))

    return PlannedJob(job_id="big", maps=tuned(limit), reduces=tuned(limit), output=output)


@pytest.mark.parametrize("tuning", [TaskTuning.SCAN, TaskTuning.HILL])
@pytest.mark.parametrize("lengths", [ConstantLengths(3.0, 4.0), WorkLengths(2.0, 3e4, 1000.0)])
def test_tens_of_thousands_of_counts_are_supported(tuning, lengths):
    problem = problem_of(big_job(50_000, lengths), options=PlanOptions(tasks=tuning))

    assert len(find_frontier(problem, PlanSearch.EXACT)) >= 1


@pytest.mark.parametrize("tuning", [TaskTuning.SCAN, TaskTuning.HILL])
def test_a_job_gives_vms_to_another_even_if_it_gets_slower_and_no_cheaper(tuning):
    """Hourly, one VM for 3650 s costs as much as two for 2750 s; two jobs have three VMs."""
    maps = PlannedPhase(tasks=1, tasks_max=2, parts=(WorkLengths(0.0, 3600.0),))
    reduces = PlannedPhase(tasks=1, tasks_max=1, parts=(ConstantLengths(50.0, 50.0),))
    jobs = [PlannedJob(job_id=name, maps=maps, reduces=reduces) for name in "ab"]
    alone = problem_of(*jobs, vm=(1, 1), options=PlanOptions(tasks=tuning))
    capped = problem_of(*jobs, vm=(1, 1), options=PlanOptions(tasks=tuning), vms_max=3)

    assert list(find_frontier(alone, PlanSearch.EXACT).points()) == [(2750.0, 4.0)]
    assert list(find_frontier(capped, PlanSearch.EXACT).points()) == [(3650.0, 4.0)]


@pytest.mark.parametrize("tuning", [TaskTuning.SCAN, TaskTuning.HILL])
def test_under_a_cap_slower_and_dearer_entries_with_fewer_vms_matter(tuning):
    """A job may have to give VMs to another. Without an I/O price all is done in one array."""
    for number in range(60):
        problem = random_problem(random.Random(number), tuning=tuning, is_capped=True)
        jobs = tuple(replace(job, output=None) for job in problem.jobs)
        options = replace(problem.options, buffers=BufferTuning.DEFAULT)
        problem = replace(problem, jobs=jobs, options=options)
        found = list(find_frontier(problem, PlanSearch.EXACT).points())

        assert are_alike(found, undominated(*all_plans(problem))), number


WORK = MapOutput(bytes=6e9, records=6e5)


@pytest.mark.parametrize(
    ("job", "tuning"),
    [
        # Rising lengths leave no place out, so that all counts on all slots would be looked at.
        (big_job(10**6, TableLengths(((1, 5.0, 9.0), (10**6, 6.0, 9.0)))), TaskTuning.SCAN),
        (big_job(10**5, WorkLengths(2.0, 3e4, 2.0), WORK), TaskTuning.SCAN),
        (big_job(10**5, WorkLengths(2.0, 3e4, 2.0), WORK), TaskTuning.HILL),
    ],
)
def test_input_that_would_take_too_long_is_refused_by_job_and_field(job, tuning):
    problem = problem_of(job, options=PlanOptions(tasks=tuning))
    priced = _with_io_price(problem)

    with pytest.raises(InvalidInput, match="tasks_max") as refused:
        find_frontier(priced, PlanSearch.EXACT)
    assert "big" in str(refused.value)


def _with_io_price(problem):
    return replace(problem, prices=replace(problem.prices, io_op_usd=5e-8))


@pytest.mark.parametrize("name", ["maps", "reduces"])
def test_at_most_a_million_task_counts_are_tried(name):
    """More take too long; without tuning none are tried."""

    def plan(most, tuning):
        job = PlannedJob(job_id="a", maps=phase(5, 1.0), reduces=phase(5, 1.0))
        job = replace(job, **{name: phase(5, 1.0, tasks_max=most)})
        return problem_of(job, options=PlanOptions(tasks=tuning))

    plan(1_000_000, TaskTuning.SCAN)
    plan(1_000_001, TaskTuning.FIXED)
    with pytest.raises(InvalidInput, match=f"{name}.tasks_max is 1000001, too many"):
        plan(1_000_001, TaskTuning.SCAN)


@pytest.mark.parametrize(("more_s", "paid_s"), [(0.001, 3_000_001), (0.005, 3_000_002)])
def test_a_billionth_of_a_long_time_is_not_billed_when_tasks_are_tuned(more_s, paid_s):
    """Of 3,000,001 s it is 0.003 s; a VM is billed by the second."""
    job = PlannedJob(job_id="a", maps=phase(1, 3_000_000.25), reduces=phase(1, 0.75 + more_s))
    options = PlanOptions(tasks=TaskTuning.SCAN)
    problem = problem_of(job, vm=(1, 1), billing_s=1.0, options=options)

    (budget_usd,) = find_frontier(problem, PlanSearch.EXACT).budgets_usd
    assert budget_usd == pytest.approx(paid_s / 3600, rel=1e-12)
