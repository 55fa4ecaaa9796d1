"""LATE and the kill rule: who is copied where, over every line. dynamicmr spec, section 5.4.

The tests were seen to fail with: copies that do not count; a cap of one more; a percentile without
the finished ones; attempts judged in their youth; the node's own score left out; the shortest time
left; copies before waiting tasks; a copy of a reduce that waits for maps; the mean over killed
attempts too; a second kill of a task; a reduce's wait for maps counted.
"""

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.policies.lending import Trackers
from tests.runs import even_nodes, map_reduce, scheduler_of, simulate

from sluice.bootstrap.compositions import composition_of
from sluice.bootstrap.scheduler import policy as made_policy
from sluice.bootstrap.settings import resolved_settings
from sluice.core.commands import Kill, Launch
from sluice.core.events import (
    FailureKind,
    JobSubmitted,
    NodeJoined,
    TaskFailed,
    TaskFinished,
    TaskProgress,
    Tick,
)
from sluice.core.reasons import ReasonCode
from sluice.core.transitions import JobState
from sluice.model.cluster import Locality, Node
from sluice.model.job import Demand, Job, Phase
from sluice.model.lengths import ConstantLengths
from sluice.model.resources import Resources
from sluice.model.slot_kind import SlotKind
from sluice.policies.composing import Needs, composed
from sluice.policies.copies.late import Late
from sluice.policies.copies.limits import CopyLimits
from sluice.policies.copies.node_scores import percentile
from sluice.policies.copies.progress_rate import joint_percentile
from sluice.policies.dynamicmr.pool_independent import PoolIndependent
from sluice.policies.settings import SpeculationSettings
from sluice.simulation.progress import ProgressReports

LATE = {"speculation": "late", "min_age_s": 60.0, "slow_node": 0.0}


def policy(name, *settings):
    return made_policy("tasks", name, resolved_settings({}, ["heartbeat_s=3", *settings]))


def with_straggler(*nodes, tasks, slow=0, at_s=100.0, **settings):
    """Maps that all began at 0; those not slow show 0.9 at `at_s`, the slow one 0.1.

    nodes: (map slots, reduce slots).
    """
    trackers = Trackers(*nodes, **{**LATE, **settings})
    trackers.submit(map_reduce("j", tasks))
    launches = [
        launch for number in range(len(nodes)) for launch in trackers.beat(f"n{number + 1}")
    ]
    assert tasks == len(launches)
    for launch in launches:
        trackers.report(launch, at_s, 0.1 if launch.key.task == slow else 0.9)
    return trackers, launches


def end(trackers, launch, at_s):
    trackers.finish(launch, at_s)
    return launch.node_id


# --- who is slow ----------------------------------------------------------------------------------


@given(st.lists(st.floats(0, 100), min_size=1), st.floats(0, 100), st.integers(0, 5))
def test_a_percentile_is_that_of_numpy(values, percent, zeros):
    ordered = sorted(values)

    expected = np.percentile([0.0] * zeros + ordered, percent)
    assert expected == pytest.approx(percentile(ordered, percent, zeros), abs=1e-9)


def test_the_one_with_the_longest_time_left_is_copied():
    """Two slow ones: .2 after 100 s has 400 s left, .1 has 900 s."""
    trackers, launches = with_straggler((4, 0), (6, 0), tasks=10)
    slower = next(launch for launch in launches if launch.key.task == 1)
    trackers.report(slower, 100.0, 0.2)
    node_id = end(trackers, launches[-1], 100.0)
    (copy,) = trackers.beat(node_id, 100.0)

    assert (0, True) == (copy.key.task, copy.is_copy)
    assert ReasonCode.SPECULATED is copy.reason.code
    assert "900 s more" in copy.reason.text()


def test_of_two_without_progress_the_one_that_began_first_is_copied():
    """Task 0 was tried again at 20 s, so it began after task 1."""
    trackers = Trackers((4, 0), (6, 0), **LATE)
    trackers.submit(map_reduce("j", 10))
    launches = [*trackers.beat("n1"), *trackers.beat("n2")]
    first, second, others = launches[0], launches[1], launches[2:]
    trackers.scheduler.handle(TaskFailed(20.0, first.key, 20.0, FailureKind.EXIT))
    (again,) = trackers.beat("n1", 20.0)
    assert [0, 1] == [again.key.task, second.key.task]
    for launch in others[:-1]:
        trackers.report(launch, 100.0, 0.9)
    node_id = end(trackers, others[-1], 100.0)

    assert [1] == [copy.key.task for copy in trackers.beat(node_id, 100.0)]


