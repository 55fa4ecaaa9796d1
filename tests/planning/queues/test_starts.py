"""Starts of queued jobs: the textbook case, and the simulator as a second method."""

import json
import math
import random

import pytest

import sluice
from sluice.planning.queues.starts import BACKFILLED_MAX, LastInLine, QueueEntry, starts


def simulated(entries, lengths_s, slots, tasks):
    jobs = [
        {
            "id": f"j{at}",
            "gang": True,
            "limit_s": entry.estimate_s,
            "phases": [{"name": "job", "tasks": entry.slots, "avg_s": length_s}],
        }
        for at, (entry, length_s) in enumerate(zip(entries, lengths_s, strict=True))
    ]
    given = {"version": 1, "cluster": {"containers": slots}, "jobs": jobs}
    found = sluice.simulate(sluice.parse_workload(json.dumps(given)), tasks=tasks)
    return [job.started_at_s for job in found.jobs]


def test_a_short_job_is_backfilled_and_a_long_one_is_not():
    """4 slots: 3 run for 10 s, the next needs 4. Behind it, 1 slot for 8 s fits before 10 s."""
    entries = [QueueEntry(*one) for one in ((3, 10), (4, 5), (1, 8), (1, 11))]

    assert starts(entries, [10, 5, 8, 11], 4) == [0, 10, 0, 15]
    assert starts(entries, [10, 5, 8, 11], 4, backfills=False) == [0, 10, 15, 15]


def test_slots_that_the_first_does_not_need_are_free_for_long_jobs():
    entries = [QueueEntry(*one) for one in ((3, 10), (2, 5), (2, 50), (1, 50))]

    assert starts(entries, [10, 5, 50, 50], 4) == [0, 10, 15, 0]


def test_what_never_fits_never_starts_and_holds_nobody_up():
    entries = [QueueEntry(5, 1), QueueEntry(1, 1)]

    assert starts(entries, [1, 1], 4) == [math.inf, 0]


@pytest.mark.parametrize(("estimate_s", "start_s"), [(10, 0), (10.1, 15)])
def test_a_job_is_backfilled_if_it_ends_by_the_reserved_start(estimate_s, start_s):
    entries = [QueueEntry(*one) for one in ((3, 10), (4, 5), (1, estimate_s))]

    assert starts(entries, [10, 5, estimate_s], 4) == [0, 10, start_s]


def test_the_spare_slots_of_the_reserved_start_are_given_once():
    """At 10 s, 4 slots are free and the first job needs 2: two of three long ones may start."""
    entries = [QueueEntry(*one) for one in ((2, 10), (4, 5), (1, 50), (1, 50), (1, 50))]
    wide = [QueueEntry(2, 10), QueueEntry(3, 5), *entries[2:]]

    assert starts(entries, [10, 5, 50, 50, 50], 4) == [0, 10, 15, 15, 15]
    assert starts(wide, [10, 5, 50, 50, 50], 4) == [0, 10, 0, 15, 15]


def test_a_short_job_takes_none_of_the_spare_slots():
    entries = [QueueEntry(*one) for one in ((2, 10), (3, 5), (1, 9), (1, 50))]

    assert starts(entries, [10, 5, 9, 50], 4) == [0, 10, 0, 0]


def test_jobs_that_run_already_started_before_all_others():
    """Two run, though the second holds what the first of the line could have."""
    entries = [QueueEntry(*one) for one in ((1, 10), (3, 6), (2, 5), (1, 1))]

    assert starts(entries, [10, 6, 5, 1], 4, running=2) == [0, 0, 6, 6]


def test_a_job_that_never_fits_is_not_one_of_those_that_run():
    entries = [QueueEntry(*one) for one in ((4, 10), (9, 1), (4, 5))]

    assert starts(entries, [10, 1, 5], 4, running=1) == [0, math.inf, 10]
    assert starts(entries, [10, 1, 5], 4, running=2) == [0, math.inf, 10]


def test_a_job_that_runs_on_is_expected_to_run_twice_as_long():
    """From 10 s on the first is expected at 20 s: a job of 9 s fits before that, of 11 s not."""
    entries = [QueueEntry(*one) for one in ((3, 10), (1, 10), (4, 5), (1, 9), (1, 11))]

    assert starts(entries, [18, 10, 5, 9, 11], 4) == [0, 0, 19, 10, 24]


