"""The time that changes of a run would save, on runs in which the answer is known."""

import pytest

from sluice.api.diagnosis import diagnosed
from sluice.model.history import PastPhase, PastRun, PastTask, TaskCosts


def stage(*lengths_s, at_s=0.0, slots=2, name="stage 0: scan", **more):
    """Tasks by list scheduling on the slots, from an instant on."""
    free_s = [at_s] * slots
    tasks = []
    for length_s in lengths_s:
        free_s.sort()
        tasks.append(PastTask(started_at_s=free_s[0], finished_at_s=free_s[0] + length_s))
        free_s[0] += length_s
    return PastPhase(
        name=name,
        kind="map",
        tasks=len(tasks),
        avg_s=sum(lengths_s) / len(tasks),
        max_s=max(lengths_s),
        timeline=tuple(tasks),
        **more,
    )


def advice_of(*phases, elapsed_s, slots=2, configuration=None):
    run = PastRun(
        run_id="app-1",
        profile="app",
        source="spark",
        phases=phases,
        elapsed_s=elapsed_s,
        slots={"map": slots},
        configuration=configuration or {},
    )
    return {one.what: one.saves_s for one in diagnosed(run).advice}


def saving(advice, words):
    found = [saves_s for what, saves_s in advice.items() if words in what]
    assert len(found) == 1, advice
    return found[0]


def test_the_parts_of_the_time_without_tasks_are_listed_apart():
    second = stage(4, 4, at_s=14.0, name="stage 1: count", after=(0,))

    advice = advice_of(stage(4, 4, at_s=5.0), second, elapsed_s=20.0)

    assert saving(advice, "Start the driver") == pytest.approx(5.0)
    assert saving(advice, "driver's work between") == pytest.approx(5.0)
    assert saving(advice, "Shorten the end") == pytest.approx(2.0)


def test_a_job_without_a_driver_waits_for_slots_between_its_tasks():
    """Reduces of another job, which started early, held all slots while it had none running."""
    maps, reduces = stage(10, name="map"), stage(5, at_s=550.0, name="reduce", after=(0,))
    run = PastRun(
        run_id="small", profile="small", source="sluice", phases=(maps, reduces), elapsed_s=555.0
    )

    best, *_ = diagnosed(run).advice

    assert best.what.startswith("Keep slots for its next tasks")
    assert best.saves_s == pytest.approx(540.0)


def test_slow_first_tasks_are_not_mistaken_for_skew():
    advice = advice_of(stage(9, 9, 2, 2, 2, 2), elapsed_s=13.0)

    assert saving(advice, "first task of a slot takes 4.5 times") == pytest.approx(7.0)


def test_one_large_task_that_starts_first_is_no_cold_slot():
    advice = advice_of(stage(22, 2, 2, 2, 2, 2), elapsed_s=22.0)

    assert not any("first task of a slot" in what for what in advice)
    assert any("Divide" in what for what in advice)


def test_advice_on_a_long_task_says_what_it_depends_on():
    """One record does not divide, and a copy of its task takes as long."""
    skewed = advice_of(stage(5, 5, 5, 5, 5, 5, 5, 60), elapsed_s=75.0)
    even = advice_of(stage(*[5] * 5), elapsed_s=15.0)

    found = [what for what in skewed if "Divide" in what or " tasks instead of " in what]
    assert len(found) == 2
    assert all("if the input of its longest task divides" in what for what in found)
    assert saving(skewed, "if their nodes were slow") == saving(skewed, "speculation")
    assert not any(" if " in what for what in even)


def test_fewer_tasks_save_their_time_to_launch():
    """Four waves of 3 s with 2 s of launch each: one wave takes 2 + 4 s."""
    costs = TaskCosts(launch_s=16.0)

    advice = advice_of(stage(*[3] * 8, costs=costs), elapsed_s=12.0)

    assert saving(advice, "Use 2 tasks instead of 8") == pytest.approx(6.0)
    assert saving(advice, "start faster") == pytest.approx(8.0)


def test_garbage_and_remote_input_shorten_each_task_by_their_share():
    costs = TaskCosts(gc_s=4.0, spilled_bytes=1000, remote_tasks=2, remote_s=12.0)

    advice = advice_of(stage(4, 4, 6, 6, costs=costs), elapsed_s=10.0)

    assert saving(advice, "spilled 1,000 bytes") == pytest.approx(2.0)
    assert saving(advice, "nodes of their input") == pytest.approx(2.0)


def test_stages_that_read_nothing_from_each_other_may_run_together():
    second = stage(4, at_s=4.0, name="stage 1: count")

    advice = advice_of(stage(4), second, elapsed_s=8.0)

    assert saving(advice, "in parallel") == pytest.approx(4.0)


def test_speculation_is_proposed_only_where_it_was_off():
    lengths_s = [2.0] * 9 + [20.0]

    off = advice_of(stage(*lengths_s), elapsed_s=28.0)
    on = advice_of(stage(*lengths_s), elapsed_s=28.0, configuration={"spark.speculation": "true"})

    # The copy ends at 2.5 times the median: 8 s for nine tasks on two slots, and 5 s.
    assert saving(off, "speculation") == pytest.approx(28.0 - 13.0)
    assert not any("speculation" in what for what in on)
    assert saving(on, "longest tasks") == pytest.approx(28.0 - 20.0)


def test_what_saves_less_than_noise_is_not_listed():
    assert advice_of(stage(10, 10), elapsed_s=20.02, slots=2) != {}
    assert all(saves_s > 0.1 for saves_s in advice_of(stage(10, 10), elapsed_s=20.02).values())


def test_map_slots_alone_are_proposed_where_reduce_slots_do_not_help():
    maps = stage(5, 5, 5, 5)
    run = PastRun(run_id="job_1", profile="sleep", source="jhist", phases=(maps,), elapsed_s=10.0)

    (doubled, *_) = [one for one in diagnosed(run).advice if "slots" in one.what]

    assert doubled.saves_s == pytest.approx(5.0)
