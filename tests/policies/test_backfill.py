"""Jobs that start as a whole: first come first served and backfilling, against plain referees."""

import json
import math
import random
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sluice
from sluice.model.errors import InvalidInput
from sluice.policies.backfill.estimates import UNKNOWN_S, Estimates
from sluice.policies.backfill.timetable import Release, Timetable, spread

SLOTS = 10


def workload(jobs, cluster=None):
    rows = [
        {
            "id": name,
            "submitted_at_s": at_s,
            "gang": True,
            "limit_s": limit_s,
            "maps": {"tasks": tasks, "avg_s": run_s},
        }
        for name, at_s, tasks, run_s, limit_s in jobs
    ]
    document = {"version": 1, "cluster": cluster or {"containers": SLOTS}, "jobs": rows}
    return sluice.parse_workload(json.dumps(document))


def starts(result):
    """When each job starts; asserts that its tasks start together."""
    found: dict[str, set[float]] = {}
    for attempt in result.attempts:
        found.setdefault(str(attempt.phase.job_id), set()).add(attempt.started_at_s)
    assert all(len(instants) == 1 for instants in found.values()), found
    return {name: instants.pop() for name, instants in found.items()}


THREE = [("a", 0, 6, 1000, 2000), ("b", 10, 10, 500, 600), ("c", 20, 4, 100, 200)]


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [
        ("fcfs", {"a": 0, "b": 1000, "c": 1500}),
        ("easy", {"a": 0, "b": 1000, "c": 20}),
        ("conservative", {"a": 0, "b": 1000, "c": 20}),
        ("fair", {"a": 0, "b": 1000, "c": 1500}),
        ("order=fair+slots=easy", {"a": 0, "b": 1000, "c": 20}),
    ],
)
def test_a_small_job_passes_a_large_one_only_with_backfilling(tasks, expected):
    assert starts(sluice.simulate(workload(THREE), tasks=tasks)) == expected


def test_a_job_that_would_delay_the_reservation_waits():
    """Job c ends, by its limit, after the reservation of b at 2000 s, and b needs all slots."""
    late = [*THREE[:2], ("c", 20, 4, 100, 5000)]

    assert starts(sluice.simulate(workload(late), tasks="easy"))["c"] == 1500


def test_a_job_passes_for_ever_in_slots_that_the_reservation_leaves():
    """Job b needs 8 of 10 slots at 2000 s, so 2 are over for c, however long it runs."""
    jobs = [THREE[0], ("b", 10, 8, 500, 600), ("c", 20, 2, 9000, 9000)]

    assert starts(sluice.simulate(workload(jobs), tasks="easy")) == {"a": 0, "b": 1000, "c": 20}


def test_easy_delays_the_second_in_line_where_conservative_does_not():
    """Job d is backfilled in front of c under EASY, for only b has a reservation."""
    jobs = [
        ("a", 0, 6, 100, 100),
        ("b", 1, 6, 100, 100),
        ("c", 2, 8, 100, 100),
        ("d", 3, 4, 300, 300),
    ]

    assert starts(sluice.simulate(workload(jobs), tasks="easy"))["c"] == 303
    assert starts(sluice.simulate(workload(jobs), tasks="conservative"))["c"] == 200


def test_a_task_that_overruns_its_estimate_is_expected_to_run_on():
    """Job a says 100 s and runs for 1000 s: b waits, and c is not held back for ever."""
    jobs = [("a", 0, 6, 1000, 100), ("b", 1, 10, 10, 10), ("c", 2, 4, 150, 150)]

    found = starts(sluice.simulate(workload(jobs), tasks="easy"))

    assert found["b"] == 1000
    assert found["c"] == 200  # when a is expected to take until 400 s


def test_so_many_tasks_start_together_and_the_others_one_by_one():
    jobs = [
        {"id": "a", "maps": {"tasks": 7, "avg_s": 100}},
        {"id": "b", "submitted_at_s": 1, "gang": 4, "maps": {"tasks": 6, "avg_s": 10}},
    ]
    document = {"version": 1, "cluster": {"containers": 9}, "jobs": jobs}

    result = sluice.simulate(sluice.parse_workload(json.dumps(document)), tasks="fcfs")

    of_b = [one for one in result.attempts if str(one.phase.job_id) == "b"]
    assert sum(one.tasks for one in of_b if one.started_at_s == 100) == 6


