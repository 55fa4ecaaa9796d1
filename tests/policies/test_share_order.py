"""The order of pools, and of jobs inside one. Source: dynamicmr spec, section 5.1.

They were seen to fail with: needy pools by running / weight; a guarantee beyond the demand; the
cap forgotten; jobs without their weight; a pool that keeps the seniority of a job which was killed.
"""

from dataclasses import replace

import pytest
from tests.runs import map_reduce, scheduler_of

from sluice.core.events import JobKilled, JobSubmitted, NodeJoined, TaskFinished, Tick
from sluice.model.attempts import AttemptKey
from sluice.model.cluster import Node
from sluice.model.queues import Pool, PoolOrder
from sluice.model.slot_kind import SlotKind
from sluice.policies.orders.fair import Fair

pytestmark = pytest.mark.no_invariants  # a recount settles what a question must settle

MAP, REDUCE = SlotKind.MAP, SlotKind.REDUCE


def standing(*pools, running=(), waiting=()):
    """A full cluster: `running` and `waiting` name jobs as (id, pool, maps) or more of a job.

    The first run all their tasks, the others come when no slot is left.
    """
    policy = Fair()
    scheduler = scheduler_of(policy, pools=pools)
    jobs = [map_reduce(job_id, maps, pool=pool) for job_id, pool, maps in running]
    slots = sum(job.tasks for job in jobs)
    scheduler.handle(NodeJoined(0.0, Node(node_id="n", map_slots=slots, reduce_slots=1)))
    later = [map_reduce(job_id, maps, pool=pool, at_s=at_s) for job_id, pool, maps, at_s in waiting]
    for job in [*jobs, *later]:
        scheduler.handle(JobSubmitted(job.submitted_at_s, job, {}, True))
        scheduler.handle(Tick(job.submitted_at_s))
    return scheduler, policy


def pools_in(policy, kind=MAP):
    return [share.pool.pool_id for share in policy.order.pools(kind)]


def jobs_in(policy, pool_id, kind=MAP):
    (share,) = [s for s in policy.order.pools(kind) if s.pool.pool_id == pool_id]
    return [phase.job_id for phase in share.phases()]


def test_needy_pools_come_first_by_running_for_their_minimum():
    """Pool p runs 2 of 8, q 2 of 4, r none but without a guarantee: r comes last."""
    _, policy = standing(
        Pool(pool_id="q", map_slots_min=4),
        Pool(pool_id="p", map_slots_min=8, weight=0.1),
        running=[("a", "q", 2), ("b", "p", 2)],
        waiting=[("c", "q", 9, 0.0), ("d", "p", 9, 0.0), ("e", "r", 9, 0.0)],
    )

    assert ["p", "q", "r"] == pools_in(policy)


def test_a_minimum_counts_only_as_far_as_there_is_work_for_it():
    """Pool p runs 2 and wants 3 of its 8: 2/3 of its claim, more than the 2/4 of q."""
    _, policy = standing(
        Pool(pool_id="p", map_slots_min=8),
        Pool(pool_id="q", map_slots_min=4),
        running=[("a", "p", 2), ("b", "q", 2)],
        waiting=[("c", "p", 1, 0.0), ("d", "q", 9, 0.0)],
    )

    assert ["q", "p"] == pools_in(policy)


def test_others_come_by_running_for_their_weight():
    """3/1, 4/2 and 5/3."""
    _, policy = standing(
        Pool(pool_id="p"),
        Pool(pool_id="q", weight=2.0),
        Pool(pool_id="r", weight=3.0),
        running=[("a", "p", 3), ("b", "q", 4), ("c", "r", 5)],
        waiting=[("d", "p", 1, 0.0), ("e", "q", 1, 0.0), ("f", "r", 1, 0.0)],
    )

    assert ["r", "q", "p"] == pools_in(policy)


def test_ties_go_to_the_earliest_submission_then_to_the_name():
    _, policy = standing(
        running=[("x", "x", 1)],
        waiting=[("a", "r", 1, 0.0), ("b", "p", 1, 1.0), ("c", "q", 1, 0.0)],
    )

    assert ["q", "r", "p"] == pools_in(policy)


