"""Workloads of the thesis: nine benchmarks, and a synthetic one based on Facebook's of 2010.

Source: ordering spec, section 9 (tables 3.2 and 3.3 of the thesis) with the resolutions of section
7: times are lognormal in milliseconds, one draw for each job and phase; a job has 5 to 25 % as
many reduces as maps.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from sluice.planning.ordering.problem import OrderedJob, OrderingProblem

MAP_SLOTS, REDUCE_SLOTS = 57, 19  # 19 nodes with 3 map slots and 1 reduce slot each

# Name, maps, reduces, length of a map and of a reduce in seconds: table 3.2.
BENCHMARKS = (
    ("Wordcount", 160, 100, 22, 11),
    ("Sort", 320, 200, 9, 24),
    ("Grep", 480, 120, 9, 11),
    ("Inverted-Index", 640, 100, 32, 23),
    ("Classification", 160, 120, 6, 13),
    ("Histogram-Movies", 160, 150, 6, 13),
    ("Histogram-Ratings", 160, 100, 18, 15),
    ("Sequence-Count", 320, 150, 38, 21),
    ("Tera-Sort", 160, 100, 10, 26),
)

# Maps of the jobs of each bin but the first, whose 29 jobs have 1 to 25 maps each: table 3.3.
SMALL_JOBS, SMALL_MAPS_MAX = 29, 25
BINS = (
    (25, 30, 35, 40, 50),
    (60, 80, 90, 100),
    (120, 150, 180, 200),
    (250, 320, 400),
    (600, 800),
    (1200,),
    (2400,),
    (4800,),
)
FACEBOOK_JOBS = SMALL_JOBS + sum(map(len, BINS))
REDUCE_SHARE = (0.05, 0.25)
MAP_MS, REDUCE_MS = (9.9511, 1.6764), (12.375, 1.6262)  # mean and deviation of the logarithm


def benchmarks(jobs: int, *, first: int = 0) -> OrderingProblem:
    """Benchmark jobs on the thesis's cluster; the table is repeated as often as needed."""
    rows = [BENCHMARKS[(first + number) % len(BENCHMARKS)] for number in range(jobs)]
    return _on_the_cluster(
        OrderedJob(
            name=name if jobs <= len(BENCHMARKS) else f"{name}-{number + 1}",
            maps=((maps, float(map_s)),),
            reduces=((reduces, float(reduce_s)),),
        )
        for number, (name, maps, reduces, map_s, reduce_s) in enumerate(rows)
    )


def facebook(jobs: int, draw: random.Random) -> OrderingProblem:
    """Jobs of the synthetic workload on the thesis's cluster, in a random order.

    Each group of 50 jobs has the sizes of table 3.3; a partial group is a random part of it.
    """
    sizes = [size for _ in range(-(-jobs // FACEBOOK_JOBS)) for size in _sizes(draw)]
    draw.shuffle(sizes)
    return _on_the_cluster(
        _facebook_job(f"job-{number + 1}", maps, draw) for number, maps in enumerate(sizes[:jobs])
    )


def _on_the_cluster(jobs: Iterable[OrderedJob]) -> OrderingProblem:
    return OrderingProblem(map_slots=MAP_SLOTS, reduce_slots=REDUCE_SLOTS, jobs=tuple(jobs))


def _sizes(draw: random.Random) -> list[int]:
    """Map counts of 50 jobs."""
    small = [draw.randint(1, SMALL_MAPS_MAX) for _ in range(SMALL_JOBS)]
    return [*small, *(size for sizes in BINS for size in sizes)]


def _facebook_job(name: str, maps: int, draw: random.Random) -> OrderedJob:
    reduces = max(1, int(draw.uniform(*REDUCE_SHARE) * maps + 0.5))
    map_s, reduce_s = (
        max(1, round(draw.lognormvariate(*logarithm))) / 1000 for logarithm in (MAP_MS, REDUCE_MS)
    )
    return OrderedJob(name=name, maps=((maps, map_s),), reduces=((reduces, reduce_s),))


def varied(problem: OrderingProblem, spread: float, draw: random.Random) -> OrderingProblem:
    """Return the same jobs, with every task length changed by up to the share `spread`."""

    def tasks(runs: Sequence[tuple[int, float]]) -> tuple[tuple[int, float], ...]:
        return tuple(
            (1, length_s * (1 + draw.uniform(-spread, spread)))
            for count, length_s in runs
            for _ in range(count)
        )

    jobs = tuple(
        OrderedJob(name=job.name, maps=tasks(job.maps), reduces=tasks(job.reduces))
        for job in problem.jobs
    )
    return OrderingProblem(
        map_slots=problem.map_slots, reduce_slots=problem.reduce_slots, jobs=jobs
    )
