"""Jobs as two amounts of work, with sums that can be done in the head."""

import pytest

from sluice.estimate.flow_shop import SlotWork, fluid_makespan_s, johnson_key, slot_work, task_s
from sluice.model.job import Job, Phase
from sluice.model.lengths import ConstantLengths, TableLengths
from sluice.model.slot_kind import SlotKind


def phase(kind, tasks, lengths=None, fetch=None):
    return Phase(name=kind.value, kind=kind, tasks=tasks, lengths=lengths, fetch=fetch)


def test_the_work_of_a_job_is_that_of_its_maps_and_of_all_other_tasks():
    """Maps 4 * 3 s and 2 * 1 s unmeasured; reduces 2 * (1 + 5) s and containers 3 * 2 s."""
    job = Job(
        job_id="j",
        pool="p",
        phases=(
            phase(SlotKind.MAP, 4, ConstantLengths(3.0, 4.0)),
            phase(SlotKind.MAP, 2),
            phase(SlotKind.REDUCE, 2, ConstantLengths(5.0, 9.0), ConstantLengths(1.0, 1.0)),
            phase(SlotKind.CONTAINER, 3, ConstantLengths(2.0, 2.0)),
        ),
    )

    assert slot_work(job) == SlotWork(14, 18)
    assert slot_work(job).span_s(7, 3) == 2 + 6


def test_a_task_has_the_length_of_its_phase_s_task_count():
    rows = TableLengths(((2, 8.0, 8.0), (4, 4.0, 4.0)))

    assert task_s(phase(SlotKind.REDUCE, 4, rows, rows)) == 8
    assert task_s(phase(SlotKind.REDUCE, 3, rows)) == 6


@pytest.mark.parametrize(
    ("map_s", "reduce_s", "slots", "key"),
    [
        (4, 6, (1, 1), (0, 4)),
        (6, 6, (1, 1), (0, 6)),
        (6, 4, (1, 1), (1, -4)),
        (6, 4, (2, 1), (0, 6)),  # 3 s of maps, 4 s of reduces
        (4, 6, (1, 2), (1, -6)),  # 4 s of maps, 3 s of reduces
    ],
)
def test_jobs_with_less_map_time_come_first_by_rising_maps(map_s, reduce_s, slots, key):
    assert johnson_key(SlotWork(map_s, reduce_s), *slots) == key


def test_reduces_wait_for_their_maps_and_for_the_reduces_before():
    """Maps end at 4 and 6 s; reduces run from 4 to 6 s, and from 6 to 12 s."""
    assert fluid_makespan_s([SlotWork(8, 6), SlotWork(4, 18)], 2, 3) == 12
    assert fluid_makespan_s([SlotWork(4, 18), SlotWork(8, 6)], 2, 3) == 10
    assert fluid_makespan_s([], 2, 3) == 0