@pytest.mark.parametrize("node", [{"cpu": 100, "memory": 100}, {"containers": 8, "memory": 100}])
def test_gangs_need_room_on_nodes_by_their_demands(node):
    """Each node holds two tasks of 40 % memory, so five of them do not fit on two nodes."""
    cluster = {"nodes": 2, "node": node}

    def of(tasks):
        job = {
            "id": "a",
            "gang": True,
            "maps": {"tasks": tasks, "avg_s": 10},
            "demand": {"map": {"memory": 40}},
        }
        return sluice.parse_workload(json.dumps({"version": 1, "cluster": cluster, "jobs": [job]}))

    result = sluice.simulate(of(4), tasks="easy")
    by_node = [str(one.node.node_id) for one in result.attempts for _ in range(one.tasks)]
    assert sorted(by_node) == ["node-1", "node-1", "node-2", "node-2"]
    with pytest.raises(InvalidInput, match="5 tasks of map start together"):
        sluice.simulate(of(5), tasks="easy")


@pytest.mark.parametrize("tasks", ["dynamicmr", "ras", "vm-pools", "fair+copies=late"])
def test_schedulers_that_cannot_start_whole_jobs_say_so(tasks):
    with pytest.raises(InvalidInput, match="starts single tasks"):
        sluice.simulate(workload(THREE), tasks=tasks)


# --- against referees -----------------------------------------------------------------------------

ONE_JOB = st.tuples(
    st.integers(0, 60), st.integers(1, SLOTS), st.integers(1, 30), st.integers(0, 30)
)
MANY = st.lists(ONE_JOB, min_size=1, max_size=14)


def named(rows):
    """Jobs in the order of their arrival, with limits that are never too short."""
    ordered = sorted(rows, key=lambda row: row[0])
    return [
        (f"j{index:02}", at_s, tasks, run_s, run_s + more_s)
        for index, (at_s, tasks, run_s, more_s) in enumerate(ordered)
    ]


def test_a_reservation_that_was_earlier_is_renewed_first():
    """Job c was reserved at 50 s and b at 100 s. As a ends early, c can start at once, although
    b is ahead of it in the queue and could then start at 50 s.
    """
    jobs = [
        ("a", 0, 5, 20, 100),
        ("x", 0, 4, 50, 50),
        ("b", 1, 10, 10, 10),
        ("c", 2, 4, 40, 40),
    ]  # fmt: skip

    found = starts(sluice.simulate(workload(jobs), tasks="conservative"))

    assert found == {"a": 0, "x": 0, "c": 20, "b": 60}


def refereed(jobs, reservations):
    """Start instants by a second method: second by second, over arrays of free slots.

    reservations: 0 for first come first served, 1 for EASY, more for conservative, which places
    those that have one first, by its instant.
    """
    started: dict[str, int] = {}
    reserved: dict[str, int] = {}
    now = 0
    while len(started) < len(jobs):
        running = [job for job in jobs if job[0] in started and now < started[job[0]] + job[3]]
        waiting = [job for job in jobs if job[1] <= now and job[0] not in started]
        waiting.sort(key=lambda job: reserved.get(job[0], math.inf))
        horizon = 1 + now + sum(job[4] + job[3] for job in jobs)
        free = [SLOTS] * (horizon - now)
        for name, _, tasks, _, limit_s in running:
            for second in range(now, started[name] + limit_s):
                free[second - now] -= tasks
        held = 0
        for name, _, tasks, _, limit_s in waiting:
            if all(tasks <= free[second] for second in range(limit_s)):
                started[name] = now
                for second in range(limit_s):
                    free[second] -= tasks
            elif held < reservations:
                held += 1
                at = next(
                    first
                    for first in range(len(free))
                    if all(tasks <= slots for slots in free[first : first + limit_s])
                )
                for second in range(at, at + limit_s):
                    free[second] -= tasks
                reserved[name] = now + at
            elif not reservations:
                break
        now += 1
    return started


@settings(max_examples=150, deadline=None)
@given(MANY)
def test_first_come_first_served_is_what_a_second_method_gives(rows):
    jobs = named(rows)

    assert starts(sluice.simulate(workload(jobs), tasks="fcfs")) == refereed(jobs, 0)


@settings(max_examples=150, deadline=None)
@given(MANY)
def test_easy_is_what_a_second_method_gives(rows):
    jobs = named(rows)

    assert starts(sluice.simulate(workload(jobs), tasks="easy")) == refereed(jobs, 1)


