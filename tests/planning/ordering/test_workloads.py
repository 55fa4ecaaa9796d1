"""Made batches of jobs, and the arrays that the kernels get of them."""

import random

from tests.planning.order_problems import problem

from sluice.planning.ordering.compilation import plain_kernels
from sluice.planning.ordering.flow_arrays import flow_arrays_of
from sluice.planning.ordering.workloads import varied


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
