"""`sluice reproduce backfill`: published results of first come first served and EASY."""

import heapq
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.terminal import sluice as command

import sluice
from sluice.api.simulate import Scheduling
from sluice.model.errors import InvalidInput
from sluice.reproductions.backfill import evaluation
from sluice.reproductions.backfill.greedy import greedy_starts
from sluice.reproductions.backfill.logs import RigidJob, kth_sp2, widest_jobs
from sluice.reproductions.backfill.schedules import measures, simulated_starts, starts_by_event

EASY = Scheduling(tasks="easy")
SLOTS = 10


def refereed(jobs, processors):
    """EASY that decides after each event, by a second method: instants and counts only."""
    agenda = [(job.submitted_at_s, 0, place, job) for place, job in enumerate(jobs)]
    heapq.heapify(agenda)
    added, waiting = len(jobs), []
    running: dict[int, RigidJob] = {}
    starts: dict[int, int] = {}
    while agenda:
        now, is_end, _, job = heapq.heappop(agenda)
        if is_end:
            running.pop(job.job, None)
        else:
            waiting.append(job)
        # A job whose limit is over has ended, though its end may come later in this instant.
        held = sorted((starts[one.job] + one.limit_s, one.processors) for one in running.values())
        held = [one for one in held if one[0] > now]
        free = processors - sum(count for _, count in held)
        begun, left, reserved_at, spare = [], [], None, 0
        for one in waiting:
            fits = one.processors <= free
            if fits and reserved_at is not None and now + one.limit_s > reserved_at:
                fits = one.processors <= spare
                spare -= one.processors if fits else 0
            if fits:
                free -= one.processors
                held.append((now + one.limit_s, one.processors))
                begun.append(one)
                continue
            left.append(one)
            if reserved_at is None:
                ends = sorted({end for end, _ in held})
                room = {t: free + sum(n for end, n in held if end <= t) for t in ends}
                reserved_at = next(t for t in ends if room[t] >= one.processors)
                spare = room[reserved_at] - one.processors
        waiting = left
        for one in begun:
            starts[one.job], running[one.job] = now, one
            heapq.heappush(agenda, (now + one.run_s, 1, added, one))
            added += 1
    return starts


JOBS = st.lists(
    st.tuples(
        st.integers(0, 6), st.integers(1, 6), st.integers(1, SLOTS), st.sampled_from([0, 0, 1, 5])
    ),
    min_size=2,
    max_size=14,
)


def named(rows):
    """Jobs by number, each submitted some seconds after the last."""
    at_s, jobs = 0, []
    for number, (gap_s, run_s, processors, more_s) in enumerate(rows, start=1):
        at_s += gap_s // 2
        jobs.append(RigidJob(number, at_s, run_s, processors, run_s + more_s))
    return jobs


@settings(max_examples=200, deadline=None)
@given(JOBS)
def test_a_decision_after_each_event_is_what_a_second_method_gives(rows):
    jobs = named(rows)

    assert starts_by_event(jobs, SLOTS, EASY) == refereed(jobs, SLOTS)


def test_the_first_of_two_ends_makes_room_for_a_job_that_the_second_would_not():
    """At 10 s both a and b end, before their limits; c needs the processors of both."""
    jobs = [
        RigidJob(1, 0, 10, 5, 90),
        RigidJob(2, 0, 10, 5, 100),
        RigidJob(3, 1, 10, 8, 10),
        RigidJob(4, 2, 20, 4, 20),
    ]

    assert simulated_starts(jobs, SLOTS, EASY) == {1: 0, 2: 0, 3: 10, 4: 20}
    assert starts_by_event(jobs, SLOTS, EASY) == {1: 0, 2: 0, 3: 30, 4: 10}


def test_an_end_at_its_limit_is_an_event_before_an_end_that_comes_early():
    """At 7 s job 1 ends at its limit, then job 3 early: job 7 starts before 3's processor is free,
    and takes those of job 5.
    """
    rows = [(4, 5, 9, 0), (1, 6, 4, 0), (1, 5, 1, 5), (1, 4, 7, 1), (5, 1, 6, 0), (1, 2, 7, 5)]
    jobs = named([*rows, (1, 5, 2, 0)])

    assert starts_by_event(jobs, SLOTS, EASY) == {1: 2, 3: 2, 2: 7, 7: 7, 5: 12, 4: 13, 6: 17}


def test_the_log_of_kth_has_the_jobs_that_were_simulated():
    jobs = kth_sp2()

    assert len(jobs) == 28_481
    assert all(0 < one.run_s <= one.limit_s and 0 < one.processors <= 100 for one in jobs)
    assert jobs[0] == RigidJob(1, 0, 97_225, 56, 210_000)


def test_the_start_of_the_log_of_kth_is_what_a_second_method_gives():
    jobs = kth_sp2()[:600]

    assert starts_by_event(jobs, 100, EASY) == refereed(jobs, 100)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.no_invariants
@pytest.mark.parametrize(
    ("estimates", "starts_of"), [("limits", starts_by_event), ("exact", simulated_starts)]
)
def test_easy_on_the_log_of_kth_is_the_published_one_to_the_last_digit(estimates, starts_of):
    jobs = kth_sp2()
    how = Scheduling(tasks="easy", settings=(f"backfill.estimates={estimates}",))

    found = measures(jobs, starts_of(jobs, 100, how))

    published = evaluation.KTH_PUBLISHED[estimates]
    assert list(found.values()) == pytest.approx(published, rel=1e-13)


