"""Starts of queued jobs: the textbook case, and the simulator as a second method."""

import json
import math
import random

import pytest

import sluice
from sluice.planning.queues.starts import QueueEntry, starts


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