def test_a_job_has_its_reservation_from_its_submission_on_also_in_a_full_cluster():
    """At 5 s no slot is free, and d gets those of b from 6 s on. As a ends then, too, long before
    its limit, c could start instead, ahead of d in the queue.
    """
    jobs = [("a", 1, 5, 5, 12), ("b", 2, 5, 4, 4), ("c", 3, 9, 1, 1), ("d", 5, 4, 1, 1)]

    found = starts(sluice.simulate(workload(jobs), tasks="conservative"))
    assert found == {"a": 1, "b": 2, "d": 6, "c": 7}


@settings(max_examples=150, deadline=None)
@given(MANY)
def test_conservative_is_what_a_second_method_gives(rows):
    jobs = named(rows)

    found = starts(sluice.simulate(workload(jobs), tasks="conservative"))
    assert found == refereed(jobs, len(jobs) + 1)


@settings(max_examples=100, deadline=None)
@given(MANY)
def test_no_later_arrival_delays_a_job_under_conservative_backfilling(rows):
    """With true limits, each job starts as early as if those behind it had never come."""
    jobs = [(*job[:4], job[3]) for job in named(rows)]

    together = starts(sluice.simulate(workload(jobs), tasks="conservative"))

    for count in range(1, len(jobs) + 1):
        alone = starts(sluice.simulate(workload(jobs[:count]), tasks="conservative"))
        name = jobs[count - 1][0]
        assert together[name] <= alone[name] or math.isclose(together[name], alone[name])