def test_of_two_alike_the_first_task_is_copied():
    trackers, launches = with_straggler((4, 0), (6, 0), tasks=10, at_s=0.0)
    for launch in launches[2:]:
        trackers.report(launch, 100.0, 0.9)
    for launch in launches[:2]:
        trackers.report(launch, 100.0, 0.1)
    node_id = end(trackers, launches[-1], 100.0)

    assert [0] == [copy.key.task for copy in trackers.beat(node_id, 100.0)]


def test_nobody_is_judged_in_its_youth():
    trackers, launches = with_straggler((4, 0), (6, 0), tasks=10, at_s=50.0)
    node_id = end(trackers, launches[-1], 50.0)

    assert [] == trackers.beat(node_id, 59.0)
    assert [True] == [launch.is_copy for launch in trackers.beat(node_id, 60.0)]


def test_a_lone_last_straggler_is_slow_beside_those_that_have_finished():
    """Erratum E16: among running ones alone it would be its own percentile."""
    trackers, launches = with_straggler((4, 0), (6, 0), tasks=10)
    for launch in launches:
        if launch.key.task != 0:
            trackers.finish(launch, 110.0)

    assert [0] == [copy.key.task for copy in trackers.beat("n2", 111.0)]


def test_equal_rates_are_not_below_each_other():
    """Equal rates that differ by rounding must not look like a straggler."""
    trackers = Trackers((4, 0), (6, 0), **LATE)
    trackers.submit(map_reduce("j", 10))
    launches = [*trackers.beat("n1"), *trackers.beat("n2")]
    for launch in launches[:-1]:
        at_s = 129.0 + 0.1 * launch.key.task
        trackers.report(launch, at_s, at_s / 130.0)
    trackers.finish(launches[-1], 130.0)

    assert [] == trackers.beat("n2", 130.0)


@given(st.lists(st.floats(0, 100)), st.lists(st.floats(0, 100), max_size=6), st.floats(0, 100))
def test_a_joint_percentile_is_that_of_all_values_together(ordered, others, percent):
    ordered.sort()
    together = sorted(ordered + others)

    assert joint_percentile(ordered, others, percent) == pytest.approx(
        percentile(together, percent), abs=1e-9
    )


def silent_among_eight(*, progress, **settings):
    """Eight maps of 0.6 s on four nodes; that of n1 reports `progress` at 0.5 s, then nothing."""
    trackers = Trackers(*[(3, 1)] * 4, **{**LATE, "min_age_s": None, **settings})
    trackers.submit(map_reduce("j", 8))
    launches = [launch for n in range(4) for launch in trackers.beat(f"n{n + 1}")]
    assert 8 == len(launches)
    if progress:
        trackers.report(launches[0], 0.5, progress)
    for launch in launches[1:]:
        trackers.finish(launch, 0.6)
    return trackers


