"""Phases of a future job out of past runs, and the VMs that a job needs, by hand."""

import math
from dataclasses import replace

import pytest

from sluice.estimate.bounds import Bound, LengthSummary
from sluice.estimate.past_phases import (
    LENGTH_S_MIN,
    as_worked,
    phases_from_runs,
    with_lengths_from_runs,
    working_times,
)
from sluice.estimate.vm_need import containers_per_job, shared_job, stages_law, vms_per_job
from sluice.model.classes import ClassProfile
from sluice.model.errors import InvalidInput
from sluice.model.history import PastPhase, PastRun, PastTask
from sluice.model.job import Phase
from sluice.model.lengths import ConstantLengths, TableLengths
from sluice.model.slot_kind import SlotKind


def past(name, tasks, avg_s, max_s, *, kind="map", spans=(), after=()):
    timeline = tuple(PastTask(started_at_s=start, finished_at_s=end) for start, end in spans)
    return PastPhase(
        name=name, kind=kind, tasks=tasks, avg_s=avg_s, max_s=max_s, timeline=timeline, after=after
    )


def run(*phases, source="jhist"):
    return PastRun(run_id="r", profile="p", source=source, phases=phases)


def test_lengths_of_one_task_count_are_the_mean_of_the_averages_and_the_longest_of_all():
    (phase,) = phases_from_runs(
        [
            run(past("map", 4, 2.0, 5.0)),
            run(past("map", 4, 4.0, 6.0)),
            run(past("map", 4, 3.0, 3.5)),
        ]
    )

    assert (phase.name, phase.kind, phase.tasks) == ("map", SlotKind.MAP, 4)
    assert phase.lengths == ConstantLengths(3.0, 6.0)


def test_runs_with_other_task_counts_make_a_table():
    (phase,) = phases_from_runs(
        [
            run(past("map", 4, 2.0, 5.0)),
            run(past("map", 2, 4.0, 6.0)),
            run(past("map", 4, 3.0, 3.5)),
        ]
    )

    assert phase.tasks == 4
    assert phase.lengths == TableLengths(((2, 4.0, 6.0), (4, 2.5, 5.0)))


def test_only_phases_of_the_same_name_kind_and_place_count():
    """The second scan of the newest run is not in the other, and its reduce is a map there."""
    newest = run(
        past("scan", 1, 1.0, 1.0),
        past("scan", 1, 2.0, 2.0),
        past("sum", 1, 3.0, 3.0, kind="reduce", after=(0, 1)),
    )
    older = run(past("scan", 1, 3.0, 3.0), past("sum", 1, 9.0, 9.0), past("other", 1, 9.0, 9.0))
    first, second, last = phases_from_runs([newest, older])

    assert [one.lengths.average_s for one in (first, second, last)] == [2, 2, 3]
    assert (last.kind, last.after) == (SlotKind.REDUCE, (0, 1))


def test_tasks_that_took_no_time_get_the_least_length():
    (phase,) = phases_from_runs([run(past("map", 4, 0.0, 0.0))])

    assert phase.lengths == ConstantLengths(LENGTH_S_MIN, LENGTH_S_MIN)


def reduces(*spans):
    """A run whose maps end at 4 s, and its reduces."""
    lengths_s = [end - start for start, end in spans]
    waiting = past("reduce", len(spans), sum(lengths_s) / len(spans), max(lengths_s),
                   kind="reduce", spans=spans, after=(0,))  # fmt: skip
    made = run(past("map", 2, 3.0, 4.0, spans=((0, 2), (0, 4))), waiting)
    return working_times(made, waiting)


def test_a_reduce_counts_from_the_end_of_the_last_map():
    """Two wait: one for 3 s, and one that ended before the maps did. The other starts later."""
    assert reduces((1, 6), (5, 8), (1, 3)) == (3, pytest.approx((2 + 3 + 0) / 3), 3)


def test_reduces_that_did_not_wait_count_in_full():
    assert reduces((4, 6), (5, 8)) == (2, 2.5, 3)


def test_a_phase_without_lengths_gets_those_of_the_only_one_of_its_kind():
    own = ConstantLengths(7.0, 7.0)
    wanted = [
        Phase(name="m", kind=SlotKind.MAP, tasks=9, lengths=own),
        Phase(name="r", kind=SlotKind.REDUCE, tasks=5),
    ]
    one = run(past("a", 4, 2.0, 5.0), past("b", 3, 1.0, 2.0, kind="reduce"))
    two = run(*one.phases, past("c", 3, 8.0, 9.0, kind="reduce"))

    maps, found = with_lengths_from_runs(wanted, [two, one])
    assert (maps.lengths, found.lengths, found.tasks) == (own, ConstantLengths(1.0, 2.0), 5)
    with pytest.raises(InvalidInput, match="it has 2 reduce phases"):
        with_lengths_from_runs(wanted, [two])
    with pytest.raises(InvalidInput, match="it has no reduce phases"):
        with_lengths_from_runs(wanted, [run(past("a", 4, 2.0, 5.0))])


