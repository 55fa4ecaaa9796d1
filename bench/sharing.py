"""Long-term sharing: what a choice costs among many queues, and how long a simulated week takes.

Question 1: an end of a task and the choice of the next one, through the whole scheduler with all
its checks, among 1,000 queues with 10,000 applications that all wait, against 10 queues with 100;
under `ltrf`, `karma` (with all units shared, and with a half that is guaranteed) and `decay`.
Budget on one core of 2 GHz: under 250 microseconds of CPU, at most 3 times the cost with 100
applications, and at most 3 times as many keys worked out (O(log n)). The time is a mean, so that
what is done only now and then counts. It first asserts that each of some choices is the least of
all queues by a scan.

Question 2: a week of the four queues of the LTYARN evaluation (Facebook, Purdue, Hive, Spark; 108
containers, ticks of 1 s) under LTRF. The workload of the evaluation, 95,000 tasks, starts every
six hours: 28 times, 2.7 million tasks, each with a length of its own.
Budget: 60 s of CPU. It first asserts that every task has ended, that no more than 108 ran at once,
and that use by queue is the work of its jobs. `--every-h 1.5` is the cluster without a pause.

    PYTHONPATH=src python -m bench.sharing [--only choice|week] [--every-h H] [--tasks POLICY]
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from statistics import fmean
from typing import Any, NamedTuple

from sluice.api.simulate import Scheduling, simulated
from sluice.bootstrap.scheduler import scheduler_for
from sluice.bootstrap.settings import resolved_settings
from sluice.core.entries import Attempt
from sluice.core.events import JobSubmitted, NodeJoined
from sluice.core.scheduler import Scheduler
from sluice.core.transitions import AttemptState
from sluice.model.cluster import Node
from sluice.model.ids import JobId, NodeId, PoolId
from sluice.model.job import Job, Phase
from sluice.model.lengths import ListedLengths
from sluice.model.queues import Pool, PoolOrder, Queue, QueueOrder
from sluice.model.slot_kind import SlotKind
from sluice.reproductions.ltyarn.workload import CONTAINERS, QUEUES, FourQueues, four_queues

CHOICE_S_MAX = 250e-6
GROWTH_MAX = 3.0
KEYS_GROWTH_MAX = 3.0  # log(10,000) is twice log(100)
CHOICES, SLOTS, ROUNDS, CHECKED = 3_000, 64, 2, 20
RULES: tuple[tuple[str, dict[str, float]], ...] = (
    ("ltrf", {}),
    ("karma", {}),
    ("karma", {"karma.alpha": 0.5, "karma.initial_credits": 1e6}),
    ("decay", {}),
)
SIZES = ((10, 100), (100, 1_000), (1_000, 10_000))
WEEK_S, HOUR_S, WEEK_S_MAX = 7 * 86_400.0, 3_600.0, 60.0
LOADS = 3  # seeds that take turns


class Cost(NamedTuple):
    """Of one end and one choice."""

    seconds: float
    keys: float


def waiting_scheduler(
    queues: int, apps: int, tasks: str = "ltrf", options: Mapping[str, float] | None = None
) -> Scheduler:
    """A node whose containers are all in use, and applications with tasks in every queue."""
    draw = random.Random(1)
    pools = []
    for index in range(queues):
        queue = Queue(
            queue_id=PoolId(f"q{index}"), order=QueueOrder.LTRF, weight=draw.choice([1.0, 2.0, 3.0])
        )
        pools.append(Pool(pool_id=queue.queue_id, order=PoolOrder.FIFO, queue=queue))
    settings = resolved_settings({}, options or {})
    scheduler = scheduler_for(tasks=tasks, settings=settings, pools=tuple(pools))
    scheduler.handle(NodeJoined(0.0, Node(node_id=NodeId("node-1"), containers=SLOTS)))
    lengths = ListedLengths((1.0,) * 100)
    for number in range(apps):
        job = Job(
            job_id=JobId(f"job-{number}"),
            pool=PoolId(f"q{number % queues}"),
            phases=(Phase(name="m", kind=SlotKind.CONTAINER, tasks=100, lengths=lengths),),
        )
        scheduler.handle(JobSubmitted(0.0, job))
    return scheduler


def choices(scheduler: Scheduler, count: int) -> Iterator[tuple[float, Attempt]]:
    """Ends of the oldest task, each with the start that follows; seconds of CPU of both."""
    running = [one for one in scheduler.complete_instant(0.0).all() if isinstance(one, Attempt)]
    for step in range(count):
        now_s = (step + 1) * 0.1
        began_s = time.process_time()
        scheduler.finish_attempt(running[step], now_s, now_s, math.nan)
        started = scheduler.complete_instant(now_s).all()
        spent_s = time.process_time() - began_s
        attempts = [one for one in started if isinstance(one, Attempt)]
        assert len(attempts) == 1
        running += attempts
        yield spent_s, attempts[0]


def cost_of(size: tuple[int, int], tasks: str, options: Mapping[str, float]) -> Cost:
    """The mean cost of a choice, and how many keys it works out."""
    scheduler = waiting_scheduler(*size, tasks, options)
    policy: Any = scheduler.policies.tasks
    counted = itertools.count()
    worked_out: list[int] = [0]
    steps = choices(scheduler, CHOICES + CHECKED)
    seconds = fmean(spent_s for spent_s, _ in itertools.islice(steps, CHOICES))
    check_least(policy, steps)
    # Once more with a count of the keys, which takes time of its own.
    scheduler = waiting_scheduler(*size, tasks, options)
    policy = scheduler.policies.tasks
    for queue in (policy.tree.root, *policy.tree.queues.values()):
        queue.turns.key_of = _counting(queue.turns.key_of, counted)
    for step, _ in enumerate(choices(scheduler, CHOICES)):
        if step == CHOICES // 2:
            worked_out[0] = next(counted)
    keys = (next(counted) - worked_out[0]) / (CHOICES - CHOICES // 2)
    return Cost(seconds, keys)


def _counting(key_of: Any, counted: Iterator[int]) -> Any:  # noqa: ANN401  # of any order
    def key(child: Any, now_s: float) -> Any:  # noqa: ANN401  # as above
        next(counted)
        return key_of(child, now_s)

    return key


def check_least(policy: Any, steps: Iterator[tuple[float, Attempt]]) -> None:  # noqa: ANN401  # ltrf
    """The queue whose turn it is after each of the next choices is the least of a scan."""
    turns = policy.tree.root.turns
    for _, chosen in steps:
        now_s = chosen.started_at_s
        keys = [(turns.key_of(one, now_s), one) for one in policy.tree.queues.values()]
        least = min((key, one.index) for key, one in keys if key is not None)
        assert turns.first(now_s).index == least[1], least


def choose() -> bool:
    """Question 1; whether the budgets are kept under each rule."""
    kept = [_choose(tasks, options) for tasks, options in RULES]
    return all(kept)


def _choose(tasks: str, options: Mapping[str, float]) -> bool:
    costs = {size: min(cost_of(size, tasks, options) for _ in range(ROUNDS)) for size in SIZES}
    print(tasks, *(f"{name}={value:g}" for name, value in options.items()))
    for (queues, apps), cost in costs.items():
        print(
            f"{queues:>6,} queues {apps:>7,} applications: {cost.seconds * 1e6:6.1f} us and"
            f" {cost.keys:4.1f} keys a choice"
        )
    small, large = costs[SIZES[0]], costs[SIZES[-1]]
    growth = Cost(large.seconds / small.seconds, large.keys / small.keys)
    print(f"growth at 100x: {growth.seconds:.1f} in time, {growth.keys:.1f} in keys")
    return (
        large.seconds < CHOICE_S_MAX
        and growth.seconds < GROWTH_MAX
        and growth.keys < KEYS_GROWTH_MAX
    )


def jobs_of_a_week(every_h: float, until_s: float) -> Iterator[Job]:
    """The jobs of the evaluation, again and again. Repetitions share their lists of lengths."""
    loads = [four_queues(seed) for seed in range(LOADS)]
    for number in range(math.ceil(until_s / (every_h * HOUR_S))):
        from_s = number * every_h * HOUR_S
        for job in loads[number % LOADS].jobs:
            name = JobId(f"{job.job_id}-{number}")
            yield replace(job, job_id=name, submitted_at_s=from_s + job.submitted_at_s)


def week(tasks: str, every_h: float, days: float) -> bool:
    """Question 2; whether the budget is kept."""
    until_s = days * 86_400.0
    load = FourQueues(tuple(jobs_of_a_week(every_h, until_s)))
    expected = sum(job.tasks for job in load.jobs)
    how = Scheduling(tasks=tasks, release=load.scripts(), settings={"heartbeat_s": 1.0})
    began_s = time.process_time()
    scheduler, _ = simulated(load.workload(), how)
    spent_s = time.process_time() - began_s
    log = scheduler.state.closed
    assert log.ended[AttemptState.DONE] == len(log) == expected
    check_use(scheduler, load)
    budget_s = WEEK_S_MAX * until_s / WEEK_S
    print(
        f"{tasks}: {len(load.jobs):,} jobs, {expected:,} tasks in {days:g} days, one workload"
        f" every {every_h:g} h: {spent_s:.1f} s CPU (budget {budget_s:.0f} s),"
        f" {spent_s / expected * 1e6:.1f} us a task"
    )
    return spent_s <= budget_s


def check_use(scheduler: Scheduler, load: FourQueues) -> None:
    """The accounts are the work of the jobs, and no container was used twice."""
    work = dict.fromkeys(QUEUES, 0.0)
    for job in load.jobs:
        for phase in job.phases:
            assert isinstance(phase.lengths, ListedLengths)
            work[str(job.pool)] += math.fsum(phase.lengths.durations_s)
    used = dict.fromkeys(QUEUES, 0.0)
    changes: list[tuple[float, int]] = []
    for attempt in scheduler.state.closed:
        length_s = attempt.finished_at_s - attempt.started_at_s
        used[str(attempt.phase.job.pool.pool_id)] += length_s
        changes += ((attempt.finished_at_s, -1), (attempt.started_at_s, 1))
    running = most = 0
    for _, more in sorted(changes):
        running += more
        most = max(most, running)
    assert most <= CONTAINERS
    for name in QUEUES:
        assert math.isclose(used[name], work[name], rel_tol=1e-6), (name, used[name], work[name])


def main() -> int:
    """Both questions; 1 if a budget is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("choice", "week"))
    parser.add_argument("--tasks", default="ltrf")
    parser.add_argument("--every-h", type=float, default=6.0)
    parser.add_argument("--days", type=float, default=7.0)
    given = parser.parse_args()
    is_kept = given.only == "week" or choose()
    if given.only != "choice":
        is_kept = week(given.tasks, given.every_h, given.days) and is_kept
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
