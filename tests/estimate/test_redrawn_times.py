"""The usual time of repeated runs is steadier with redrawn tasks, and never against the times."""

import math
from dataclasses import replace
from statistics import fmean, median

from tests.estimate.nightly_jobs import NIGHTS, nightly_jobs, nights_of

from sluice.estimate.list_scheduling import list_schedule_s
from sluice.estimate.redrawn_times import task_pools, usual_s, without_luck_s
from sluice.estimate.run_setting import timed_runs
from sluice.model.history import PastPhase, PastRun, PastTask


def measured_jobs(seed):
    """The measured runs of ten nights of each job."""
    return [timed_runs(runs) for runs in nights_of(nightly_jobs(seed), NIGHTS, seed).values()]


def halves(runs):
    """Every other run, so that both have early and late nights."""
    return runs[::2], runs[1::2]


def fixed_runs(took_s, lengths_s):
    """Runs of the same tasks in the same order, all on two slots."""
    tasks = tuple(PastTask(started_at_s=at, finished_at_s=at + s) for at, s in enumerate(lengths_s))
    phase = PastPhase(
        name="scan",
        kind="map",
        tasks=len(tasks),
        avg_s=fmean(lengths_s),
        max_s=max(lengths_s),
        timeline=tasks,
    )
    return timed_runs(
        PastRun(
            run_id=str(number),
            profile="fixed",
            source="sluice",
            phases=(phase,),
            elapsed_s=one_s,
            slots={"map": 2},
        )
        for number, one_s in enumerate(took_s)
    )


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
