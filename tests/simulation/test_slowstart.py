"""Reduces that are placed before the maps are done hold their slot and wait.

Their trace shows when that wait was over: `shuffled_at_s`.
"""

import math

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.runs import completions_s, even_nodes, map_reduce, simulate, totals
from tests.simulation.worlds import World, chain, spans
from tests.strategies import job_lists

from sluice.model.slot_kind import SlotKind

MAP, REDUCE = SlotKind.MAP, SlotKind.REDUCE


def times(state, phase):
    """(started, shuffled, finished) of each attempt of a phase."""
    return [
        (a.started_at_s, a.shuffled_at_s, a.finished_at_s)
        for a in state.closed
        if a.key.phase == phase
    ]


@pytest.mark.parametrize(
    ("slowstart", "starts_at_s"), [(1.0, 12.0), (0.7, 12.0), (0.6, 8.0), (0.05, 4.0), (0.0, 0.0)]
)
def test_reduces_start_when_enough_maps_are_done_and_work_when_all_are(slowstart, starts_at_s):
    """Six maps of 4 s, two at a time: 2 done at 4, 4 at 8, 6 at 12."""
    state = simulate(totals(2, 1), [map_reduce("j", 6, 4.0, 1, 5.0)], slowstart=slowstart)

    assert [(starts_at_s, 12.0, 17.0)] == times(state, 1)


def test_a_share_of_seven_percent_of_a_hundred_is_seven_maps():
    """0.07 * 100 is a hair above 7 in floating point; eight maps would be one too many."""
    state = simulate(totals(1, 1), [map_reduce("j", 100, 1.0, 1, 5.0)], slowstart=0.07)

    assert [(7.0, 100.0, 105.0)] == times(state, 1)


@pytest.mark.parametrize(("fetch_s", "works_at_s"), [(3.0, 12.0), (10.0, 14.0)])
def test_fetching_goes_on_while_maps_run(fetch_s, works_at_s):
    """Started at 4, the fetch is over at 7 or at 14; the last map ends at 12."""
    job = chain("j", (MAP, 6, 4.0), (REDUCE, 1, 5.0, fetch_s))
    state = simulate(totals(2, 1), [job], slowstart=0.3)

    assert [(4.0, works_at_s, works_at_s + 5.0)] == times(state, 1)


def test_a_map_has_no_shuffle_to_show_of():
    state = simulate(totals(2, 1), [map_reduce("j", 2, 4.0, 1, 5.0)])

    assert all(math.isnan(shuffled_at_s) for _, shuffled_at_s, _ in times(state, 0))


def test_an_early_reduce_keeps_others_from_its_slot():
    """The price of slow start: b is ready at 1, and the one slot waits for a's last map."""
    jobs = [map_reduce("a", 5, (1.0, 1.0, 1.0, 1.0, 20.0), 1, 2.0), map_reduce("b", 1, 1.0, 1, 5.0)]
    patient, early = (simulate(totals(6, 1), jobs, slowstart=share) for share in (1.0, 0.8))

    assert [22.0, 6.0] == completions_s(patient)
    assert [22.0, 27.0] == completions_s(early)


def test_a_later_phase_waits_for_the_one_before_it_not_for_the_first():
    """Three phases: the second's reduces fetch from the maps, the third's from them."""
    job = chain("j", (MAP, 2, 4.0), (REDUCE, 2, 3.0), (REDUCE, 1, 2.0))
    state = simulate(totals(2, 3), [job], slowstart=0.0)

    assert [(0.0, 4.0, 7.0)] == sorted(set(times(state, 1)))
    assert [(0.0, 7.0, 9.0)] == times(state, 2)


@pytest.mark.parametrize("heartbeat_s", [1.0, 4.0])
def test_by_heartbeat_the_last_map_counts_when_it_is_shown(heartbeat_s):
    """One map from 0 to 4.5: reduces cannot know of it before the node has spoken."""
    job = map_reduce("j", 1, 4.5, 1, 3.0)
    state = simulate(even_nodes(1, 1, 1), [job], slowstart=0.0, heartbeat_s=heartbeat_s)
    heard_at_s = {1.0: 5.0, 4.0: 8.0}[heartbeat_s]

    assert [(0.0, heard_at_s, heard_at_s + 3.0)] == times(state, 1)


def test_counted_reduces_wait_as_they_would_one_by_one():
    """Four alike reduces parked as one launch."""
    counted = simulate(totals(2, 4), [map_reduce("j", 6, 4.0, 4, 5.0)], slowstart=0.3)
    listed = map_reduce("j", 6, (4.0,) * 6, 4, (5.0,) * 4)

    assert spans(simulate(totals(2, 4), [listed], slowstart=0.3)) == spans(counted)


@settings(max_examples=60, deadline=None)
@given(job_lists(jobs_max=4), st.sampled_from([0.0, 0.05, 0.5, 0.8, 1.0]), st.integers(1, 3))
def test_no_reduce_works_before_the_maps_it_reads_are_done(jobs, slowstart, slots):
    state = World(even_nodes(2, slots, slots), jobs, slowstart=slowstart).run()
    waited = 0
    for attempt in state.closed:
        before = [attempt.phase.job.phases[index] for index in attempt.phase.phase.after]
        ends_s = [a.finished_at_s for a in state.closed if a.phase in before]
        if before:
            waited += attempt.started_at_s < attempt.shuffled_at_s
            assert attempt.shuffled_at_s == max(attempt.started_at_s, *ends_s)
            enough = math.ceil(slowstart * before[0].tasks - 1e-9)
            done = sum(
                a.launch.tasks
                for a in state.closed
                if a.phase is before[0] and a.finished_at_s <= attempt.started_at_s
            )
            assert done >= enough
    event(f"reduces that waited: {waited > 0}")
    assert all(job.state.value == "done" for job in state.jobs.values())
