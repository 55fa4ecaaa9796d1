"""Composing a scheduler and a simulation as the tests need them."""

from sluice.core.rules import Rules
from sluice.core.scheduler import Policies, Scheduler
from sluice.model.cluster import Cluster, Node
from sluice.model.ids import NodeId
from sluice.model.job import Job, Phase
from sluice.model.lengths import ConstantLengths, ListedLengths
from sluice.model.slot_kind import SlotKind
from sluice.policies.defaults import AdmitAll, KeepPools, ReleaseOnArrival
from sluice.policies.orders.fifo import Fifo
from sluice.simulation.driver import Simulation
from sluice.simulation.settings import SimulationSettings


def scheduler_of(tasks=None, *, pools=(), **rules):
    """A scheduler that takes every job, releases it at once, and places by `tasks` (FIFO)."""
    policies = Policies(
        admission=AdmitAll(), release=ReleaseOnArrival(), tasks=tasks or Fifo(), pools=KeepPools()
    )
    return Scheduler(policies, pools=pools, rules=Rules(**rules))


def simulate(cluster, jobs, tasks=None, *, seed=0, slowstart=1.0, pools=(), **settings):
    """Run the jobs in virtual time; the scheduler's state as it is at the end."""
    by_heartbeat = settings.get("heartbeat_s", 0.0) > 0
    scheduler = scheduler_of(tasks, pools=pools, slowstart=slowstart, by_heartbeat=by_heartbeat)
    Simulation(scheduler, cluster, jobs, settings=SimulationSettings(**settings), seed=seed).run()
    return scheduler.state


def totals(map_slots, reduce_slots):
    """A cluster that is one pool of slots of each kind."""
    node = Node(node_id=NodeId("n"), map_slots=map_slots, reduce_slots=reduce_slots)
    return Cluster(nodes=(node,), is_totals=True)


def even_nodes(count, map_slots, reduce_slots, *, racks=0):
    """Nodes all alike, in racks of three or so if there are racks."""
    nodes = tuple(
        Node(
            node_id=NodeId(f"n{index}"),
            rack=f"r{index % max(1, racks)}",
            map_slots=map_slots,
            reduce_slots=reduce_slots,
        )
        for index in range(count)
    )
    return Cluster(nodes=nodes, has_racks=racks > 0)


def map_reduce(job_id, maps=0, map_s=1.0, reduces=0, reduce_s=1.0, *, pool="p", at_s=0.0):
    """A job of `maps` x `map_s` and `reduces` x `reduce_s`; tuples of lengths go task by task."""
    phases: list[Phase] = []
    for kind, tasks, length_s in (
        (SlotKind.MAP, maps, map_s),
        (SlotKind.REDUCE, reduces, reduce_s),
    ):
        if tasks:
            lengths = (
                ListedLengths(length_s)
                if isinstance(length_s, tuple)
                else ConstantLengths(length_s, length_s)
            )
            after = (0,) if phases else ()
            phases.append(
                Phase(name=kind.value, kind=kind, tasks=tasks, lengths=lengths, after=after)
            )
    return Job(job_id=job_id, pool=pool, phases=tuple(phases), submitted_at_s=at_s)


def completions_s(state):
    """When each job ended, in the order of submission."""
    return [job.finished_at_s for job in state.jobs.values()]


def trace(state):
    """One line for each attempt, in the order of their ends: all that a run can be known by."""
    return [
        "|".join(
            str(part)
            for part in (
                attempt.key, attempt.launch.tasks, attempt.launch.node_id,
                attempt.launch.slot_kind.value, attempt.launch.slots, attempt.launch.locality,
                attempt.started_at_s, attempt.finished_at_s, attempt.shuffled_at_s,
                attempt.state.value, attempt.launch.is_copy, attempt.launch.reason,
                attempt.is_undone,
            )
        )
        for attempt in state.closed
    ]  # fmt: skip
