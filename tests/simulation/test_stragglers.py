"""Attempts that are slow, and attempts that never end by themselves."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runs import even_nodes, map_reduce, simulate
from tests.simulation.worlds import World, outcomes

from sluice.core.events import FailureKind, TaskFailed, TaskProgress
from sluice.core.transitions import JobState
from sluice.model.job import Job
from sluice.model.lengths import ConstantLengths
from sluice.policies.copies.late import Late
from sluice.policies.orders.fifo import Fifo

HANG = {"p_hang": 1.0, "task_timeout_s": 20.0}


@settings(max_examples=30)
@given(st.floats(1, 5), st.floats(0, 5), st.integers(0, 99))
def test_a_slow_attempt_takes_a_factor_out_of_the_range(low, width, seed):
    span = (low, low + width)
    state = simulate(
        even_nodes(1, 4, 0), [map_reduce("j", 20, 10.0)], seed=seed, p_slow=1.0, slow_factor=span
    )

    for attempt in state.closed:
        took_s = attempt.finished_at_s - attempt.started_at_s
        assert 10 * low - 1e-6 <= took_s <= 10 * (low + width) + 1e-6


@pytest.mark.slow
def test_the_whole_range_is_used():
    state = simulate(
        even_nodes(1, 400, 0), [map_reduce("j", 400, 10.0)], p_slow=1.0, slow_factor=(3.0, 6.0)
    )
    ends_s = [attempt.finished_at_s for attempt in state.closed]

    assert min(ends_s) < 31
    assert max(ends_s) > 59


@pytest.mark.slow
def test_most_attempts_are_not_slow_at_all():
    state = simulate(even_nodes(1, 400, 0), [map_reduce("j", 400, 10.0)], p_slow=0.1)
    fine = sum(attempt.finished_at_s == 10.0 for attempt in state.closed)

    assert 330 < fine < 390


@pytest.mark.interpreted  # it looks at the events
@pytest.mark.parametrize("heartbeat_s", [0.0, 3.0])
def test_what_hangs_is_ended_by_the_time_out_and_at_last_fails_its_job(heartbeat_s):
    world = World(even_nodes(1, 1, 1), [map_reduce("j", 1, 10.0)], heartbeat_s=heartbeat_s, **HANG)
    state = world.run()
    failures = world.heard(TaskFailed)

    assert [20.0] * 4 == [a.finished_at_s - a.started_at_s for a in state.closed]
    assert {(FailureKind.TIMEOUT, "no progress")} == {(f.kind, f.detail) for f in failures}
    assert "map task 0 failed 4 times, last: no progress" == state.jobs["j"].reason


def test_a_task_that_hung_is_tried_again_and_may_end_well():
    """Each attempt has a fate of its own."""
    world = World(
        even_nodes(1, 1, 0), [map_reduce("j", 20, 10.0)], p_hang=0.3, task_timeout_s=25.0, seed=2
    )
    state = world.run()
    lengths_s = {
        outcome: {
            a.finished_at_s - a.started_at_s for a in state.closed if a.state.value == outcome
        }
        for outcome in ("done", "failed")
    }

    assert JobState.DONE is state.jobs["j"].state
    assert {"done": {10.0}, "failed": {25.0}} == lengths_s


@pytest.mark.interpreted
def test_the_time_out_counts_from_the_last_progress():
    """A reduce that fetches is not hanging yet: maps end at 8, its work would begin at 12."""
    maps, reduce = map_reduce("j", 2, 8.0, 1, 3.0).phases
    reduce = replace(reduce, fetch=ConstantLengths(4.0, 4.0))
    world = World(even_nodes(1, 2, 1), [Job(job_id="j", pool="p", phases=(maps, reduce))], **HANG)
    efforts: Any = world.simulation._efforts
    drawn = efforts.mishap_in
    efforts.mishap_in = lambda effort, task, attempt: drawn(effort, task, attempt)._replace(
        hangs=effort.fetch_s > 0
    )
    state = world.run()

    assert ("j/1/0/1", "failed", 8.0 + 4.0 + 20.0) == outcomes(state)[2]


@pytest.mark.parametrize("contention", ["none", "shared"])
def test_an_attempt_may_stop_at_a_share_of_its_work_and_times_out_after_that(contention):
    """Maps of 10 s that stop at 30 %: 3 s of work, and 20 s without progress."""
    state = simulate(
        even_nodes(2, 2, 0), [map_reduce("j", 4, 10.0)], hang_at=(0.3, 0.3),
        contention=contention, **HANG,
    )  # fmt: skip

    assert {23.0} == {round(a.finished_at_s - a.started_at_s, 9) for a in state.closed}


@pytest.mark.interpreted
@pytest.mark.parametrize("contention", ["none", "shared"])
@pytest.mark.parametrize("heartbeat_s", [0.0, 1.0])
def test_an_attempt_that_stops_reports_that_progress_once_and_then_nothing(heartbeat_s, contention):
    tasks = Late(Fifo(by_heartbeat=heartbeat_s > 0))
    world = World(
        even_nodes(2, 2, 0), [map_reduce("j", 2, 10.0)], tasks, p_hang=1.0, hang_at=(0.35, 0.35),
        task_timeout_s=60.0, heartbeat_s=heartbeat_s, contention=contention,
    )  # fmt: skip
    world.run()
    for task in (0, 1):
        fractions = [r.fraction for r in world.heard(TaskProgress) if r.key[2:] == (task, 1)]
        assert len(fractions) > 1
        assert 0.35 == fractions[-1]
        assert sorted(set(fractions)) == fractions


@pytest.mark.parametrize("heartbeat_s", [0.0, 60.0])
def test_without_a_time_out_a_hanging_run_stops_and_says_so(heartbeat_s):
    """With work waiting for the slot that never frees, nodes would ask for it for ever."""
    world = World(
        even_nodes(2, 1, 1), [map_reduce("j", 3, 10.0)], p_hang=1.0, task_timeout_s=None,
        heartbeat_s=heartbeat_s,
    )  # fmt: skip
    state = world.run()

    assert JobState.RUNNING is state.jobs["j"].state
    assert not world.simulation.is_over
    assert 2 == len(state.running)


def test_a_slow_attempt_fails_on_its_slow_way():
    """Slowed ten times, it fails somewhere before 100 s, not before 10 s."""
    state = simulate(
        even_nodes(1, 50, 0), [map_reduce("j", 50, 10.0)], p_slow=1.0, slow_factor=(10.0, 10.0),
        task_failure=1.0,
    )  # fmt: skip
    ends_s = [a.finished_at_s for a in state.closed if a.key.attempt == 1]

    assert max(ends_s) > 50