def test_a_job_without_an_estimate_is_expected_to_end_at_once():
    entries = [QueueEntry(*one) for one in ((4, 0), (4, 5))]

    assert starts(entries, [7, 5], 4) == [0, 7]


@pytest.mark.parametrize(("others", "is_seen"), [(499, True), (500, False)])
def test_at_most_500_jobs_behind_the_first_are_looked_at(others, is_seen):
    """One slot of two is free. All need both, but for the last, which is short."""
    entries = [QueueEntry(1, 10), *[QueueEntry(2, 5)] * (1 + others), QueueEntry(1, 1)]
    found = starts(entries, [entry.estimate_s for entry in entries], 2)

    assert found[1] == 10
    assert (found[-1] == 0) == is_seen


@pytest.mark.parametrize("tasks", ["easy", "fcfs"])
def test_the_simulator_gives_the_same_starts(tasks):
    """Also where jobs run longer than expected, or end at one instant."""
    draw = random.Random(8)
    for case in range(60):
        slots = draw.randint(1, 12)
        count = draw.randint(1, 25)
        entries = [
            QueueEntry(draw.randint(1, slots), float(draw.randint(1, 20))) for _ in range(count)
        ]
        worst = draw.choice((1.0, 3.0))
        lengths_s = [
            max(1, round(entry.estimate_s * draw.uniform(0.1, worst))) for entry in entries
        ]
        ours = starts(entries, lengths_s, slots, backfills=tasks == "easy")
        assert ours == simulated(entries, lengths_s, slots, tasks), case


@pytest.mark.parametrize("backfills", [True, False])
def test_what_waits_for_a_job_that_never_ends_never_starts(backfills):
    """All others start when they do next to a job that ends after all that they could run."""
    draw, far_s, held_up = random.Random(5), 1e9, 0
    for case in range(200):
        slots, count = draw.randint(1, 9), draw.randint(1, 20)
        sizes = [draw.randint(1, slots) for _ in range(count)]
        known_s = [float(draw.randint(1, 20)) for _ in range(count)]
        unknown = draw.randrange(count)

        def started(endless_s, sizes=sizes, known_s=known_s, unknown=unknown, slots=slots):
            lengths_s = [*known_s[:unknown], endless_s, *known_s[unknown + 1 :]]
            entries = [QueueEntry(*one) for one in zip(sizes, lengths_s, strict=True)]
            return starts(entries, lengths_s, slots, backfills=backfills)

        late = [math.inf if one >= far_s else one for one in started(far_s)]
        assert started(math.inf) == late, case
        held_up += math.inf in late

    assert held_up > 50


@pytest.mark.parametrize("backfills", [True, False])
@pytest.mark.parametrize("waiting", [1, 7, 40, BACKFILLED_MAX + 1, 2 * BACKFILLED_MAX])
def test_another_last_one_starts_as_in_a_walk_of_its_own(waiting, backfills):
    draw = random.Random(waiting)
    running = min(3, waiting - 1)
    entries = [QueueEntry(draw.randint(1, 9), draw.choice([10.0, 60.0])) for _ in range(waiting)]
    entries[:running] = [QueueEntry(2, 60.0)] * running
    lengths_s = [draw.uniform(0.2, 1.2) * entry.estimate_s for entry in entries]
    last = LastInLine(entries, lengths_s, 8, running=running, backfills=backfills)

    for entry in (entries[-1], QueueEntry(1, 5.0), QueueEntry(8, 60.0), QueueEntry(9, 1.0)):
        whole = starts(
            [*entries[:-1], entry], [*lengths_s[:-1], 4.0], 8, running=running, backfills=backfills
        )
        assert last.start_s(entry, 4.0) == whole[-1]
        if math.isfinite(end_s := whole[-1] + 4.0):
            assert last.start_s(entry, 4.0, by_s=end_s) == whole[-1]
            assert last.start_s(entry, 4.0, by_s=0.99 * end_s) == math.inf
        if entry.slots <= 8:
            assert last.starts(entry, 4.0) == whole


def test_what_starts_too_late_is_walked_to_no_further_than_its_bound():
    """The bound may be raised later, and the walk goes on from where it was."""
    entries = [QueueEntry(1, 10.0)] * 2000
    last = LastInLine(entries, [10.0] * 2000, 1)

    assert last.start_s(QueueEntry(1, 10.0), 10.0, by_s=100.0) == math.inf
    assert last._line.now_s <= 100.0
    assert last.start_s(QueueEntry(1, 10.0), 10.0) == 19_990.0
