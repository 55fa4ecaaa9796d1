"""The usual time of repeated runs is steadier with redrawn tasks, and never against the times."""

import math
from dataclasses import replace
from statistics import fmean, median

import pytest
from tests.estimate.nightly_jobs import NIGHTS, nightly_jobs, nights_of

from sluice.estimate.list_scheduling import list_schedule_s
from sluice.estimate.redrawn_times import (
    recent_weights,
    task_pools,
    usual_s,
    weighted_quantile,
    without_luck_s,
)
from sluice.estimate.run_setting import timed_runs
from sluice.model.history import PastPhase, PastRun, PastTask


def measured_jobs(seed):
    """The measured runs of ten nights of each job."""
    return [timed_runs(runs) for runs in nights_of(nightly_jobs(seed), NIGHTS, seed).values()]


def halves(runs):
    """Every other run, so that both have early and late nights."""
    return runs[::2], runs[1::2]


def phase_of(lengths_s, name="scan", *, has_timeline=True):
    tasks = tuple(PastTask(started_at_s=at, finished_at_s=at + s) for at, s in enumerate(lengths_s))
    return PastPhase(
        name=name,
        kind="map",
        tasks=len(tasks),
        avg_s=fmean(lengths_s),
        max_s=max(lengths_s),
        timeline=tasks if has_timeline else (),
    )


def runs_of(took_s, *phases):
    """Runs of the same phases, all on two slots."""
    return timed_runs(
        PastRun(
            run_id=str(number),
            profile="fixed",
            source="sluice",
            phases=phases,
            elapsed_s=one_s,
            slots={"map": 2},
        )
        for number, one_s in enumerate(took_s)
    )


def fixed_runs(took_s, lengths_s):
    """Runs of the same tasks in the same order, all on two slots."""
    return runs_of(took_s, phase_of(lengths_s))


def test_two_halves_of_a_history_agree_more_with_redrawn_tasks():
    ours, plain = [], []
    for runs in measured_jobs(31):
        pair = [usual_s(half, task_pools(half, len(half[0].phases))) for half in halves(runs)]
        ours.append(abs(math.log(pair[0] / pair[1])))
        first, last = (median(one.elapsed_s for one in half) for half in halves(runs))
        plain.append(abs(math.log(first / last)))

    assert fmean(ours) < 0.85 * fmean(plain)


def test_a_run_without_its_luck_varies_less():
    def spread(times_s):
        return median(abs(one / median(times_s) - 1) for one in times_s)

    every = measured_jobs(31)
    ours = fmean(spread(without_luck_s(runs)) for runs in every)

    assert ours < 0.7 * fmean(spread([one.elapsed_s for one in runs]) for runs in every)


def test_where_the_long_tasks_always_start_first_the_measured_times_count():
    """Drawn at random, one would often start last."""
    lengths_s = [*[9.0] * 6, *[1.0] * 30]
    took_s = [list_schedule_s(lengths_s, 2) + extra_s for extra_s in (3.0, 3.2, 3.1, 3.3, 3.4)]
    runs = fixed_runs(took_s, lengths_s)

    assert median(without_luck_s(runs)) > max(took_s)
    assert min(took_s) <= usual_s(runs, task_pools(runs, 1)) <= max(took_s)


def test_without_single_tasks_the_median_of_the_runs_remains():
    (job,) = nights_of(nightly_jobs(2, jobs=1), NIGHTS, 2).values()
    runs = [
        one._replace(phases=tuple(replace(phase, timeline=()) for phase in one.phases))
        for one in timed_runs(job)
    ]
    times_s = [one.elapsed_s for one in runs]

    assert without_luck_s(runs) == times_s
    found_s = usual_s(runs, task_pools(runs, len(runs[0].phases)))
    assert sorted(times_s)[4] <= found_s <= sorted(times_s)[5]


LONG_FIRST = [*[9.0] * 20, *[1.0] * 4]  # in another order, the run takes longer
LONG_LAST = [*[1.0] * 30, 30.0]  # and here shorter


@pytest.mark.parametrize(("lengths_s", "turn"), [(LONG_FIRST, 16), (LONG_LAST, 9)])
def test_the_usual_time_is_within_1_6_standard_errors_of_the_median(lengths_s, turn):
    """Each of 20 runs took a little longer than the one before.

    0.8 times the root of the sum of the squared weights is 0.192. The weights of the first 9 runs
    sum to 0.289 and of 10 to 0.333: 0.308 lies between. Those of 16 are 0.677 and of 17 are 0.750.
    """
    took_s = [100 + one / 1000 for one in range(20)]
    runs = fixed_runs(took_s, lengths_s)

    assert usual_s(runs, task_pools(runs, 1)) == took_s[turn]


def test_a_run_weighs_half_as_much_as_one_ten_runs_later():
    weights = recent_weights(11)

    assert weights[10] == pytest.approx(2 * weights[0])
    assert math.fsum(weights) == pytest.approx(1)


@pytest.mark.parametrize(
    ("share", "value"), [(0, 1), (0.05, 1), (0.1, 1.5), (0.3, 3.5), (0.95, 10), (1, 10), (1.2, 10)]
)
def test_a_quantile_at_the_border_of_two_values_is_their_middle(share, value):
    """Three weights of 0.1 sum to a little more than 0.3, which is no difference."""
    assert weighted_quantile(list(range(10, 0, -1)), [0.1] * 10, share) == value


def test_equal_tasks_take_the_same_time_however_they_are_drawn():
    """Five tasks of 2 s on two slots, and a phase whose tasks are too short to measure."""
    instant = replace(
        phase_of([1.0] * 3, "none"), timeline=(PastTask(started_at_s=0, finished_at_s=0),) * 3
    )
    runs = runs_of([7.0, 9.0], instant, phase_of([2.0] * 5))

    assert without_luck_s(runs) == [7, 9]


def test_tasks_are_drawn_in_proportion_to_the_usual_task_of_their_run():
    """The lengths of both runs are 1, 1 and 3 usual tasks, on a slot for each."""
    pools = task_pools(fixed_runs([9.0], [2.0, 2.0, 6.0]) + fixed_runs([9.0], [5.0, 15.0, 5.0]), 1)

    assert [list(pool) for pool in pools] == [[1, 1, 1, 1, 3, 3]]


def test_a_phase_is_drawn_again_if_all_its_tasks_are_known_and_they_are_at_most_300():
    """A long task came last, and seldom does when drawn."""

    def is_moved(*phases):
        (found_s,) = without_luck_s(runs_of([1000.0], *phases))
        return found_s != 1000

    known = phase_of([1.0] * 9 + [9.0])
    assert is_moved(known)
    assert not is_moved(replace(known, tasks=11))
    assert is_moved(phase_of([1.0] * 10, "bare", has_timeline=False), known)
    assert is_moved(phase_of([1.0] * 299 + [200.0]))
    assert not is_moved(phase_of([1.0] * 300 + [200.0]))


def test_however_its_tasks_are_drawn_a_run_takes_a_tenth_of_its_time():
    """A task of 90 s came last, after 20 s. Drawn earlier, the run is 20 s shorter."""
    runs = fixed_runs([10.0], [1.0] * 40 + [90.0])

    assert without_luck_s(runs) == [1]
