"""Recorded runs on their slots: waits that no slot explains stay, all others are found again."""

import random
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.estimate.slot_time import on_slots
from sluice.model.history import PastPhase, PastTask


def stage(spans, after=()):
    lengths = [end - start for start, end in spans]
    return PastPhase(
        name="stage",
        kind="map",
        tasks=len(spans),
        avg_s=min(sum(lengths) / len(lengths), max(lengths)),
        max_s=max(lengths),
        timeline=tuple(PastTask(started_at_s=a, finished_at_s=b) for a, b in spans),
        after=after,
    )


def spans_of(phase):
    return [(task.started_at_s, task.finished_at_s) for task in phase.timeline]


def scheduled(stages, slots):
    """List scheduling of stages in turn, written down again. stages: lists of lengths."""
    free, ready, found = [0.0] * slots, 0.0, []
    for lengths in stages:
        spans = []
        for length in lengths:
            at = min(range(slots), key=lambda place: free[place])
            start = max(free[at], ready)
            free[at] = start + length
            spans.append((start, free[at]))
        ready = max(end for _, end in spans)
        found.append(spans)
    return found


LENGTHS = st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=9), min_size=1, max_size=4)


@settings(max_examples=40)
@given(LENGTHS, st.integers(1, 5))
def test_a_run_without_other_waits_keeps_its_lengths(stages, slots):
    """So a replay on any other number of slots is as exact as list scheduling is."""
    runs = scheduled(stages, slots)
    phases = [stage(spans, (at - 1,) if at else ()) for at, spans in enumerate(runs)]

    assert [spans_of(phase) for phase in on_slots(phases, slots)] == runs


@settings(max_examples=40)
@given(LENGTHS, st.integers(1, 5), st.randoms(use_true_random=False))
def test_scheduled_again_a_run_takes_the_time_in_which_tasks_ran(stages, slots, draw):
    """Whatever delayed tasks: executors that came late, lost attempts, a driver between stages."""
    now, phases = 0.0, []
    for at, lengths in enumerate(stages):
        now += draw.choice([0, 3])  # the driver
        came = [now + draw.choice([0, 0, 5]) for _ in range(slots)]  # executors
        spans = []
        for length in lengths:
            place = min(range(slots), key=lambda one: came[one])
            start = came[place] + draw.choice([0, 0, 0, 1])
            came[place] = start + length
            spans.append((start, came[place]))
        now = max(end for _, end in spans)
        phases.append(stage(sorted(spans), (at - 1,) if at else ()))

    placed = on_slots(phases, slots)
    lengths = [[end - start for start, end in spans_of(one)] for one in placed]
    again = max(end for spans in scheduled(lengths, slots) for _, end in spans)
    ran = busy([span for one in phases for span in spans_of(one)])
    assert abs(again - ran) < 1e-9


def busy(spans):
    edges = sorted({edge for span in spans for edge in span})
    return sum(
        right - left
        for left, right in pairwise(edges)
        if any(start <= left and right <= end for start, end in spans)
    )


def test_a_late_executor_is_part_of_the_first_task_on_it():
    placed = on_slots([stage([(0, 4), (4, 8), (5, 9)])], 2)

    assert spans_of(placed[0]) == [(0, 4), (0, 8), (4, 9)]


def test_a_task_that_ran_again_for_its_lost_output_keeps_its_length():
    """Its second run starts after the next stage has begun; it did not hold a slot until then."""
    first = stage([(0, 4), (0, 4), (10, 12)])
    placed = on_slots([first, stage([(4, 10), (12, 15)], (0,))], 2)

    assert spans_of(placed[0]) == [(0, 4), (0, 4), (4, 6)]


def test_a_log_without_all_tasks_stays_as_it_is():
    whole = stage([(1, 2), (4, 9)])
    partial = PastPhase(name="b", kind="map", tasks=3, avg_s=1, max_s=1)

    assert on_slots([whole, partial], 2) == [whole, partial]


def test_many_tasks_take_little_time():
    draw = random.Random(1)
    runs = scheduled([[draw.uniform(1, 2) for _ in range(20_000)]], 64)

    (placed,) = on_slots([stage(runs[0])], 64)
    assert max(end for _, end in spans_of(placed)) == max(end for _, end in runs[0])