@pytest.mark.parametrize("is_killed", [True, False])
def test_a_pool_is_as_old_as_its_oldest_job_that_has_not_ended(is_killed):
    """For maps also where the oldest ran reduces only, and while its killed attempts still end."""
    policy = Fair()
    scheduler = scheduler_of(policy)
    scheduler.handle(NodeJoined(0.0, Node(node_id="n", map_slots=1, reduce_slots=1)))
    for job in (
        map_reduce("full", 1, pool="full"),
        map_reduce("old", 0, 1.0, 1, pool="p"),
        map_reduce("middle", 1, pool="q", at_s=3.0),
        map_reduce("young", 1, pool="p", at_s=5.0),
    ):
        scheduler.handle(JobSubmitted(job.submitted_at_s, job, {}, True))
        scheduler.handle(Tick(job.submitted_at_s))
    assert ["p", "q"] == pools_in(policy)

    key = AttemptKey("old", 0, 0, 1)
    scheduler.handle(JobKilled(6.0, "old") if is_killed else TaskFinished(6.0, key, 6.0))
    assert ["q", "p"] == pools_in(policy)


def test_a_pool_at_its_cap_is_out_of_the_order():
    _, policy = standing(
        Pool(pool_id="p", map_slots_max=2),
        running=[("a", "p", 2), ("b", "q", 5)],
        waiting=[("c", "p", 9, 0.0), ("d", "q", 1, 0.0)],
    )

    assert ["q"] == pools_in(policy)


def test_a_cap_bounds_what_a_pool_ever_runs():
    scheduler = scheduler_of(Fair(), pools=(Pool(pool_id="p", map_slots_max=2),))
    scheduler.handle(NodeJoined(0.0, Node(node_id="n", map_slots=9, reduce_slots=1)))
    job = map_reduce("a", 9, pool="p")
    scheduler.handle(JobSubmitted(0.0, job, {}, True))

    assert [2] == [launch.tasks for launch in scheduler.handle(Tick(0.0))]


@pytest.mark.parametrize(
    ("order", "jobs"), [(PoolOrder.FAIR, ["d", "c"]), (PoolOrder.FIFO, ["c", "d"])]
)
def test_jobs_in_a_pool_stand_by_running_or_in_line(order, jobs):
    """Job c runs two tasks and waits with one; d came later and runs none."""
    policy = Fair()
    scheduler = scheduler_of(policy, pools=(Pool(pool_id="p", order=order),))
    scheduler.handle(NodeJoined(0.0, Node(node_id="n", map_slots=2, reduce_slots=1)))
    for job in (map_reduce("c", 3), map_reduce("d", 3)):
        scheduler.handle(JobSubmitted(0.0, job, {}, True))
        scheduler.handle(Tick(0.0))

    assert jobs == jobs_in(policy, "p")


@pytest.mark.parametrize("alike", [True, False])
def test_jobs_in_a_fair_pool_get_slots_by_their_weight(alike):
    """Nine slots for weights 1 and 2: three and six."""
    scheduler = scheduler_of(Fair())
    scheduler.handle(NodeJoined(0.0, Node(node_id="n", map_slots=9, reduce_slots=1)))
    scheduler.handle(JobSubmitted(0.0, map_reduce("a", 9), {}, alike))
    scheduler.handle(JobSubmitted(0.0, replace(map_reduce("b", 9), weight=2.0), {}, alike))
    scheduler.handle(Tick(0.0))

    jobs = scheduler.state.jobs
    assert {"a": 3, "b": 6} == {job_id: job.phases[0].running for job_id, job in jobs.items()}


def test_maps_and_reduces_are_shared_each_by_itself():
    """A pool full of maps is not behind for reduces."""
    policy = Fair()
    scheduler = scheduler_of(policy, slowstart=0.0)
    scheduler.handle(NodeJoined(0.0, Node(node_id="n", map_slots=4, reduce_slots=0)))
    for job in (map_reduce("a", 4, 1.0, 1, pool="p"), map_reduce("b", 4, 1.0, 1, pool="q")):
        scheduler.handle(JobSubmitted(0.0, job, {}, True))
        scheduler.handle(Tick(0.0))

    assert ["q"] == pools_in(policy)
    assert ["p", "q"] == pools_in(policy, REDUCE)