@pytest.mark.parametrize("progress", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_an_attempt_that_falls_silent_gets_slower_until_it_is_copied(progress):
    """At its last report it was as fast as the others."""
    trackers = silent_among_eight(progress=progress)
    instants = [0.7 + 0.1 * step for step in range(100)]
    at_s = next(at_s for at_s in instants if trackers.beat("n2", at_s))

    assert 1.8 <= at_s <= 3.1


def test_attempts_are_judged_from_three_times_the_mean_on():
    """Between 1 s and 60 s, as without any finished attempt."""
    ages = {}
    for mean_s in (0.1, 0.6, 10.0, 100.0):
        trackers = Trackers((3, 0), **{**LATE, "min_age_s": None})
        trackers.submit(map_reduce("j", 3))
        first, *_ = trackers.beat("n1")
        phase = trackers.state.jobs["j"].phases[0]
        limits = CopyLimits(SpeculationSettings(), trackers.state)
        assert 60.0 == limits.age_s(phase)
        for attempt in trackers.state.running.values():
            limits.rates.began(attempt)
        trackers.finish(first, mean_s)
        ages[mean_s] = limits.age_s(phase)

    assert {0.1: 1.0, 0.6: pytest.approx(1.8), 10.0: 30.0, 100.0: 60.0} == ages


def test_a_late_report_does_not_make_an_attempt_slow():
    """Nodes report in turn; of equal attempts, the one that reported first is as fast."""
    trackers = Trackers((4, 0), (6, 0), **LATE)
    trackers.submit(map_reduce("j", 10))
    launches = [*trackers.beat("n1"), *trackers.beat("n2")]
    for launch in launches[:-1]:
        at_s = 97.5 + 0.25 * launch.key.task
        trackers.report(launch, at_s, at_s / 130.0)
    trackers.report(launches[-1], 100.0, 99.9 / 130.0)

    assert [] == trackers.beat("n2", 100.0)


# --- why there is no copy -------------------------------------------------------------------------


def no_copy(trackers, task=0, at_s=100.0):
    trackers.scheduler.pass_time(at_s)
    attempt = next(a for a in trackers.state.running.values() if a.key.task == task)
    tasks = trackers.scheduler.policies.tasks
    return tasks.explain_copy(attempt, trackers.state, at_s).code


def test_each_rule_that_forbids_a_copy_has_its_reason():
    silent = silent_among_eight(progress=0.5)
    assert ReasonCode.TOO_YOUNG is no_copy(silent, at_s=1.0)
    assert ReasonCode.COPY_DUE is no_copy(silent, at_s=9.0)
    assert [True] == [launch.is_copy for launch in silent.beat("n2", 9.0)]
    assert ReasonCode.HAS_COPY is no_copy(silent, at_s=9.0)

    capped = silent_among_eight(progress=0.5, spec_cap=0.0)
    assert ReasonCode.COPIES_AT_CAP is no_copy(capped, at_s=9.0)
    off = silent_among_eight(progress=0.5, speculation="none")
    assert ReasonCode.COPIES_OFF is no_copy(off, at_s=9.0)

    trackers, launches = with_straggler((4, 0), (6, 0), tasks=10)
    assert ReasonCode.NOT_SLOW is no_copy(trackers, task=5)
    assert ReasonCode.NO_SLOT_FOR_COPY is no_copy(trackers)
    trackers.submit(map_reduce("k", 1), at_s=100.0)
    assert ReasonCode.NO_SLOT_FOR_COPY is no_copy(trackers)

    alone, launches = with_straggler((10, 0), tasks=10)
    trackers.finish(launches[-1], 100.0)
    assert ReasonCode.NO_OTHER_NODE is no_copy(alone)
    waits, _ = with_straggler((4, 0), (6, 0), tasks=10)
    waits.submit(map_reduce("k", 30), at_s=100.0)
    assert ReasonCode.NO_SLOT_FOR_COPY is no_copy(waits)


def test_slow_nodes_and_waiting_jobs_are_reasons_too():
    trackers, _ = with_straggler((6, 0), (4, 0), (1, 0), tasks=10, slow_node=100.0)
    assert ReasonCode.NODES_SLOW is no_copy(trackers)

    gated, _ = with_straggler((4, 0), (6, 0), tasks=10, sepb=1.0, order="fifo")
    gated.submit(map_reduce("k", 1), at_s=100.0)
    assert ReasonCode.OTHERS_FIRST is no_copy(gated)


def test_to_explain_a_copy_changes_nothing():
    trackers = silent_among_eight(progress=0.5, node_wait_s=5.0, rack_wait_s=5.0)
    for at_s in (1.0, 9.0):
        no_copy(trackers, at_s=at_s)

    assert [True] == [launch.is_copy for launch in trackers.beat("n2", 9.0)]


# --- where, and how many --------------------------------------------------------------------------


def test_a_slow_node_gets_no_copies():
    """n3 has done nothing: its score is below the quarter of all."""
    trackers, launches = with_straggler((4, 0), (5, 0), (1, 0), tasks=9, slow_node=25.0)
    assert {"n1", "n2"} == {launch.node_id for launch in launches}

    assert [] == trackers.beat("n3", 100.0)
    node_id = end(trackers, launches[-1], 100.0)
    assert [True] == [launch.is_copy for launch in trackers.beat(node_id, 101.0)]


def test_of_two_nodes_neither_is_too_slow_for_a_copy():
    """One is always below the other, and a copy may only go to the node that is not its own."""
    trackers, launches = with_straggler((9, 0), (1, 0), tasks=10, slow_node=25.0)
    on_n2 = next(launch for launch in launches if launch.node_id == "n2")
    trackers.finish(on_n2, 100.0)

    assert [True] == [launch.is_copy for launch in trackers.beat("n2", 101.0)]


@pytest.mark.parametrize(
    ("spec_cap", "slots", "copies"), [(0.1, 108, 10), (0.1, 6, 1), (0.0, 108, 0), (3, 6, 3)]
)
def test_the_cap_is_a_share_below_one_and_a_number_from_one_on(spec_cap, slots, copies):
    assert copies == SpeculationSettings(spec_cap=spec_cap).copies_max(slots)


def test_no_more_copies_run_than_the_cap():
    trackers, launches = with_straggler((6, 0), (12, 0), tasks=18, slow_task=90.0, spec_cap=2.0)
    on_n2 = [launch for launch in launches if launch.node_id == "n2"]
    for launch in launches[:6]:
        trackers.report(launch, 100.0, 0.1 + 0.01 * launch.key.task)
    for launch in on_n2[-4:]:
        trackers.finish(launch, 100.0)
    copies = trackers.beat("n2", 101.0)
    assert [0, 1] == [copy.key.task for copy in copies]
    assert [] == trackers.beat("n2", 104.0)

    trackers.finish(copies[0], 105.0)
    first = launches[0].key
    trackers.scheduler.handle(TaskFailed(106.0, first, 106.0, FailureKind.KILLED))
    assert [2] == [copy.key.task for copy in trackers.beat("n2", 107.0)]


def test_a_copy_counts_as_load_where_nodes_are_kept_even():
    """One task runs on each of two nodes, half of the slots. With the copy, n2 may have two."""
    fair = policy("fair", "speculation=late", "min_age_s=60", "slow_node=0")
    trackers = Trackers((2, 0), (2, 0), policy=fair)
    trackers.submit(map_reduce("j", 4))
    launches = [*trackers.beat("n1"), *trackers.beat("n2")]
    slow = next(launch for launch in launches if launch.node_id == "n1")
    fast = next(launch for launch in launches if launch.node_id == "n2")
    trackers.report(slow, 100.0, 0.1)
    trackers.report(fast, 100.0, 0.9)
    for launch in launches:
        if launch not in {slow, fast}:
            trackers.finish(launch, 100.0)

    assert [(slow.key.task, True)] == [
        (launch.key.task, launch.is_copy) for launch in trackers.beat("n2", 101.0)
    ]


class CopySettings:
    """The settings of a composition: those of copies as above, and defaults."""

    def of_part(self, kind, *owners):
        return kind(min_age_s=60.0, slow_node=0.0) if kind is SpeculationSettings else kind()


def test_a_node_without_room_for_a_copy_leaves_it_to_the_next_one():
    """Node n2 has a free slot, but not the processors: n3 gets the copy in the same decision."""
    _, parts = composition_of("order=fifo+slots=resources+copies=late")
    scheduler = scheduler_of(composed(parts, CopySettings(), Needs()))
    for name, containers, cpu in (("n1", 4, 100.0), ("n2", 1, 10.0), ("n3", 4, 100.0)):
        node = Node(node_id=name, containers=containers, capacity=Resources(cpu=cpu))
        scheduler.handle(NodeJoined(0.0, node))
    tasks = Phase(
        name="s", kind=SlotKind.CONTAINER, tasks=8, lengths=ConstantLengths(9.0, 9.0),
        demand=Demand(work=Resources(cpu=20.0)),
    )  # fmt: skip
    scheduler.handle(JobSubmitted(0.0, Job(job_id="j", pool="p", phases=(tasks,)), {}))
    launches = [one for one in scheduler.handle(Tick(0.0)) if isinstance(one, Launch)]
    assert ["n1"] * 4 + ["n3"] * 4 == sorted(launch.node_id for launch in launches)
    slow = next(launch for launch in launches if launch.node_id == "n1")
    *_, last = (launch for launch in launches if launch.node_id == "n3")
    for launch in launches:
        scheduler.handle(TaskProgress(100.0, launch.key, 0.1 if launch is slow else 0.9))
    scheduler.handle(TaskFinished(101.0, last.key, 101.0))
    copies = scheduler.handle(Tick(101.0))

    assert [("n3", slow.key.task)] == [
        (one.node_id, one.key.task) for one in copies if isinstance(one, Launch) and one.is_copy
    ]


def test_waiting_tasks_come_before_copies():
    trackers, launches = with_straggler((4, 0), (6, 0), tasks=10)
    trackers.submit(map_reduce("later", 1), at_s=100.0)
    node_id = end(trackers, launches[-1], 100.0)

    assert [("later", False)] == [
        (launch.key.job_id, launch.is_copy) for launch in trackers.beat(node_id, 100.0)
    ]


def test_a_reduce_that_waits_for_maps_is_not_slow():
    """A copy of it would wait as well."""
    trackers = Trackers((1, 3), (1, 3), slowstart=0.0, **LATE, pct_map=0.0, pct_reduce=0.0)
    trackers.submit(map_reduce("j", 2, 1.0, 5, 1.0))
    launches = [*trackers.beat("n1"), *trackers.beat("n2")]
    for launch in launches:
        trackers.report(launch, 100.0, 0.1 if launch.key.task == 0 else 0.3)
    reduces = [launch for launch in launches if launch.key.phase == 1]
    assert 5 == len(reduces)

    free = next(n for n in ("n1", "n2") if sum(r.node_id == n for r in reduces) == 2)
    assert [] == [launch for launch in trackers.beat(free, 103.0) if launch.key.phase == 1]


def test_a_copy_may_run_in_a_borrowed_slot_where_those_are_lent():
    """Maps hold all map slots and a reduce slot; the copy of one takes another reduce slot."""
    trackers, launches = with_straggler((2, 3), (2, 3), tasks=8)
    borrowed = [launch for launch in launches if launch.slot_kind.value == "reduce"]
    assert 4 == len(borrowed)
    free = next(launch for launch in borrowed if launch.node_id != launches[0].node_id)
    copies = [launch for launch in trackers.beat(free.node_id, 100.0) if launch.is_copy]

    assert ["reduce"] == [copy.slot_kind.value for copy in copies]


def test_the_copy_of_a_map_says_how_far_from_its_data_it_runs():
    """It takes as long as any map there; that it is nearer is no reason to choose it."""
    trackers = Trackers((1, 0), (8, 0), **LATE)
    trackers.submit(map_reduce("j", 8), locations=(("n1",),) * 8)
    launches = [*trackers.beat("n1"), *trackers.beat("n2")]
    for launch in launches:
        trackers.report(launch, 100.0, 0.1 if launch.node_id == "n1" else 0.9)
    (copy,) = [launch for launch in trackers.beat("n2", 100.0) if launch.is_copy]

    assert copy.locality is Locality.ANY


# --- over other policies --------------------------------------------------------------------------

HANGS = {"p_hang": 0.04, "task_timeout_s": None}


@pytest.mark.parametrize("hang_at", [0.0, 0.5, (0.1, 1.0)])
@pytest.mark.parametrize("heartbeat_s", [0.0, 3.0])
@pytest.mark.parametrize("name", ["fair", "fifo", "static", "dynamicmr"])
def test_what_hangs_is_cured_by_a_copy(name, heartbeat_s, hang_at):
    """Without a time-out a job with a hung task would never end."""
    span = hang_at if isinstance(hang_at, tuple) else (hang_at, hang_at)
    world = HANGS | {"heartbeat_s": heartbeat_s, "jitter": 0.1, "hang_at": span}
    jobs = [map_reduce("j", 40, 20.0, 6, 20.0)]
    plain = simulate(even_nodes(4, 3, 1), jobs, policy(name), seed=1, **world)
    cured = policy(name, "speculation=late", f"heartbeat_s={heartbeat_s}", "spec_cap=4")
    state = simulate(even_nodes(4, 3, 1), jobs, cured, seed=1, **world)

    assert plain.jobs["j"].state is JobState.RUNNING, "so that there is something to cure"
    assert state.jobs["j"].state is JobState.DONE
    assert name == cured.name


def test_without_speculation_a_policy_is_what_it_was():
    assert type(policy("fair")).__name__ == "Fair"
    assert type(policy("fair", "speculation=late")).__name__ == "Late"


def test_a_fraction_of_sepb_asks_for_copies_unless_shown_otherwise():
    assert policy("fair", "sepb=0.6").reads_progress
    assert policy("dynamicmr", "sepb=0.6").reads_progress
    assert not policy("dynamicmr", "sepb=0.6", "speculation=none").reads_progress
    assert not policy("dynamicmr").reads_progress


def test_tasks_that_would_start_at_once_are_distinguished_so_that_each_can_be_copied():
    trackers = Trackers((4, 0), policy=policy("fair", "speculation=late"))
    from sluice.core.events import JobSubmitted, Tick

    trackers.scheduler.handle(JobSubmitted(0.0, map_reduce("j", 4), {}, True))
    trackers.scheduler.handle(Tick(0.0))

    assert [1, 1, 1, 1] == [launch.tasks for launch in trackers.beat("n1")]


# --- the kill rule --------------------------------------------------------------------------------


def kills(commands):
    return [command.key for command in commands if isinstance(command, Kill)]


def five_done(trackers, launches, length_s):
    for launch in launches:
        trackers.finish(launch, length_s)


def test_a_task_meets_the_rule_once():
    trackers = Trackers((7, 0), kill_slow=True)
    trackers.submit(map_reduce("j", 7))
    *five, slow, _ = trackers.beat("n1")
    five_done(trackers, five, 40.0)
    (first, _) = kills(trackers.asked("n1", 81.0))
    assert slow.key == first
    trackers.scheduler.handle(TaskFailed(82.0, first, 82.0, FailureKind.KILLED))
    again = [c for c in trackers.asked("n1", 82.0) if isinstance(c, Launch)]

    assert [(5, 2)] == [(launch.key.task, launch.key.attempt) for launch in again]
    assert [] == kills(trackers.asked("n1", 900.0))
    assert 0 == trackers.state.jobs["j"].phases[0].repeating().failures.get(5, 0), (
        "kills are no failures"
    )


def test_a_reduce_counts_its_time_from_the_end_of_the_maps():
    """It began at 0 and could work from 100 s on: at 180 s it is as old as those before it."""
    trackers = Trackers((1, 6), kill_slow=True, slowstart=0.0)
    trackers.submit(map_reduce("j", 1, 1.0, 6, 1.0))
    launches = trackers.beat("n1")
    reduces = [launch for launch in launches if launch.key.phase == 1]
    (the_map,) = [launch for launch in launches if launch.key.phase == 0]
    assert [] == kills(trackers.asked("n1", 99.0))
    trackers.finish(the_map, 100.0)
    five_done(trackers, reduces[:5], 140.0)

    assert [] == kills(trackers.asked("n1", 180.0))
    assert [reduces[5].key] == kills(trackers.asked("n1", 180.5))


def test_the_reason_of_a_kill_shows_the_numbers():
    trackers = Trackers((6, 0), kill_slow=True)
    trackers.submit(map_reduce("j", 6))
    launches = trackers.beat("n1")
    five_done(trackers, launches[:5], 40.0)
    (kill,) = [c for c in trackers.asked("n1", 90.0) if isinstance(c, Kill)]

    assert "it had run 90 s, over twice the mean of 40.0 s of 5 finished ones" == kill.reason.text()


@pytest.mark.parametrize("heartbeat_s", [0.0, 3.0])
def test_killed_stragglers_are_tried_again_and_soon_done(heartbeat_s):
    """The second try draws another fate."""
    world = {"p_slow": 0.1, "slow_factor": (6.0, 6.0), "heartbeat_s": heartbeat_s}
    jobs = [map_reduce("j", 40, 20.0)]
    plain = simulate(even_nodes(3, 4, 0), jobs, policy("fair"), seed=4, **world)
    state = simulate(even_nodes(3, 4, 0), jobs, policy("fair", "kill_slow=true"), seed=4, **world)
    killed = [attempt for attempt in state.closed if attempt.state.value == "killed"]

    assert killed
    assert state.jobs["j"].finished_at_s < plain.jobs["j"].finished_at_s
    assert {} == {
        attempt.key.task: attempt
        for attempt in killed
        if attempt.finished_at_s - attempt.started_at_s <= 40.0
    }


# --- what it costs --------------------------------------------------------------------------------


def calls_in_a_run(owner, method, nodes=4, name="fifo"):
    """How often LATE without heartbeats calls a method in 60 s, in which four slots are in use."""
    tasks = made_policy("tasks", name, resolved_settings({}, ["speculation=late"]))
    jobs = [map_reduce("j", maps=2, map_s=1.5, at_s=float(at_s)) for at_s in range(60)]
    plain = getattr(owner, method)
    with mock.patch.object(owner, method, autospec=True, side_effect=plain) as called:
        simulate(even_nodes(nodes, 2, 1), renamed(jobs), tasks)
    return called.call_count


def renamed(jobs):
    return [replace(one, job_id=f"{one.job_id}{number}") for number, one in enumerate(jobs)]


@pytest.mark.interpreted
def test_all_attempts_report_once_at_each_look():
    """Each decision asks to be woken for the next look. It is one wake-up, every 3 s."""
    assert 21 >= calls_in_a_run(ProgressReports, "report_all")


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("name", "owner"), [("fifo", Late), ("fair", Late), ("dynamicmr", PoolIndependent)]
)
def test_a_node_that_is_of_no_use_is_not_offered(name, owner):
    few = calls_in_a_run(owner, "fill", name=name)

    assert few
    assert few == calls_in_a_run(owner, "fill", nodes=200, name=name)