@settings(max_examples=100, deadline=None)
@given(
    MANY,
    st.sampled_from(["fifo", "fair", "deadline", "fewest", "ltrf"]),
    st.sampled_from(["rigid", "easy", "conservative"]),
    st.sampled_from(["limits", "predictions", "exact"]),
)
def test_all_work_ends_within_the_slots_under_every_order_and_estimate(
    rows, order, slots, estimates
):
    jobs = [(*job[:4], max(1, job[4] // 2)) for job in named(rows)]  # some limits are too short

    result = sluice.simulate(
        workload(jobs),
        tasks=f"order={order}+slots={slots}",
        settings={"backfill.estimates": estimates},
    )

    found = starts(result)
    assert len(found) == len(jobs)
    for instant in found.values():
        busy = sum(job[2] for job in jobs if found[job[0]] <= instant < found[job[0]] + job[3])
        assert busy <= SLOTS


def test_a_task_that_needs_nothing_finds_no_place_by_its_need():
    """No amount says how many of them fit, so that the table has none, not endlessly many."""
    assert spread([[1.0, 2.0]], (0.0, 0.0), 3) == []


@pytest.mark.parametrize("tasks", ["fcfs", "easy", "conservative"])
def test_a_stage_holds_no_room_before_its_inputs_are_there(tasks):
    """All slots could be held by tasks that wait for tasks without a slot."""
    stages = [{"name": "a", "tasks": 3, "avg_s": 10}, {"name": "b", "tasks": 1, "avg_s": 5}]
    document = {
        "version": 1,
        "cluster": {"containers": 2},
        "jobs": [{"id": "j", "gang": 1, "phases": stages}],
    }

    result = sluice.simulate(
        sluice.parse_workload(json.dumps(document)), tasks=tasks, settings={"slowstart": 0.1}
    )

    (last,) = (one for one in result.attempts if one.phase.index == 1)
    assert (last.started_at_s, result.makespan_s) == (20.0, 25.0)


def test_a_task_that_is_due_is_not_expected_at_this_very_instant():
    """The length is more than the age of the task, and its start with the length rounds to now."""
    started_at_s, run_s, now_s = 72.45201391407585, 11.6, 84.05201391407584
    assert run_s > now_s - started_at_s
    assert started_at_s + run_s == now_s
    job = SimpleNamespace(job=SimpleNamespace(limit_s=None))
    lengths = SimpleNamespace(max_s=lambda _: run_s)
    phase = SimpleNamespace(phase=SimpleNamespace(lengths=lengths, fetch=None, tasks=1), job=job)
    attempt = SimpleNamespace(phase=phase, started_at_s=started_at_s)

    assert Estimates("exact").end_s(attempt, now_s) > now_s


class Made(SimpleNamespace):
    """Hashed by identity, as phases are."""

    __hash__ = object.__hash__  # type: ignore[assignment]  # the base has none


def made_phase(limit_s=None, known_s=None):
    """A phase of one user, with what its file says of its length."""
    lengths = None if known_s is None else SimpleNamespace(max_s=lambda _: known_s)
    spec = SimpleNamespace(lengths=lengths, fetch=None, tasks=1)
    job = SimpleNamespace(limit_s=limit_s, customer="ann", pool="p")
    return Made(name="map", phase=spec, job=SimpleNamespace(job=job, phases=()), is_done=True)


def with_past(kind, *runs_s):
    """Estimates after runs of the same user and phase."""
    found = Estimates(kind)
    for run_s in runs_s:
        attempt = Made(phase=made_phase(), started_at_s=5.0, finished_at_s=5.0 + run_s)
        found.began(attempt)
        found.ended(attempt)
    return found


@pytest.mark.parametrize(
    ("limit_s", "known_s", "predicted_s", "limited_s", "exact_s"),
    [
        (None, None, 15.0, UNKNOWN_S, UNKNOWN_S),
        (12.0, None, 12.0, 12.0, UNKNOWN_S),
        (100.0, None, 15.0, 100.0, UNKNOWN_S),
        (None, 30.0, 15.0, 30.0, 30.0),
        (None, 9.0, 9.0, 9.0, 9.0),
        (12.0, 9.0, 12.0, 12.0, 9.0),  # the limit comes before the length of the file
    ],
)
def test_the_last_two_runs_are_predicted_again_up_to_the_limit(
    limit_s, known_s, predicted_s, limited_s, exact_s
):
    runs_s, phase = (1000.0, 10.0, 20.0), made_phase(limit_s, known_s)

    assert predicted_s == with_past("predictions", *runs_s).run_s(phase)
    assert limited_s == with_past("predictions").run_s(phase), "without a past: the limit"
    assert limited_s == with_past("limits", *runs_s).run_s(phase)
    assert exact_s == with_past("exact", *runs_s).run_s(phase)


@pytest.mark.parametrize(("age_s", "expected_s"), [(9, 10), (10, 20), (19, 20), (20, 40), (25, 40)])
def test_what_runs_longer_than_expected_is_expected_to_take_twice_as_long(age_s, expected_s):
    attempt = SimpleNamespace(phase=made_phase(limit_s=10.0), started_at_s=100.0)

    assert 100.0 + expected_s == Estimates("limits").end_s(attempt, 100.0 + age_s)


def test_whole_jobs_run_on_a_cluster_whose_nodes_fail_between_heartbeats():
    """A report of one node starts tasks on all, also on one that is down and not missed yet."""
    node = {"containers": 2}
    jobs = [(f"j{number}", 3 * number, 6, 20, 100) for number in range(12)]
    document = workload(jobs, {"nodes": 4, "node": node})

    for seed in range(6):
        result = sluice.simulate(
            document, tasks="order=fifo+slots=rigid", seed=seed,
            settings={"heartbeat_s": 3, "node_mtbf_s": 90, "node_repair_s": 8, "node_timeout_s": 6,
                      "task_failure": 0.2},
        )  # fmt: skip
        assert all(job.finished_at_s is not None for job in result.jobs)
        assert any(attempt.state.value == "lost" for attempt in result.attempts)


def test_one_place_has_room_when_one_of_two_places_has_that_is_alone():
    """The way for one node against the way for several."""
    draw = random.Random(5)
    for _ in range(200):
        free = float(draw.randint(0, 5))
        back = [
            Release(float(draw.randint(1, 9)), 0, [float(draw.randint(1, 3)), 2.0])
            for _ in range(draw.randint(0, 5))
        ]
        tables = [
            Timetable(0.0, nodes, back) for nodes in ([[free, 6.0]], [[free, 6.0], [0.0] * 2])
        ]
        for _ in range(6):
            tasks, run_s = draw.randint(1, 6), float(draw.choice((0, 1, 3, 20)))
            now = [table.places_now([1.0, 2.0], 1, tasks, run_s) for table in tables]
            first = [table.earliest([1.0, 2.0], tasks, run_s) for table in tables]
            assert now[0] == now[1]
            assert first[0] == first[1]
            if first[0] is not None:
                for table in tables:
                    table.hold(first[0][0], run_s, first[0][1], [1.0, 2.0])


@pytest.mark.parametrize("tasks", ["fcfs", "easy", "conservative"])
def test_no_more_tasks_run_than_the_cap_of_their_pool_allows(tasks):
    document = {
        "version": 1,
        "cluster": {"containers": SLOTS},
        "pools": [{"id": "small", "containers_max": 2}],
        "jobs": [
            {"id": "j", "pool": "small", "phases": [{"name": "all", "tasks": 5, "avg_s": 10}]}
        ],
    }
    result = sluice.simulate(sluice.parse_workload(json.dumps(document)), tasks=tasks)

    started = sorted(at_s for one in result.attempts for at_s in [one.started_at_s] * one.tasks)
    assert [0, 0, 10, 10, 20] == started
