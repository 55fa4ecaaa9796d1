"""Where the time of a run went, on runs whose answer is plain to see."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.estimate.run_anatomy import run_anatomy
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
