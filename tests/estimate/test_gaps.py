"""Gaps between tasks, measured from timelines."""

import math
from dataclasses import replace

from tests.estimate.made_runs import MachineModel, draws, without_timeline

from sluice.estimate.gaps import Gaps, gaps

WORLD = MachineModel(start_s=0.5, gap_s=0.25, task_noise=0.3)


def test_start_up_and_gaps_are_recovered():
    """The first task starts one gap after the start-up."""
    found = gaps([WORLD.run("a", 1, 200, draws(1))])

    assert math.isclose(0.75, found.start_s)
    assert math.isclose(0.25, found.between_s)


def test_several_slots_hardly_change_the_gaps():
    """The last end before a start can belong to another slot."""
    assert 0.1 < gaps([WORLD.run("a", 3, 600, draws(1))]).between_s <= 0.25 + 1e-9


def test_a_run_that_waited_for_others_is_not_used():
    alone = WORLD.run("a", 1, 200, draws(1))
    late = replace(
        alone,
        run_id="b",
        phases=tuple(
            replace(
                phase,
                timeline=tuple(
                    replace(
                        task,
                        started_at_s=5 + 3 * task.started_at_s,
                        finished_at_s=5 + 3 * task.started_at_s + task.length_s,
                    )
                    for task in phase.timeline
                ),
            )
            for phase in alone.phases
        ),
    )

    assert gaps([late]).between_s > 1
    assert gaps([alone]) == gaps([late, alone])


def test_runs_without_a_timeline_give_no_gap():
    assert Gaps(0.0, 0.0) == gaps([without_timeline(WORLD.run("a", 1, 200, draws(1)))]) == gaps([])
