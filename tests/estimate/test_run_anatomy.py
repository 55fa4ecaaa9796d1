"""Where the time of a run went, on runs whose answer is plain to see."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.estimate.run_anatomy import busy_intervals, outside_s, run_anatomy
from sluice.model.errors import InvalidInput
from sluice.model.history import PastPhase, PastRun, PastTask


def phase(name, *spans, input_bytes=(), after=(), kind="map", failed=0):
    sizes = input_bytes or [0] * len(spans)
    lengths = [end - start for start, end in spans]
    return PastPhase(
        name=name,
        kind=kind,
        tasks=len(spans),
        avg_s=sum(lengths) / len(lengths),
        max_s=max(lengths),
        failed=failed,
        after=after,
        timeline=tuple(
            PastTask(started_at_s=start, finished_at_s=end, input_bytes=size)
            for (start, end), size in zip(spans, sizes, strict=True)
        ),
    )


def run(*phases, source="jhist", elapsed_s=None):
    return PastRun(run_id="r", profile="p", source=source, phases=phases, elapsed_s=elapsed_s)


def test_time_is_waiting_then_tasks_then_the_driver():
    found = run_anatomy(run(phase("a", (4, 6), (5, 8)), phase("b", (9, 12)), elapsed_s=15), 2)

    assert (found.recorded_s, found.waited_s) == (15, 4)
    assert found.driver_s == (9 - 8) + (15 - 12)
    assert found.idle_share == pytest.approx(1 - (2 + 3 + 3) / (2 * (15 - 4)))


def test_the_start_of_a_spark_application_is_work_of_its_driver():
    found = run_anatomy(run(phase("a", (4, 6)), source="spark", elapsed_s=6), 1)

    assert (found.waited_s, found.driver_s) == (0, 4)


def test_the_critical_path_goes_back_from_the_last_end():
    """`side` ran at the same time as `a`, ended earlier, and nothing waited for it."""
    found = run_anatomy(
        run(phase("a", (0, 5)), phase("side", (0, 3)), phase("b", (5, 7)), phase("c", (8, 10))), 2
    )

    assert [(step.stage, step.s, step.share) for step in found.critical_path] == [
        ("a", 5, 0.5), ("b", 2, 0.2), ("c", 2, 0.2),
    ]  # fmt: skip


def test_reduces_that_start_early_are_on_the_path_from_the_last_map_on():
    maps = phase("map", (0, 4), (4, 8))
    found = run_anatomy(run(maps, phase("reduce", (4, 10), kind="reduce", after=(0,))), 2)

    assert [(step.stage, step.s) for step in found.critical_path] == [("map", 8), ("reduce", 2)]


@pytest.mark.parametrize(
    ("sizes", "by_bytes"), [((10, 10, 60), True), ((10, 10, 10), False), ((), None)]
)
def test_skew_says_whether_bytes_explain_it(sizes, by_bytes):
    found = run_anatomy(run(phase("a", (0, 1), (0, 1), (0, 6), input_bytes=sizes)), 3)

    (skew,) = found.skew
    assert (skew.longest_s, skew.median_s, skew.ratio, skew.by_bytes) == (6, 1, 6, by_bytes)


def test_stages_are_listed_by_the_seconds_that_evening_out_could_save():
    small = phase("small", (0, 0.1), (0, 0.1), (0, 1))
    large = phase("large", (1, 11), (1, 11), (1, 21))

    assert [one.stage for one in run_anatomy(run(small, large), 3).skew] == ["large", "small"]


def test_a_run_without_single_tasks_is_refused():
    bare = PastPhase(name="map", kind="map", tasks=2, avg_s=1, max_s=2)

    with pytest.raises(InvalidInput, match="does not list single tasks"):
        run_anatomy(run(bare), 1)


def test_an_idle_share_is_of_the_time_after_the_first_task_began():
    """2 slots for 8 s, and 2 tasks of 2 s."""
    late = run_anatomy(run(phase("a", (2, 4), (2, 4)), elapsed_s=10), 2)
    early = run_anatomy(run(phase("a", (-2, 0), (6, 8)), elapsed_s=8), 2)

    assert (late.waited_s, late.idle_share, late.startup_s) == (2, 0.75, 0)
    # A clock that was off shows a task before the submission: no time was waited.
    assert (early.waited_s, early.idle_share, early.startup_s) == (0, 0.75, 0)


def test_no_slot_is_idle_in_no_time():
    found = run_anatomy(run(phase("a", (3, 3))), 1)

    assert (found.recorded_s, found.idle_share) == (3, 0)


def test_more_tasks_than_slots_are_not_negative_idleness():
    assert run_anatomy(run(phase("a", (0, 4), (0, 4), (0, 2))), 2).idle_share == 0


def test_a_slot_may_be_idle_for_half_of_a_short_time():
    assert run_anatomy(run(phase("a", (0, 0.25)), elapsed_s=0.5), 1).idle_share == 0.5


def test_tasks_before_the_submission_leave_no_negative_time():
    """Clocks that were off. Tasks ran for 10 s of a run of 8 s, or all of them before it."""
    found = run_anatomy(run(phase("a", (-2, 8)), elapsed_s=8), 1)

    assert (found.driver_s, outside_s(run(phase("a", (-2, 8)), elapsed_s=8))) == (0, 0)
    assert run_anatomy(run(phase("a", (-3, -2))), 1).recorded_s == 0


def test_tasks_that_follow_at_once_are_one_busy_interval():
    assert list(busy_intervals(phase("a", (2, 3), (0, 2), (4, 5)).timeline)) == [(0, 3), (4, 5)]


def test_the_driver_works_before_the_first_task_and_after_the_last():
    found = run_anatomy(run(phase("a", (4, 6), (7, 9)), source="spark", elapsed_s=12), 1)

    assert (found.startup_s, found.ending_s, found.driver_s) == (4, 3, 4 + 1 + 3)


def test_a_run_without_an_end_ends_with_its_last_task():
    found = run_anatomy(run(phase("a", (0, 0.25))), 1)

    assert (found.recorded_s, found.ending_s, found.driver_s) == (0.25, 0, 0)


def test_stages_of_one_instant_are_no_part_of_no_time():
    (step,) = run_anatomy(run(phase("a", (0, 0))), 1).critical_path

    assert (step.s, step.share) == (0, 0)


def test_a_stage_that_ended_while_the_next_one_ran_is_not_on_its_path():
    """`b` waited for `a`, which ended when it began; `other` ended 1 s later."""
    found = run_anatomy(run(phase("a", (0, 5)), phase("other", (2, 6)), phase("b", (5, 8))), 2)

    assert [step.stage for step in found.critical_path] == ["a", "b"]


def test_an_instant_at_the_start_of_a_stage_is_no_step_before_it():
    found = run_anatomy(run(phase("nothing", (3, 3)), phase("a", (3, 5))), 1)

    assert [step.stage for step in found.critical_path] == ["a"]


def test_of_stages_that_end_together_the_later_one_is_on_the_path():
    found = run_anatomy(run(phase("a", (0, 4)), phase("b", (1, 4)), phase("c", (4, 6))), 2)

    assert [step.stage for step in found.critical_path] == ["b", "c"]


@pytest.mark.parametrize(("longest_s", "is_skewed"), [(1.5, True), (1.4, False)])
def test_a_stage_is_skewed_from_one_and_a_half_times_its_median_on(longest_s, is_skewed):
    found = run_anatomy(run(phase("a", (0, 1), (0, 1), (0, longest_s))), 3)

    assert bool(found.skew) == is_skewed


def test_a_lone_task_and_tasks_of_no_length_are_not_skewed():
    lone, instants = phase("lone", (0, 9)), phase("instants", (0, 0), (0, 0), (0, 5))
    skewed = phase("skewed", (0, 1), (0, 1), (0, 9))

    assert [one.stage for one in run_anatomy(run(lone, instants, skewed), 3).skew] == ["skewed"]


def test_of_two_tasks_one_can_be_the_long_one():
    """The median of 1 and 9 is 5."""
    (skew,) = run_anatomy(run(phase("a", (0, 1), (0, 9))), 2).skew

    assert (skew.median_s, skew.ratio) == (5, 1.8)


@pytest.mark.parametrize(("size", "by_bytes"), [(28, True), (27, False)])
def test_bytes_explain_a_length_from_seven_tenths_of_its_ratio_on(size, by_bytes):
    """The longest task took 4 times the median: it must read 2.8 times as much."""
    found = run_anatomy(run(phase("a", (0, 1), (0, 1), (0, 4), input_bytes=(10, 10, size))), 3)

    assert found.skew[0].by_bytes is by_bytes


def test_outside_the_tasks_is_what_no_task_covers():
    """They run from 1 to 4 and from 6 to 7."""
    stages = phase("a", (1, 3), (2, 4)), phase("b", (6, 7))

    assert outside_s(run(*stages, elapsed_s=9)) == 9 - 3 - 1
    assert outside_s(run(*stages, elapsed_s=5)) == 7 - 3 - 1  # the log ends too early
    assert outside_s(run(*stages)) == 0


def test_outside_of_unknown_tasks_is_unknown():
    bare = PastPhase(name="map", kind="map", tasks=2, avg_s=1, max_s=2)

    assert outside_s(run(phase("a", (1, 3)), bare, elapsed_s=9)) == 0


spans = st.tuples(st.integers(0, 20), st.integers(0, 9)).map(lambda one: (one[0], one[0] + one[1]))


@given(st.lists(st.lists(spans, min_size=1, max_size=4), min_size=1, max_size=5), st.integers(0, 9))
def test_the_parts_of_the_time_add_up(stages, tail_s):
    phases = [phase(f"s{index}", *tasks) for index, tasks in enumerate(stages)]
    last_s = max(end for tasks in stages for _, end in tasks)

    found = run_anatomy(run(*phases, elapsed_s=last_s + tail_s), 20)

    ran = {instant for tasks in stages for start, end in tasks for instant in range(start, end)}
    assert found.waited_s + found.driver_s + len(ran) == found.recorded_s
    path = found.critical_path
    assert sum(step.s for step in path) <= found.recorded_s
    assert 0 <= found.idle_share <= 1
