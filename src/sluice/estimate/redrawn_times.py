"""The usual time of repeated runs, with the luck of their tasks drawn again.

Two nights of a job differ mostly by luck: how many tasks are slow, and whether one of them starts
last. A run shows one draw, but the tasks of all runs together show which draws are possible. So
each run is played again several times, with task lengths drawn from those of all runs and scaled to
its own usual task. Its own luck in the order and choice of tasks is gone; what all its tasks
share stays. The median over all is steadier than the median of the measured times.

Tasks of some jobs are no draw at all: the largest partition is always the same, and always starts
first. Then the redrawn times are wrong. So their median counts only within the confidence interval
of the median of the measured times, which needs no assumption about tasks.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from statistics import median
from typing import TYPE_CHECKING

from sluice.estimate.list_scheduling import RATIOS_MAX, list_schedule_s, sampled_evenly
from sluice.estimate.run_setting import MeasuredRun, PhaseSetting

if TYPE_CHECKING:  # NumPy is imported where times are drawn, as in `fits`
    import numpy as np
    from numpy.typing import NDArray

    from sluice.estimate.least_squares import FloatArray

HALF_LIFE_RUNS = 10  # a run says half as much about the next one as a run this much later
DRAWS = 120  # over all runs
DRAWS_EACH = 24  # of one run
LEAST_SHARE = 0.1  # of its time that a run takes at least, however its tasks are drawn
RUNS_REDRAWN = 60  # the newest; older ones weigh almost nothing
TASKS_REDRAWN_MAX = 300  # of a phase: more tasks even out their luck, and take long to play
CONFIDENCE_SCORE = 1.6  # standard errors of the median: about 90 %
_SEED = 14


def usual_s(runs: Sequence[MeasuredRun], pools: Sequence[FloatArray]) -> float:
    """The median time of the next run. runs: of one setting, oldest first.

    pools: for each phase, the lengths of tasks of all runs over the median task of their run.
    """
    took_s = [one.elapsed_s for one in runs]
    weights = recent_weights(len(runs))
    error = CONFIDENCE_SCORE / 2 * math.sqrt(math.fsum(weight**2 for weight in weights))
    low_s = weighted_quantile(took_s, weights, 0.5 - error)
    high_s = weighted_quantile(took_s, weights, 0.5 + error)
    if low_s == high_s:  # one run, or equal times
        return low_s
    newest = runs[-RUNS_REDRAWN:]
    draws = -(-DRAWS // len(newest))
    moved_s = _moved_s(newest, pools, draws)
    redrawn_s = [
        one.elapsed_s + moved for one, each in zip(newest, moved_s, strict=True) for moved in each
    ]
    each_weight = [weight / draws for weight in recent_weights(len(newest)) for _ in range(draws)]
    return min(high_s, max(low_s, weighted_quantile(redrawn_s, each_weight, 0.5)))


def without_luck_s(runs: Sequence[MeasuredRun]) -> list[float]:
    """For each run, the median time that it would have taken with redrawn tasks.

    runs: of one profile, with the same phases.
    """
    pools = task_pools(runs, len(runs[0].phases)) if runs else []
    alike: dict[tuple[PhaseSetting, ...], list[int]] = defaultdict(list)
    for place, one in enumerate(runs):
        alike[one.setting.phases].append(place)
    found = [one.elapsed_s for one in runs]
    for places in alike.values():
        moved_s = _moved_s([runs[place] for place in places], pools, DRAWS_EACH)
        for place, each in zip(places, moved_s, strict=True):
            found[place] = max(found[place] + median(each), LEAST_SHARE * found[place])
    return found


def recent_weights(count: int) -> list[float]:
    """Weights of runs, oldest first; their sum is 1.

    >>> [round(weight, 3) for weight in recent_weights(2)]
    [0.483, 0.517]
    """
    weights = [0.5 ** (age / HALF_LIFE_RUNS) for age in reversed(range(count))]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def weighted_quantile(values: Sequence[float], weights: Sequence[float], share: float) -> float:
    """The value below which lies that share of the weights; their sum is 1.

    Exactly between two values it is their middle.

    >>> weighted_quantile([3.0, 1.0, 2.0, 4.0], [0.25] * 4, 0.5)
    2.5
    """
    rising = sorted(zip(values, weights, strict=True))
    reached = 0.0
    for place, (value, weight) in enumerate(rising):
        reached += weight
        if reached > share + 1e-9:
            return value
        if reached >= share - 1e-9:
            return (value + rising[min(place + 1, len(rising) - 1)][0]) / 2
    return rising[-1][0]


def task_pools(runs: Iterable[MeasuredRun], phases: int) -> list[FloatArray]:
    """For each phase, task lengths over the median task of their run, in rising order."""
    import numpy as np

    pools: list[list[float]] = [[] for _ in range(phases)]
    for one in runs:
        for pool, lengths_s in zip(pools, _lengths_s(one), strict=True):
            if lengths_s and (usual := median(lengths_s)) > 0:
                pool.extend(length / usual for length in lengths_s)
    return [np.array(sampled_evenly(sorted(pool), RATIOS_MAX)) for pool in pools]


def _lengths_s(one: MeasuredRun) -> list[list[float]]:
    """The lengths of each phase's tasks in the order of their starts; empty if unknown."""
    return [
        [task.length_s for task in sorted(phase.timeline, key=lambda task: task.started_at_s)]
        if len(phase.timeline) == phase.tasks <= TASKS_REDRAWN_MAX
        else []
        for phase in one.phases
    ]


def _moved_s(
    runs: Sequence[MeasuredRun], pools: Sequence[FloatArray], draws: int
) -> Sequence[Sequence[float]]:
    """For each run and draw, how much longer the run takes with redrawn tasks, seconds."""
    import numpy as np

    moved = np.zeros((len(runs), draws))
    lengths_s = [_lengths_s(one) for one in runs]
    for index, (phase, pool) in enumerate(zip(runs[0].setting.phases, pools, strict=True)):
        slots = min(phase.slots, phase.tasks)
        known = [place for place, each in enumerate(lengths_s) if each[index]]
        if not known or not len(pool):
            continue
        own_s = [list_schedule_s(lengths_s[place][index], slots) for place in known]
        typical_s = [median(lengths_s[place][index]) for place in known]
        drawn = pool[_draws(len(known) * draws, phase.tasks, index) % len(pool)]
        unit_s = _schedules_s(drawn, slots).reshape(len(known), draws)
        moved[known] += np.array(typical_s)[:, None] * unit_s - np.array(own_s)[:, None]
    found: list[list[float]] = moved.tolist()
    return found


def _schedules_s(lengths_s: FloatArray, slots: int) -> FloatArray:
    """`list_schedule_s` of each row."""
    import numpy as np

    free_at_s, rows = lengths_s[:, :slots].copy(), np.arange(len(lengths_s))
    for task in range(slots, lengths_s.shape[1]):
        free_at_s[rows, free_at_s.argmin(1)] += lengths_s[:, task]
    ends_s: FloatArray = free_at_s.max(1)
    return ends_s


@lru_cache(maxsize=64)
def _draws(rows: int, tasks: int, index: int) -> NDArray[np.uint64]:
    """Large random whole numbers, the same on each machine and in each call."""
    import numpy as np

    raw: NDArray[np.uint64] = np.random.PCG64(_SEED + index).random_raw((rows, tasks))
    return raw
