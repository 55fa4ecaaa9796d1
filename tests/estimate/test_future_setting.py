"""The setting of the next run, phases that match, and lengths between the measured ones."""

import math

import pytest

from sluice.estimate.future_setting import future_setting
from sluice.estimate.length_curves import LengthCurve, SlowDown, between
from sluice.estimate.phase_matching import numbered, phase_keys, stage_name
from sluice.estimate.run_setting import PhaseSetting, timed_runs
from sluice.model.history import PastPhase, PastRun


def run(input_bytes, maps, reduces=2, *, slots=4):
    """A run with maps that read the input, and reduces that do not."""
    return PastRun(
        run_id=f"{input_bytes}-{maps}-{reduces}",
        profile="p",
        source="jhist",
        elapsed_s=60.0,
        slots={"map": slots, "reduce": 3} if slots else {},
        phases=(
            PastPhase(name="map", kind="map", tasks=maps, avg_s=1.0, max_s=2.0,
                      input_bytes=input_bytes),
            PastPhase(name="reduce", kind="reduce", tasks=reduces, avg_s=1.0, max_s=2.0,
                      after=(0,)),
        ),
    )  # fmt: skip


def tasks(runs, input_bytes):
    return [phase.tasks for phase in future_setting(timed_runs(runs), None, input_bytes).phases]


def test_the_next_run_is_like_the_newest_one():
    setting = future_setting(timed_runs([run(100, 10), run(300, 30, 5)]))

    assert setting.input_bytes == 300
    assert setting.phases == (PhaseSetting("map", 30, 4), PhaseSetting("reduce", 5, 3))


def test_slots_are_given_for_all_phases_or_by_kind():
    runs = timed_runs([run(100, 10)])

    assert [one.slots for one in future_setting(runs, 7).phases] == [7, 7]
    assert [one.slots for one in future_setting(runs, {"reduce": 9}).phases] == [4, 9]


def test_a_run_without_known_slots_stays_one_task():
    setting = future_setting(timed_runs([run(100, 10, slots=0)]), 7)

    assert [(one.tasks, one.slots) for one in setting.phases] == [(1, 1)]


def test_the_tasks_of_a_size_are_those_of_most_of_its_newest_three_runs():
    """A run whose output was lost ran some tasks twice."""
    assert tasks([run(100, 10), run(100, 13), run(100, 10)], 100)[0] == 10
    assert tasks([run(100, 9), run(100, 9), run(100, 10), run(100, 10), run(100, 8)], 100)[0] == 10
    assert tasks([run(100, 9), run(100, 9), run(100, 10), run(100, 11), run(100, 12)], 100)[0] == 12


def test_for_a_new_size_each_map_reads_as_much_as_before():
    """10 bytes each; reduces are as many as at the nearest size."""
    runs = [run(100, 12, 2), run(300, 30, 5)]

    assert tasks(runs, 150) == [15, 2]
    assert tasks(runs, 260) == [26, 5]
    assert tasks(runs, 1) == [1, 2]


def test_tasks_that_are_the_same_at_all_sizes_stay():
    assert tasks([run(100, 10), run(300, 10)], 600)[0] == 10
    assert tasks([run(100, 10)], 600)[0] == 60  # one size does not show that


def test_tasks_of_runs_without_input_stay():
    assert tasks([run(0, 10)], 600)[0] == 10


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("stage 3: count at <console>:26", "count at <console>"),
        ("stage 12: save at Job.scala:26", "save at Job.scala:26"),
        ("stage 3", "stage"),
        ("stage 1: stage 2: x", "stage 2: x"),
        ("map at <ipython-input-7-ab>:3", "map at <ipython-input-7-ab>"),
    ],
)
def test_the_number_of_a_stage_is_not_part_of_its_name(name, plain):
    assert stage_name(name) == plain


def test_equal_names_are_numbered_from_the_second_on():
    assert numbered(["a", "b", "a", "a"]) == ("a", "b", "a #2", "a #3")


def test_only_stages_of_spark_lose_their_numbers():
    phases = tuple(
        PastPhase(name=f"stage {number}: a", kind="map", tasks=1, avg_s=1, max_s=1)
        for number in (4, 5)
    )
    keys = {
        source: phase_keys(PastRun(run_id="r", profile="p", source=source, phases=phases))
        for source in ("spark", "tez")
    }

    assert keys == {"spark": ("a", "a #2"), "tez": ("stage 4: a", "stage 5: a")}


ROWS = ((2, 10.0), (4, 6.0), (8, 4.0))


@pytest.mark.parametrize(
    ("count", "length_s"), [(1, 10), (2, 10), (3, 8), (4, 6), (5, 5.5), (8, 4), (9, 4)]
)
def test_a_length_is_linear_between_rows_and_constant_outside(count, length_s):
    assert between(ROWS, count) == length_s


def test_a_curve_divides_its_work_and_input_among_the_tasks():
    """2 s, and of 30 s and 10 bytes at 3 s each a part of five."""
    curve = LengthCurve(form="both", fixed_s=2.0, work_s=30.0, rate_s_per_byte=3.0)

    assert curve.length_s(5, 10, 1.0) == 2 + 6 + 6
    assert LengthCurve(form="table", rows=ROWS, fixed_s=9.0).length_s(4, 10, 1.0) == 6


@pytest.mark.parametrize(
    ("concurrency", "factor"), [(1.0, 1), (4.0, 1), (6.0, 1.25), (8.0, 1.5), (12.0, 2)]
)
def test_a_task_is_slower_in_proportion_to_what_exceeds_the_threshold(concurrency, factor):
    slow = SlowDown(threshold=4.0, slowness=0.5)
    curve = LengthCurve(form="constant", fixed_s=2.0, slow_down=slow)

    assert slow.factor(concurrency) == factor
    assert curve.length_s(1, 0, concurrency) == 2 * factor
    assert SlowDown().factor(concurrency) == 1


def test_a_slow_down_is_part_of_the_name_of_a_curve():
    slow = LengthCurve(form="work", slow_down=SlowDown(threshold=4.0, slowness=0.5))

    assert slow.name == "work, slower beyond 4 at once"
    assert LengthCurve(form="work").name == "work"
    assert math.isinf(LengthCurve(form="work").slow_down.threshold)
