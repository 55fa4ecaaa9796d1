"""RAS with `aim=goals`: which goals are chosen."""

import pytest
from tests.policies.ras.worlds import need, trackers

from sluice.policies.ras.control_cycle import CycleRules, run_cycle
from sluice.policies.ras.goals import GoalOutlook, goal_utility, with_goals
from sluice.policies.ras.utility import job_utility


def outlook(job_id, maps, ends_by_s, *, map_s=50.0, **more):
    """A Combine job: a node runs 4 of its maps at a time."""
    return GoalOutlook(
        need=need(job_id, "combine", maps, 1), maps_end_by_s=ends_by_s, map_s=map_s, **more
    )


def ranks(*jobs, nodes=1):
    return {job.job_id: job.goal_rank for job in with_goals(jobs, trackers(nodes))}


def test_goals_that_can_be_met_together_are_ranked_by_urgency():
    late, soon = outlook("late", 8, 400.0), outlook("soon", 8, 150.0)

    assert {"late": 1, "soon": 0} == ranks(late, soon)


def test_the_job_with_the_most_work_yields_if_not_all_goals_can_be_met():
    """Moore and Hodgson: 40 maps take 500 s on one node; without it both others end in time."""
    big, one, other = outlook("big", 40, 510.0), outlook("one", 8, 300.0), outlook("two", 8, 600.0)

    assert {"big": None, "one": 0, "two": 1} == ranks(big, one, other)


@pytest.mark.parametrize("lost", [{"goal_is_past": True}, {"maps_end_by_s": 49.0}])
def test_a_goal_that_is_lost_yields_at_once(lost):
    job = GoalOutlook(
        **{"need": need("j", "combine", 4, 1), "maps_end_by_s": 90.0, "map_s": 50.0} | lost
    )
    (made,) = with_goals([job], trackers(1))

    assert made.goal_rank is None
    assert made.yields


def test_a_job_without_a_goal_is_not_ranked_and_does_not_yield():
    (made,) = with_goals([outlook("j", 4, None)], trackers(1))

    assert made.goal_rank is None
    assert not made.yields


def test_a_job_whose_goal_can_be_met_gets_all_slots_that_it_can_use_first():
    """The urgent job takes what fits, the other one the rest."""
    jobs = with_goals([outlook("other", 20, None), outlook("urgent", 3, 80.0)], trackers(1))
    placement = run_cycle(trackers(1), jobs, rules=CycleRules(utility_of=goal_utility)).placement

    assert {"other": {"n1": 1}, "urgent": {"n1": 3}} == placement.slots_by_id(placement.maps_on)


def test_the_utility_of_goals_never_falls_with_more_slots():
    for rank in (None, 0, 3):
        job = need("j", "combine", 12, 5, goal_rank=rank)
        utilities = [goal_utility(job, slots, 0) for slots in range(13)]
        assert sorted(utilities) == utilities
        assert job_utility(12, 5, 12, 0, 0) == utilities[-1]
