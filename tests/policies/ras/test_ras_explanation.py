"""Why a task of RAS waits. A map of the sort job takes 30, 45 and 25 % of a node."""

from dataclasses import replace

from tests.policies.ras.worlds import cluster_of, job_of, need, simulation, trackers
from tests.runs import even_nodes

from sluice.core.reasons import ReasonCode
from sluice.policies.ras.placement import NodeCapacity
from sluice.policies.ras.policy import Ras


class World:
    """Jobs that run on nodes of 100 % until a test asks."""

    def __init__(self, *jobs, nodes=1, capacities=None, cluster=None, **settings):
        self.policy = Ras(replace(Ras.Settings(), period_s=10.0, **settings))
        found = capacities or trackers(nodes)
        self.scheduler, self.run = simulation(self.policy, cluster or cluster_of(found), list(jobs))

    def why(self, job_id, at_s, phase=0):
        self.run.run(until_s=at_s)
        state = self.scheduler.state
        reason = self.policy.explain(state.jobs[job_id].phases[phase], state, at_s)
        return reason.code, dict(reason.numbers)


def sort_job(job_id="j", maps=9, reduces=0, *, at_s=0.0, map_s=100.0, **more):
    return job_of(need(job_id, "sort", maps, 1, reduces, at_s=at_s), map_s=map_s, **more)


def test_a_job_that_came_between_two_cycles_waits_for_the_next():
    world = World(sort_job(), sort_job("late", at_s=13.0))

    assert (ReasonCode.AWAITS_CYCLE, {"at_s": 20.0}) == world.why("late", 14.0)
    assert ReasonCode.RESOURCE_SHORT is world.why("late", 21.0)[0]


def test_a_map_waits_for_a_resource():
    """Two maps take 90 % of the IO of each of two nodes."""
    expected = {"resource": "io", "short": 2, "nodes": 2, "slots": 4, "kind": "map"}

    assert (ReasonCode.RESOURCE_SHORT, expected) == World(sort_job(), nodes=2).why("j", 1.0)


def short_of(*resources):
    """One node for each of these, which has too little of it for a third map, or a second."""
    limits = {"cpu": (50.0, 200.0, 200.0), "io": (200.0, 80.0, 200.0)}
    return [
        NodeCapacity(node_id=f"n{number}", capacity=limits[resource])
        for number, resource in enumerate(resources)
    ]


def test_the_resource_that_is_short_on_the_most_nodes_is_named_and_of_two_the_first():
    world = World(sort_job(), capacities=short_of("io", "cpu"))
    expected = {"resource": "cpu", "short": 1, "nodes": 2, "slots": 2, "kind": "map"}
    assert (ReasonCode.RESOURCE_SHORT, expected) == world.why("j", 1.0)

    world = World(sort_job(), capacities=short_of("io", "cpu", "io"))
    expected = {"resource": "io", "short": 2, "nodes": 3, "slots": 3, "kind": "map"}
    assert (ReasonCode.RESOURCE_SHORT, expected) == world.why("j", 1.0)


def test_maps_that_read_from_others_wait_for_those_that_are_not_done():
    """Two of three maps run at a time, for 100 s."""
    job = sort_job("j", 3)
    world = World(
        replace(job, phases=(*job.phases, replace(job.phases[0], name="more", after=(0,))))
    )

    assert (ReasonCode.BARRIER, {"left": 3}) == world.why("j", 1.0, phase=1)
    assert (ReasonCode.BARRIER, {"left": 1}) == world.why("j", 101.0, phase=1)
    assert ReasonCode.RESOURCE_SHORT is world.why("j", 201.0, phase=1)[0]


def test_what_no_resource_limits_waits_for_job_slots():
    """The next cycle gives the slots of a job that has ended to another."""
    world = World(sort_job("a", 2, map_s=12.0), sort_job("b", 9, at_s=1.0), between_cycles=False)
    code, numbers = world.why("b", 13.0)

    assert ReasonCode.ROOM_AT_CYCLE is code
    assert {"slots": 1, "kind": "map", "room": 1, "nodes": 1, "at_s": 20.0} == numbers


def test_a_reduce_on_nodes_with_only_slots_waits_for_the_maps():
    world = World(job_of(need("j", "sort", 2, 1, 1), map_s=5.0), cluster=even_nodes(1, 2, 2))

    assert (ReasonCode.BARRIER, {"left": 2}) == world.why("j", 1.0, phase=1)


def test_a_reduce_waits_in_its_own_slots():
    """All three have a job slot, as they would fit as shuffles; each works with 60 % of memory."""
    world = World(sort_job("j", 1, 3, map_s=5.0, reduce_s=100.0))
    code, numbers = world.why("j", 40.0, phase=1)

    assert ReasonCode.RESOURCE_SHORT is code
    assert {"resource": "memory", "short": 1, "nodes": 1, "slots": 3, "kind": "reduce"} == numbers


def test_a_goal_is_named_with_the_slots_that_it_needs_until_it_is_past():
    world = World(sort_job(goal_at_s=450.0))
    code, numbers = world.why("j", 101.0)
    assert ReasonCode.RESOURCE_SHORT_FOR_GOAL is code
    assert 450.0 == numbers["goal_at_s"]

    assert ReasonCode.RESOURCE_SHORT_FOR_GOAL is world.why("j", 310.0)[0]
    short = World(sort_job(goal_at_s=150.0))
    assert ReasonCode.RESOURCE_SHORT_FOR_GOAL is short.why("j", 149.0)[0]
    assert ReasonCode.GOAL_PAST is short.why("j", 150.0)[0]
