"""The order by utility, worked out by hand: RAS spec, section 4."""

import math
from types import SimpleNamespace
from typing import Any

import pytest

from sluice.model.lengths import ConstantLengths
from sluice.model.slot_kind import SlotKind
from sluice.policies.orders.utility import LeastUtility


def phase(tasks, avg_s, *, done=0, running=0, after=False):
    """A phase of tasks with this mean length; None if it is not known."""
    return SimpleNamespace(
        tasks=tasks,
        done=done,
        running=running,
        after=after,
        is_done=done == tasks,
        phase=SimpleNamespace(lengths=None if avg_s is None else ConstantLengths(avg_s, avg_s)),
    )


MAPS = phase(4, 10.0, done=1, running=1)  # three maps are left
REDUCES = phase(2, 20.0, after=True)  # no slot for them is 1 less


@pytest.mark.interpreted  # made-up phases, where compiled code takes only its own
@pytest.mark.parametrize(
    ("phases", "deadline_at_s", "utility"),
    [
        # 3 maps of 10 s in 20 s need 2 slots: log 1 / log 2 - 1. One is enough in 30 s.
        ([MAPS, REDUCES], 140.0, -1 - 1),
        ([MAPS, REDUCES], 150.0, 0 - 1),
        # The reduces take no time that is known, or are done.
        ([MAPS, phase(2, None, after=True)], 130.0, 0 - 1),
        ([MAPS, phase(2, 20.0, done=2, after=True)], 130.0, 0),
        # Two later phases take 20 s and 20 s, one after the other.
        ([MAPS, REDUCES, phase(2, 20.0, after=True)], 160.0, -1 - 1),
        ([MAPS, REDUCES, phase(2, 20.0, after=True)], 170.0, 0 - 1),
        # Nothing is known of some first phase, or there is no deadline: a slot for each map.
        ([phase(4, None, done=1, running=2)], 150.0, math.log(2) / math.log(3) - 1),
        ([phase(4, 10.0, done=1, running=2)], None, math.log(2) / math.log(3) - 1),
        ([MAPS, phase(1, None, running=1)], 1e9, math.log(2) / math.log(4) - 1),
        # Of 3 maps of 10 s and 1 of 30 s the mean is 15 s: 4 of them in 30 s need 2 slots.
        ([MAPS, phase(1, 30.0, running=1)], 130.0, 0),
        # One of two reduces runs.
        ([MAPS, phase(2, 20.0, running=1, after=True)], 150.0, 0 - 1),
        ([MAPS, phase(2, 20.0, running=2, after=True)], 150.0, 0),
        ([phase(3, 10.0, running=0), REDUCES], 150.0, -math.inf),
    ],
)
def test_a_job_s_place_is_its_utility_now(phases, deadline_at_s, utility):
    order: Any = LeastUtility()
    order.state = SimpleNamespace(now_s=100.0)
    job = SimpleNamespace(
        phases=phases, seniority=7, job=SimpleNamespace(deadline_at_s=deadline_at_s)
    )

    place, seniority = order.job_place(job, SlotKind.MAP)
    assert (pytest.approx(utility), 7) == (place, seniority)