@pytest.mark.parametrize("name", ["kth-limits", "kth-exact"])
def test_each_figure_is_shown_next_to_the_published_one(name, monkeypatch):
    monkeypatch.setattr(evaluation, "kth_sp2", lambda: kth_sp2()[:200])

    (found,) = sluice.reproduce("backfill", experiments=[name]).experiments

    assert len(found.rows) == 9
    assert {row["agrees"] for row in found.rows} == {"no"}, "200 jobs are not the whole log"
    assert found.why.startswith("0 of 9")


# --- Table V -----------------------------------------------------------------------------------


def test_the_published_rule_leaves_processors_idle_that_easy_uses():
    """Job 2 needs 8 of 10 processors at 100 s: EASY lets a long job run on the other two."""
    jobs = [RigidJob(1, 0, 100, 6, 100), RigidJob(2, 1, 10, 8, 10), RigidJob(3, 2, 300, 2, 300)]

    assert simulated_starts(jobs, SLOTS, EASY)[3] == 2
    assert greedy_starts(jobs, SLOTS) == {1: 0, 2: 100, 3: 100}


def test_the_published_rule_lets_no_job_end_at_the_reservation():
    jobs = [RigidJob(1, 0, 100, 6, 100), RigidJob(2, 1, 10, 10, 10), RigidJob(3, 2, 98, 2, 98)]

    assert simulated_starts(jobs, SLOTS, EASY)[3] == 2
    assert greedy_starts(jobs, SLOTS) == {1: 0, 2: 100, 3: 110}
    shorter = [*jobs[:2], RigidJob(3, 2, 97, 2, 97)]
    assert greedy_starts(shorter, SLOTS) == {1: 0, 2: 100, 3: 2}


def written(path, jobs):
    lines = [
        f"{one.job} {one.submitted_at_s} -1 {one.run_s} {one.processors} -1 -1 -1 {one.limit_s}"
        " -1 1 1 1 1 1 1 -1 -1"
        for one in jobs
    ]
    path.write_text("; MaxProcs: 10\n" + "\n".join(lines) + "\n", encoding="ascii")
    return path


def first_come(jobs):
    """Mean bounded slowdown without backfilling: each job starts once it has room, in turn."""
    ends: list[tuple[int, int]] = []
    now, free, total = 0, SLOTS, 0.0
    for one in jobs:
        now = max(now, one.submitted_at_s)
        while free < one.processors or (ends and ends[0][0] <= now):
            end_s, count = heapq.heappop(ends)
            now, free = max(now, end_s), free + count
        heapq.heappush(ends, (now + one.run_s, one.processors))
        free -= one.processors
        total += max(1.0, (now - one.submitted_at_s + one.run_s) / max(one.run_s, 10))
    return total / len(jobs)


def test_table_5_is_made_from_the_log_that_the_user_gives(tmp_path, monkeypatch):
    draw = random.Random(7)
    rows = [(draw.randint(0, 30), draw.randint(1, 60), draw.randint(1, 10), 9) for _ in range(80)]
    jobs = named(rows)
    expected = (first_come(jobs[:40]) + first_come(jobs[30:70])) / 2
    log = evaluation._PublishedLog(
        "drawn", SLOTS, sum(one.run_s for one in jobs), round(expected, 2), 0.0
    )
    monkeypatch.setattr(evaluation, "_LOGS", (log,))
    monkeypatch.setattr(evaluation, "_SEQUENCES", (0, 30))
    monkeypatch.setattr(evaluation, "_SEQUENCE_JOBS", 40)

    path = written(tmp_path / "drawn.swf", jobs)
    (found,) = sluice.reproduce("backfill", experiments=["table-5"], log=path).experiments

    without, backfilled = found.rows
    assert without["agrees"] == "yes"
    assert without["ours"] == f"{expected:.2f}"
    assert expected > float(backfilled["ours"]) > 1
    assert backfilled["agrees"] == "no"


def test_jobs_without_a_run_time_are_read_as_the_table_does(tmp_path):
    path = tmp_path / "log.swf"
    lines = ["2 5 -1 0 4", "3 6 -1 -1 -1", "1 0 -1 7 2"]
    rest = ["-1 -1 8 20", "-1 -1 3 -1", "-1 -1 -1 -1"]
    path.write_text("\n".join(f"{a} {b}" for a, b in zip(lines, rest, strict=True)), "ascii")

    assert widest_jobs(path) == (RigidJob(1, 0, 7, 2, 7), RigidJob(3, 6, 10, 3, -1))


def test_a_log_that_is_missing_wrong_or_not_read_is_refused(tmp_path):
    other = written(tmp_path / "other.swf", [RigidJob(1, 0, 5, 1, 5)])
    broken = tmp_path / "broken.swf"
    broken.write_text("1 2 3\n", encoding="ascii")

    for name, options, said in (
        ("backfill", {"experiments": ["table-5"]}, "a log that Sluice does not ship"),
        ("backfill", {"experiments": ["table-5"], "log": other}, "not a log of the table"),
        ("backfill", {"experiments": ["table-5"], "log": broken}, "line 1: not a job"),
        ("ltyarn", {"experiments": ["table-1.1"], "log": other}, "ltyarn reads no log"),
    ):
        with pytest.raises(InvalidInput, match=said):
            sluice.reproduce(name, **options)


def test_the_command_says_that_it_needs_a_log():
    answer = command("reproduce", "backfill", "--experiment", "table-5")

    assert answer.code == 2
    assert "--log FILE" in answer.err