# --- the VMs of a job ---------------------------------------------------------------------------


def test_the_vms_of_a_job_are_the_least_that_meet_its_deadline():
    """With 8 and 18 container-seconds, 2 and 2 containers a VM: (2 + 3)² / 5 s."""
    assert vms_per_job(8.0, 18.0, 5.0, 2.0, 2.0) == pytest.approx(5)
    assert vms_per_job(8.0, 18.0, 5.0, 8.0, 2.0) == pytest.approx((1 + 3) ** 2 / 5)
    held = containers_per_job(8.0, 18.0, 5.0, 2.0, 2.0)

    assert (held.maps, held.reduces) == pytest.approx((4, 6))  # 12 + 8 and 12 + 18, over 5
    assert 8 / held.maps + 18 / held.reduces == pytest.approx(5)


@pytest.mark.parametrize(("maps_per_vm", "reduces_per_vm"), [(2.0, 3.0), (4.0, 1.0), (1.0, 7.0)])
def test_the_containers_of_a_job_fill_its_vms_and_meet_the_deadline(maps_per_vm, reduces_per_vm):
    given = (70.0, 30.0, 9.0, maps_per_vm, reduces_per_vm)
    held = containers_per_job(*given)

    assert held.maps / maps_per_vm + held.reduces / reduces_per_vm == pytest.approx(
        vms_per_job(*given)
    )
    assert 70 / held.maps + 30 / held.reduces == pytest.approx(9)


@pytest.mark.parametrize(
    ("bound", "time_s"),
    [(Bound.LOW, 3 + (10 * 8 + 2 * 5) / 4), (Bound.UP, 3 + (9 * 8 + 1 * 5) / 4 + 12 + 6)],
)
def test_stages_take_all_containers_in_turn(bound, time_s):
    """4 containers, 3 s of the driver; a stage of 10 tasks, and the shuffle of 2 of another."""
    kind = SlotKind.CONTAINER
    stages = [
        Phase(name="scan", kind=kind, tasks=10, lengths=ConstantLengths(8.0, 12.0)),
        Phase(name="sum", kind=kind, tasks=2, fetch=ConstantLengths(5.0, 6.0)),
    ]

    assert stages_law(stages, 3.0, bound).time_s(1, 4, 1) == pytest.approx(time_s)
    ends_s = [stages_law(stages, 3.0, one).time_s(1, 4, 1) for one in (Bound.LOW, Bound.UP)]
    average_s = stages_law(stages, 3.0, Bound.AVERAGE).time_s(1, 4, 1)
    assert average_s == pytest.approx(math.fsum(ends_s) / 2)


def test_a_profile_has_the_lengths_of_its_own_task_counts():
    table = TableLengths(((2, 8.0, 9.0), (4, 4.0, 5.0)))
    shuffle = ConstantLengths(1.0, 2.0)
    profile = ClassProfile(map_tasks=4, reduce_tasks=2, maps=table, reduces=table, shuffle=shuffle)
    found = shared_job(profile)

    assert (found.map_tasks, found.reduce_tasks) == (4, 2)
    assert (found.map, found.reduce) == (LengthSummary(4.0, 5.0), LengthSummary(8.0, 9.0))
    assert found.first_shuffle == found.shuffle == LengthSummary(1.0, 2.0)
    assert shared_job(replace(profile, first_shuffle=table)).first_shuffle.avg_s == 8
    assert shared_job(replace(profile, shuffle=None)).first_shuffle == LengthSummary(0.0, 0.0)


def test_a_run_without_timelines_has_the_same_work():
    spans = ((1, 9), (5, 7))
    waiting = past("reduce", 2, 5.0, 8.0, kind="reduce", spans=spans, after=(0,))
    made = run(past("map", 2, 3.0, 4.0, spans=((0, 2), (0, 4))), waiting)
    slim = as_worked(made)

    assert phases_from_runs([slim]) == phases_from_runs([made])
    assert [phase.timeline for phase in slim.phases] == [(), ()]
    assert as_worked(slim) == slim
