"""The simulator against an independent one, written from the pseudo code alone: `tests/referee.py`.

Completions must be equal to the last bit: both simulators make every end as `start + length`.
"""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests import referee
from tests.runs import even_nodes, map_reduce, simulate, totals
from tests.strategies import job_lists

from sluice.model.lengths import ConstantLengths, ListedLengths

slots = st.integers(1, 7)


def ends_of(state, jobs):
    return [state.jobs[job.job_id].finished_at_s for job in jobs]


def hold_the_referee_right(jobs, map_slots, reduce_slots):
    expected = referee.completions_s(jobs, map_slots, reduce_slots)
    event(f"jobs with both phases: {sum(len(job.phases) > 1 for job in jobs)}")
    event(f"jobs that overtake another: {sum(a > b for a, b in pairwise(expected))}")

    assert expected == ends_of(simulate(totals(map_slots, reduce_slots), jobs), jobs)


@settings(max_examples=100, deadline=None)
@given(job_lists(), slots, slots)
def test_every_job_ends_when_the_referee_says(jobs, map_slots, reduce_slots):
    hold_the_referee_right(jobs, map_slots, reduce_slots)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(job_lists(jobs_max=8, tasks_max=12), slots, slots)
def test_every_job_ends_when_the_referee_says_many_times(jobs, map_slots, reduce_slots):
    hold_the_referee_right(jobs, map_slots, reduce_slots)


@settings(max_examples=30, deadline=None)
@given(job_lists(), st.integers(1, 5), st.integers(1, 3), st.integers(1, 3))
def test_where_the_slots_stand_does_not_matter_at_heartbeat_0(jobs, nodes, map_slots, reduce_slots):
    """Without locality and heartbeats, nodes are only a way to write down totals."""
    spread = simulate(even_nodes(nodes, map_slots, reduce_slots), jobs)
    pooled = simulate(totals(nodes * map_slots, nodes * reduce_slots), jobs)

    assert ends_of(pooled, jobs) == ends_of(spread, jobs)


def distinct_jobs(job):
    """The same job with each length listed, so that its tasks are enumerated, not counted."""
    phases = []
    for phase in job.phases:
        lengths = phase.lengths
        if isinstance(lengths, ConstantLengths):
            lengths = ListedLengths((lengths.average_s,) * phase.tasks)
        phases.append(replace(phase, lengths=lengths))
    return replace(job, phases=tuple(phases))


def tasks_one_by_one(state):
    """(task, slot, start, end) of every task, whether it ran counted or on its own."""
    rows = []
    for attempt in state.closed:
        key, launch = attempt.key, attempt.launch
        spread = [slot for first, count in launch.slots for slot in range(first, first + count)]
        for offset, slot in enumerate(spread):
            span = (attempt.started_at_s, attempt.finished_at_s)
            place = (launch.node_id, launch.slot_kind.value, slot)
            rows.append((key.job_id, key.phase, key.task + offset, place, span))
    return sorted(rows)


@settings(max_examples=60, deadline=None)
@given(job_lists(listed=False), slots, slots, st.integers(1, 3))
def test_counted_tasks_run_as_they_would_one_by_one(jobs, map_slots, reduce_slots, nodes):
    """Counting is a shortcut, never another result: same task, same slot, same instants."""
    cluster = even_nodes(nodes, map_slots, reduce_slots)
    counted = simulate(cluster, jobs)
    apart = simulate(cluster, [distinct_jobs(job) for job in jobs])

    assert all(job.alike for job in counted.jobs.values())
    assert not any(job.alike for job in apart.jobs.values())
    assert tasks_one_by_one(apart) == tasks_one_by_one(counted)


def test_the_referee_itself_knows_example_a():
    """A referee that errs like the simulator would let every test above pass."""
    rows = [(10, 4, 2, 8), (4, 2, 4, 2), (2, 6, 4, 10), (24, 6, 6, 8)]
    jobs = [map_reduce(f"J{index}", *row) for index, row in enumerate(rows)]

    assert [16, 8, 26, 44] == referee.completions_s(jobs, 8, 4)


def test_a_reduce_takes_no_slot_before_the_last_map_of_its_job_has_ended():
    """j0's last map ends at 9; until then the one reduce slot is j1's, which is ready at 2."""
    jobs = [
        map_reduce("j0", 5, (1.0, 1.0, 1.0, 1.0, 9.0), 1, 1.0),
        map_reduce("j1", 1, 1.0, 1, 5.0),
    ]

    assert [10, 7] == ends_of(simulate(totals(5, 1), jobs), jobs)
