"""A slot is lent only where the node has free what the borrower demands."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import sluice
from sluice.api.simulate import Scheduling, simulated
from sluice.core.events import JobSubmitted, NodeLost, Tick
from sluice.core.reasons import ReasonCode
from sluice.model.ids import JobId
from sluice.policies.dynamicmr.pool_independent import PoolIndependent
from sluice.policies.rooms.loanable import Loanable

LENT = ("lent", "lent-by-pool")
MAPS_ALONE = """
version: 1
cluster:
  nodes: 2
  node: {{map_slots: 2, reduce_slots: 2, cpu: 100}}
settings: {{contention: {contention}}}
jobs: [{{id: j, maps: {{tasks: 24, avg_s: 10}}, demand: {{map: {{cpu: {cpu}}}}}}}]
"""


class Ledger:
    """The demands of what runs on each node, and the slots that were lent."""

    def __init__(self):
        self.demands = {}
        self.loans = self.crowded = 0

    def began(self, attempt):
        demand = attempt.phase.phase.demand.work.cpu
        running = self.demands.setdefault(attempt.node.node_id, [])
        if attempt.slot_kind is not attempt.phase.kind:
            self.loans += 1
            self.crowded += bool(running and demand and sum(running) + demand > 100)
        running.append(demand)

    def ended(self, attempt):
        self.demands[attempt.node.node_id].remove(attempt.phase.phase.demand.work.cpu)


def ledger_of(workload, tasks, **given):
    """The ledger of a simulation, after which all jobs have ended."""
    ledger = Ledger()
    scheduler, _ = simulated(
        workload,
        Scheduling(tasks=tasks, settings=given, seed=3),
        on_start=lambda started: started.state.observe_attempts(ledger),
    )
    assert all(job.has_ended for job in scheduler.state.jobs.values())
    assert not any(ledger.demands.values())
    return ledger


@pytest.mark.parametrize("slots", LENT)
@pytest.mark.parametrize(
    ("cpu", "contention", "lend", "is_lent"),
    [
        (50, "shared", "where_it_fits", False),  # two maps fill a node
        (25, "shared", "where_it_fits", True),
        (0, "shared", "where_it_fits", True),
        (50, "none", "where_it_fits", True),  # no task slows down another
        (50, "shared", "anywhere", True),
    ],
)
def test_nodes_that_are_used_up_lend_no_slot(slots, cpu, contention, lend, is_lent):
    workload = sluice.parse_workload(MAPS_ALONE.format(cpu=cpu, contention=contention))

    found = ledger_of(workload, f"order=fair+slots={slots}", **{"slots.lend": lend})

    assert is_lent == (found.loans > 0)


@pytest.mark.parametrize("slots", LENT)
def test_a_task_that_fits_no_node_still_runs(slots):
    """Its demand is above all nodes, and there is no slot of its own kind: one at a time."""
    workload = sluice.parse_workload("""
    version: 1
    cluster: {nodes: 1, node: {map_slots: 2, reduce_slots: 0, cpu: 100}}
    settings: {contention: shared}
    jobs: [{id: j, reduces: {tasks: 3, avg_s: 10}, demand: {reduce: {cpu: 150}}}]
    """)

    found = ledger_of(workload, f"order=fair+slots={slots}")

    assert (3, 0) == (found.loans, found.crowded)


@pytest.mark.interpreted  # it listens to what comes to the scheduler
@pytest.mark.parametrize("slots", LENT)
def test_the_reason_names_the_resources(slots):
    """Maps that wait for the map slots of two full nodes whose reduce slots are free."""
    workload = sluice.parse_workload(MAPS_ALONE.format(cpu=50, contention="shared"))
    reasons = set()

    def watch(scheduler):
        handle, state, tasks = scheduler.handle, scheduler.state, scheduler.policies.tasks

        def handled(event):
            for job in state.active.values() if event.at_s > state.now_s else ():
                if job.phases[0].pending.count:
                    reasons.add(tasks.explain(job.phases[0], state, state.now_s).text())
            return handle(event)

        scheduler.handle = handled

    simulated(workload, Scheduling(tasks=f"order=fair+slots={slots}"), on_start=watch)

    assert len(reasons) == 1
    assert "no node with a free reduce slot has the free resources that" in reasons.pop()


@pytest.mark.parametrize("slots", LENT)
def test_an_idle_node_that_is_lost_is_no_node_that_lends(slots):
    """All of its slots are free, and no task runs there: but the node that is left is used up."""
    workload = sluice.parse_workload(MAPS_ALONE.format(cpu=50, contention="shared"))
    scheduler, _ = simulated(workload, Scheduling(tasks=f"order=fair+slots={slots}"))
    state = scheduler.state
    scheduler.handle(NodeLost(state.now_s, next(iter(state.nodes))))
    later = replace(workload.jobs[0], job_id=JobId("later"))
    scheduler.handle(JobSubmitted(state.now_s, later, {}))
    scheduler.handle(Tick(state.now_s))
    (phase,) = state.jobs[later.job_id].phases

    assert 2 == phase.running
    why = scheduler.policies.tasks.explain(phase, state, state.now_s)
    assert ReasonCode.LOANS_DO_NOT_FIT is why.code
    assert Loanable().explain(phase, state) is None, "where nothing runs, each node may lend"
    for node_id in state.nodes:
        scheduler.handle(NodeLost(state.now_s, node_id))
    assert Loanable().explain(phase, state) is None, "no node is left"


amounts = st.sampled_from([0, 10, 30, 60, 100])
job_texts = st.builds(
    "maps: {{tasks: {0[0]}, avg_s: 7}}, reduces: {{tasks: {1[0]}, avg_s: 5}},"
    " demand: {{map: {{cpu: {0[1]}}}, reduce: {{cpu: {1[1]}}}}}, submitted_at_s: {2}".format,
    st.tuples(st.integers(1, 9), amounts), st.tuples(st.integers(0, 9), amounts),
    st.integers(0, 30),
)  # fmt: skip


@pytest.mark.interpreted
@settings(max_examples=60, deadline=None)
@given(
    jobs=st.lists(job_texts, min_size=1, max_size=5),
    parts=st.sampled_from(
        ["order=fair", "order=fifo", "order=ltrf+goals=guarded", "order=fair+copies=late",
         "order=fair+data=delay", "order=fair+data=prescheduling"]
    ),
    slots=st.sampled_from(LENT),
    world=st.sampled_from([{"jitter": 0.3}, {"task_failure": 0.1}, {"heartbeat_s": 3.0}]),
)  # fmt: skip
def test_no_borrower_begins_on_a_node_that_is_used_up(jobs, parts, slots, world):
    """Each borrower fits, or has the node to itself; and all work ends."""
    listed = ", ".join(f"{{id: j{number}, {job}}}" for number, job in enumerate(jobs))
    workload = sluice.parse_workload(
        "version: 1\ncluster: {nodes: 2, node: {map_slots: 2, reduce_slots: 1, cpu: 100}}\n"
        f"jobs: [{listed}]"
    )
    ledger = ledger_of(workload, f"{parts}+slots={slots}", contention="shared", **world)

    assert not ledger.crowded
    event(f"slots were lent: {ledger.loans > 0}")


@pytest.mark.interpreted  # it counts calls
@pytest.mark.parametrize("nodes", [6, 16])  # fewer and more than are grouped by their slots
@pytest.mark.parametrize("goals", ["off", "guarded"])
def test_nodes_that_are_used_up_are_left_alone_while_nothing_changes_on_them(
    monkeypatch, nodes, goals
):
    """Two maps fill a node, whose reduce slots stay free; many other tasks end meanwhile."""
    counts: Counter[str] = Counter()

    def counted(name, function):
        def call(*given):
            counts[name] += 1
            return function(*given)

        return call

    monkeypatch.setattr(Loanable, "_may_borrow", counted("asked", Loanable._may_borrow))
    monkeypatch.setattr(PoolIndependent, "fill", counted("offers", PoolIndependent.fill))
    maps = 20 * nodes
    workload = sluice.parse_workload(
        f"""
        version: 1
        cluster: {{nodes: {nodes}, node: {{map_slots: 2, reduce_slots: 2, cpu: 100}}}}
        settings: {{contention: shared, jitter: 0.3}}
        jobs:
          - {{id: a, maps: {{tasks: {maps}, avg_s: 10}}, demand: {{map: {{cpu: 50}}}}}}
          - {{id: b, maps: {{tasks: {maps}, avg_s: 10}}, demand: {{map: {{cpu: 50}}}}}}
        """
    )

    tasks = f"order=fair+goals={goals}+slots=lent"
    simulated(workload, Scheduling(tasks=tasks, seed=3))

    assert counts["offers"] < 3 * 2 * maps
    assert counts["asked"] < 6 * 2 * maps
