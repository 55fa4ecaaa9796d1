"""Nodes, jobs and placements that the tests of RAS share."""

from dataclasses import replace

from hypothesis import strategies as st
from tests.runs import scheduler_of

from sluice.model.cluster import Cluster, Node
from sluice.model.job import Demand, Job, Phase
from sluice.model.lengths import ConstantLengths
from sluice.model.resources import Resources
from sluice.model.slot_kind import SlotKind
from sluice.policies.ras.placement import JobNeed, NodeCapacity
from sluice.policies.ras.policy import Ras
from sluice.simulation.driver import Simulation
from sluice.simulation.settings import SimulationSettings

# Table 2 of the paper: map, shuffle for each map placed, reduce; cpu, io, memory.
PROFILES = {
    "sort": ((30.0, 45.0, 25.0), (0.0, 0.15, 0.0), (20.0, 50.0, 60.0)),
    "combine": ((25.0, 10.0, 10.0), (0.0, 0.015, 0.0), (10.0, 10.0, 25.0)),
    "select": ((15.0, 20.0, 10.0), (0.0, 0.015, 0.0), (10.0, 10.0, 25.0)),
}
NOTHING = (0.0, 0.0, 0.0)


def trackers(count, *capacity):
    """Nodes n1, n2, .. of 100 percent of each resource."""
    amounts = capacity or (100.0, 100.0, 100.0)
    return [NodeCapacity(node_id=f"n{i + 1}", capacity=amounts) for i in range(count)]


def need(job_id, profile, maps_left, needed, reduces_left=0, *, at_s=0.0, shuffle=NOTHING, **more):
    """A job with one of the profiles of the paper."""
    of_map, per_map, of_reduce = PROFILES[profile]
    return JobNeed(
        job_id=job_id,
        submitted_at_s=at_s,
        maps_left=maps_left,
        reduces_left=reduces_left,
        map_slots_needed=needed,
        map_demand=of_map,
        shuffle_demand=shuffle,
        shuffle_per_map=per_map,
        reduce_demand=of_reduce,
        **more,
    )


amounts = st.integers(0, 10).map(lambda tenth: tenth * 6.0)
above_zero = st.integers(1, 10).map(lambda tenth: tenth * 6.0)
demands = st.tuples(above_zero, amounts, amounts)
held = st.tuples(above_zero, above_zero, above_zero).map(lambda v: tuple(x / 3 for x in v))
small = st.tuples(st.just(0.0), st.sampled_from([0.0, 0.5, 2.0]), st.just(0.0))


@st.composite
def job_needs(draw, job_id, *, shuffles=NOTHING, grows=small):
    """A job whose tasks fit a node of 100 percent of each resource."""
    maps = draw(st.integers(0, 12))
    return JobNeed(
        job_id=job_id,
        submitted_at_s=float(draw(st.integers(0, 3))),
        maps_left=maps,
        reduces_left=draw(st.integers(0, 4)),
        map_slots_needed=draw(st.integers(0, maps)),
        map_demand=draw(demands),
        shuffle_demand=draw(shuffles) if isinstance(shuffles, st.SearchStrategy) else shuffles,
        shuffle_per_map=draw(grows),
        reduce_demand=draw(demands),
        in_reduce_phase=maps == 0,
    )


@st.composite
def needs_of_jobs(draw, *, jobs_max=5, **more):
    """Several jobs."""
    count = draw(st.integers(1, jobs_max))
    return [draw(job_needs(f"j{index}", **more)) for index in range(count)]


def capacities(*, nodes_max=4):
    """Nodes of different size; each has room for any one task."""
    amount = st.sampled_from([100.0, 100.0, 150.0, 200.0])
    node = st.tuples(amount, amount, amount)
    return st.lists(node, min_size=1, max_size=nodes_max).map(
        lambda found: [
            NodeCapacity(node_id=f"n{i}", capacity=capacity) for i, capacity in enumerate(found)
        ]
    )


# --- whole simulations ----------------------------------------------------------------------------


def resources(amounts):
    return Resources(cpu=amounts[0], io=amounts[1], memory=amounts[2])


def cluster_of(nodes):
    """The nodes as a cluster without slots."""
    return Cluster(
        nodes=tuple(Node(node_id=node.node_id, capacity=resources(node.capacity)) for node in nodes)
    )


def job_of(job_need, *, map_s=10.0, reduce_s=15.0, goal_at_s=None):
    """A job with the tasks and demands of a need."""
    phases = []
    if job_need.maps_left:
        work = Demand(work=resources(job_need.map_demand))
        phases.append(_phase(SlotKind.MAP, job_need.maps_left, map_s, work, ()))
    if job_need.reduces_left:
        work = Demand(
            work=resources(job_need.reduce_demand),
            fetch=resources(job_need.shuffle_demand),
            fetch_per_map=resources(job_need.shuffle_per_map),
        )
        after = (0,) if phases else ()
        phases.append(_phase(SlotKind.REDUCE, job_need.reduces_left, reduce_s, work, after))
    return Job(
        job_id=job_need.job_id,
        pool="p",
        phases=tuple(phases),
        submitted_at_s=job_need.submitted_at_s,
        deadline_at_s=goal_at_s,
    )


def _phase(kind, tasks, task_s, demand, after):
    lengths = ConstantLengths(task_s, task_s)
    return Phase(
        name=kind.value, kind=kind, tasks=tasks, lengths=lengths, after=after, demand=demand
    )


class GateKeeper(Ras):
    """RAS that remembers which reduces were let into their work."""

    def __init__(self, settings=None):
        super().__init__(settings)
        self.let_in = set()
        self.refused = 0

    def may_begin_work(self, attempt, state, now_s):
        is_in = super().may_begin_work(attempt, state, now_s)
        if is_in:
            self.let_in.add(attempt.key)
        else:
            self.refused += 1
        return is_in


def simulation(policy, cluster, jobs, *, seed=0, **settings):
    """A scheduler and a simulation that have not started."""
    world = SimulationSettings(**settings)
    scheduler = scheduler_of(policy, by_heartbeat=world.heartbeat_s > 0)
    return scheduler, Simulation(scheduler, cluster, jobs, settings=world, seed=seed)


def with_settings(**settings):
    """A policy that remembers, with these settings."""
    return GateKeeper(replace(Ras.Settings(), **settings))
