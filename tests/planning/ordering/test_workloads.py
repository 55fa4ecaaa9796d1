"""Made batches of jobs, and the arrays that the kernels get of them."""

import random

import pytest
from tests.planning.order_problems import problem

from sluice.planning.ordering.compilation import plain_kernels
from sluice.planning.ordering.flow_arrays import flow_arrays_of
from sluice.planning.ordering.workloads import benchmarks, facebook, varied

TABLE_3_2 = [
    ("Wordcount", 160, 100, 22, 11),
    ("Sort", 320, 200, 9, 24),
    ("Grep", 480, 120, 9, 11),
    ("Inverted-Index", 640, 100, 32, 23),
    ("Classification", 160, 120, 6, 13),
    ("Histogram-Movies", 160, 150, 6, 13),
    ("Histogram-Ratings", 160, 100, 18, 15),
    ("Sequence-Count", 320, 150, 38, 21),
    ("Tera-Sort", 160, 100, 10, 26),
]  # name, maps, reduces, seconds of a map, of a reduce


class Highest(random.Random):
    """Draws the highest number each time."""

    def uniform(self, a, b):
        return max(a, b)


def test_each_task_of_a_varied_batch_has_a_length_of_its_own():
    """At most a quarter more or less than 8 s and 4 s."""
    before = problem((2, 2), [(3, 8, 2, 4)])
    (job,) = varied(before, 0.25, random.Random(1)).jobs
    (longest,) = varied(before, 0.25, Highest()).jobs

    assert [tasks for tasks, _ in job.maps + job.reduces] == [1] * 5
    assert len({length_s for _, length_s in job.maps}) == 3
    assert all(6 <= length_s <= 10 for _, length_s in job.maps)
    assert all(3 <= length_s <= 5 for _, length_s in job.reduces)
    assert (longest.maps, longest.reduces) == (((1, 10),) * 3, ((1, 5),) * 2)


def test_a_batch_without_reduces_needs_no_reduce_slots():
    """The kernels divide by the slots, so they get at least one of each kind."""
    kernels = plain_kernels()
    flow = flow_arrays_of(problem((2, 0), [(3, 8, 0, 0)]), kernels)

    assert list(flow.slots) == [2, 1]
    assert kernels.evaluate(flow, [0]) == (16, 16)


class Extreme(random.Random):
    """Draws the least or the greatest number, the same time for all, and leaves orders alone."""

    def __init__(self, pick, factor):
        super().__init__()
        self.pick, self.factor = pick, factor

    def uniform(self, a, b):
        return self.pick(a, b)

    def randint(self, a, b):
        return self.pick(a, b)

    def lognormvariate(self, mu, sigma):
        return mu * self.factor

    def shuffle(self, x):
        pass


def test_50_jobs_of_facebook_have_the_sizes_of_the_table():
    """Table 3.3; times of 9,951.1 and 12,375 ms are rounded to whole ones."""
    made = facebook(50, Extreme(max, 1000.0))
    large = [
        25, 30, 35, 40, 50, 60, 80, 90, 100, 120, 150, 180, 200, 250, 320, 400, 600, 800, 1200,
        2400, 4800,
    ]  # fmt: skip

    assert (made.map_slots, made.reduce_slots) == (57, 19)
    assert [25] * 29 + large == [maps for job in made.jobs for maps, _ in job.maps]
    assert {9.951} == {map_s for job in made.jobs for _, map_s in job.maps}
    assert {12.375} == {reduce_s for job in made.jobs for _, reduce_s in job.reduces}
    # A quarter of the maps: 6.25, 7.5 and 8.75 are rounded.
    reduces = [count for job in made.jobs for count, _ in job.reduces]
    assert (reduces[0], reduces[29:32], reduces[-1]) == (6, [6, 8, 9], 1200)
    assert made.jobs[49].name == "job-50"


def test_a_job_of_facebook_has_a_reduce_and_a_millisecond_at_least():
    (least, *_) = facebook(50, Extreme(min, 0.0)).jobs

    assert (least.maps, least.reduces) == (((1, 0.001),), ((1, 0.001),))


@pytest.mark.parametrize("jobs", [1, 50, 51, 101])
def test_as_many_jobs_of_facebook_are_made_as_asked_for(jobs):
    assert len(facebook(jobs, random.Random(1)).jobs) == jobs


def test_the_benchmarks_are_those_of_the_table_and_repeated_as_often_as_needed():
    """Table 3.2."""
    made = benchmarks(2, first=7)
    names = [job.name for job in benchmarks(11, first=1).jobs]

    assert (made.map_slots, made.reduce_slots) == (57, 19)
    assert [(job.name, job.maps, job.reduces) for job in made.jobs] == [
        ("Sequence-Count", ((320, 38.0),), ((150, 21.0),)),
        ("Tera-Sort", ((160, 10.0),), ((100, 26.0),)),
    ]
    assert (names[0], names[8:]) == ("Sort-1", ["Wordcount-9", "Sort-10", "Grep-11"])
    assert [job.name for job in benchmarks(9).jobs][::8] == ["Wordcount", "Tera-Sort"]
    assert TABLE_3_2 == [
        (job.name, job.maps[0][0], job.reduces[0][0], job.maps[0][1], job.reduces[0][1])
        for job in benchmarks(9).jobs
    ]
