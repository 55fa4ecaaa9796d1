"""Forty nightly jobs: the history that a data engineer has, from a model that only tests know.

Each job has a driver overhead of 10 to 30 s, one or two stages of tasks on 16 slots, and 5 % of
tasks that take far longer. All times of one night share some luck, and each job has its own.
"""

import math
import random
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from statistics import median

from sluice.model.history import PastPhase, PastRun, PastTask

JOBS = 40
NIGHTS = 10
SLOTS = 16
TAIL_SHARE = 0.05
NIGHT_S = 86_400.0
NIGHT_SPREAD = 0.03  # of the luck that all jobs of a night share, as a logarithm
BEGAN_AT_S = 1_762_128_000.0  # 3 Nov 2025, midnight UTC


@dataclass(frozen=True, kw_only=True)
class NightlyJob:
    """A job that runs each night. stages: (tasks, mean seconds of a task) of each stage."""

    name: str
    at_s: float
    overhead_s: float
    stages: tuple[tuple[int, float], ...]
    tail_factor: float

    def draw(self, rng, night_luck):
        """(overhead_s, lengths of the tasks of each stage) on one night."""
        luck = night_luck * math.exp(rng.gauss(0.0, 0.04))
        stages = [
            [
                avg_s * luck * math.exp(rng.gauss(0.0, 0.1))
                * (self.tail_factor if rng.random() < TAIL_SHARE else 1.0)
                for _ in range(tasks)
            ]
            for tasks, avg_s in self.stages
        ]  # fmt: skip
        return self.overhead_s * luck, stages


def nightly_jobs(seed=0, jobs=JOBS):
    """The jobs, spread over two hours after midnight."""
    rng = random.Random(seed)
    return [
        NightlyJob(
            name=f"nightly-{number:02}",
            at_s=rng.uniform(0.0, 7200.0),
            overhead_s=rng.uniform(10.0, 30.0),
            stages=tuple(
                (rng.randrange(8, 80), rng.uniform(2.0, 12.0)) for _ in range(rng.choice((1, 2)))
            ),
            tail_factor=rng.uniform(2.0, 4.0),
        )
        for number in range(jobs)
    ]


def night_of(jobs, night, seed=0):
    """One run of each job; the same night of the same seed is the same."""
    luck_rng = random.Random(f"{seed}/{night}")
    luck = math.exp(luck_rng.gauss(0.0, NIGHT_SPREAD))
    return [
        _run(job, night, *job.draw(random.Random(f"{seed}/{night}/{job.name}"), luck))
        for job in jobs
    ]


def nights_of(jobs, nights=NIGHTS, seed=0):
    """The runs of each job by its name, oldest first."""
    runs = [night_of(jobs, night, seed) for night in range(nights)]
    return {job.name: [night[at] for night in runs] for at, job in enumerate(jobs)}


def usual_s(job, draws=100):
    """The median time of a job over drawn nights: what its parameters show, and no luck."""
    rng = random.Random(f"usual/{job.name}/{job.at_s}")
    luck = (math.exp(rng.gauss(0.0, NIGHT_SPREAD)) for _ in range(draws))
    return median(_run(job, 0, *job.draw(rng, one)).elapsed_s for one in luck)


def _run(job, night, overhead_s, stages):
    phases, now_s = [], 0.8 * overhead_s
    for number, lengths_s in enumerate(stages):
        timeline = _scheduled(lengths_s, now_s)
        now_s = max(task.finished_at_s for task in timeline)
        longest_s = max(task.length_s for task in timeline)
        mean_s = math.fsum(task.length_s for task in timeline) / len(timeline)
        phases.append(
            PastPhase(
                name=f"stage {number}",
                kind="map" if number == 0 else "reduce",
                tasks=len(timeline),
                avg_s=min(mean_s, longest_s),
                max_s=longest_s,
                timeline=timeline,
                after=tuple(range(number)),
            )
        )
    return PastRun(
        run_id=f"{job.name}/{night}",
        profile=job.name,
        source="sluice",
        phases=tuple(phases),
        submitted_at_s=BEGAN_AT_S + night * NIGHT_S + job.at_s,
        elapsed_s=now_s + 0.2 * overhead_s,
        slots={"map": SLOTS, "reduce": SLOTS},
    )


def _scheduled(lengths_s, began_at_s):
    free_at_s = [began_at_s] * SLOTS
    heapify(free_at_s)
    timeline = []
    for length_s in lengths_s:
        start_s = heappop(free_at_s)
        heappush(free_at_s, start_s + length_s)
        timeline.append(PastTask(started_at_s=start_s, finished_at_s=start_s + length_s))
    return tuple(timeline)
