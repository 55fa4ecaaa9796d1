"""The duties of every task policy to the house, whichever it is and whatever the world does.

Parametrised over all that are registered: a new policy is under the contract without a line here.
"""

from collections import defaultdict
from functools import cache
from itertools import pairwise, product

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.one_run import run
from tests.policies.registered import NAMES, task_policy
from tests.processes import traces_under_hash_seed
from tests.runs import map_reduce, scheduler_of, simulate, totals, trace
from tests.strategies import clusters, job_lists

from sluice.core.protocols import TaskPolicy
from sluice.core.transitions import JobState
from sluice.model.ids import NodeId
from sluice.model.slot_kind import SlotKind
from sluice.policies.decorator import Decorator
from sluice.simulation.driver import Simulation
from sluice.simulation.settings import SimulationSettings

FAULTS = {
    "none": {},
    "lost nodes": {"node_mtbf_s": 40.0, "node_repair_s": 5.0, "node_timeout_s": 10.0},
    "failures": {"task_failure": 0.1},
    "hangs": {"p_hang": 0.05, "task_timeout_s": 15.0, "p_slow": 0.1},
}

every_policy = pytest.mark.parametrize("name", NAMES)
worlds = st.fixed_dictionaries(
    {
        "heartbeat_s": st.sampled_from([0.0, 3.0]),
        "seed": st.integers(0, 99),
        "slowstart": st.sampled_from([1.0, 1.0, 0.5, 0.0]),
        "faults": st.sampled_from(sorted(FAULTS)),
    }
)
racked = st.sampled_from([1, 2]).flatmap(lambda racks: clusters(nodes_max=4, racks_max=racks))


def live(name, cluster, jobs, *, faults, **world):
    return simulate(cluster, jobs, task_policy(name), **world, **FAULTS[faults])


def places_of(attempt):
    """The slots an attempt held, one by one."""
    launch = attempt.launch
    for first, count in launch.slots:
        for slot in range(first, first + count):
            yield (launch.node_id, launch.slot_kind, slot)


def overlaps(state):
    """Pairs of attempts that held one slot at one time."""
    spans = defaultdict(list)
    for attempt in state.closed:
        for place in places_of(attempt):
            spans[place].append((attempt.started_at_s, attempt.finished_at_s, attempt.key))
    return [
        (place, before, after)
        for place, runs in spans.items()
        for before, after in pairwise(sorted(runs))
        if before[1] > after[0]
    ]


def crowded_nodes(state, cluster):
    """Nodes that at some instant ran more tasks than they have slots, of whatever kind."""
    changes: dict[NodeId, list[tuple[float, int]]] = defaultdict(list)
    for attempt in state.closed:
        changes[attempt.launch.node_id] += [
            (attempt.started_at_s, attempt.launch.tasks),
            (attempt.finished_at_s, -attempt.launch.tasks),
        ]
    crowded = []
    for node in cluster.nodes:
        tasks = 0
        for _, change in sorted(changes[node.node_id]):
            tasks += change
            if tasks > node.slots(SlotKind.CONTAINER):
                crowded.append(node.node_id)
                break
    return crowded


@every_policy
@settings(max_examples=25, deadline=None)
@given(cluster=racked, jobs=job_lists(), world=worlds)
def test_all_feasible_work_ends_and_no_slot_runs_two_tasks(name, cluster, jobs, world):
    """Every kind has a slot somewhere, so whatever fails or is lost, all jobs come to an end."""
    state = live(name, cluster, jobs, **world)
    event(f"{world['faults']}: {'some' if len(state.closed) > 40 else 'few'} attempts")

    assert [] == overlaps(state)
    assert [] == crowded_nodes(state, cluster)
    assert not state.running
    assert len(jobs) == len(state.jobs)
    may_fail = world["faults"] in {"failures", "hangs"}
    allowed = {JobState.DONE, JobState.FAILED} if may_fail else {JobState.DONE}
    assert {job.state for job in state.jobs.values()} <= allowed


@every_policy
@settings(max_examples=8, deadline=None)
@given(cluster=racked, jobs=job_lists(), world=worlds)
def test_the_same_world_gives_the_same_run(name, cluster, jobs, world):
    assert trace(live(name, cluster, jobs, **world)) == trace(live(name, cluster, jobs, **world))


class OffersAll(Decorator):
    """Is offered every node with room, whatever the policy could use there."""

    def could_use(self, slot_kind, state):
        return True

    def next_node(self, index, state):
        return TaskPolicy.next_node(self, index, state)


@every_policy
@settings(max_examples=8, deadline=None)
@given(cluster=racked, jobs=job_lists(), world=worlds)
def test_a_node_that_is_not_offered_would_have_been_given_nothing(name, cluster, jobs, world):
    world |= {"heartbeat_s": 0.0}  # with heartbeats, every node that reports is offered
    faults = FAULTS[world.pop("faults")]
    policies = (task_policy(name), OffersAll(task_policy(name)))
    one, other = (simulate(cluster, jobs, policy, **world, **faults) for policy in policies)

    assert trace(one) == trace(other)


@cache
def eventful_traces():
    """The trace of a run of each policy, at both ways of offering nodes."""
    runs = tuple(product(NAMES, [3], [0.0, 3.0]))
    return runs, [trace(run(*how)) for how in runs]


@pytest.mark.slow
@pytest.mark.no_invariants  # tests/simulation/test_two_ways_in.py recounts such runs
@pytest.mark.parametrize("hash_seed", "012")
def test_no_run_depends_on_the_hash_seed(hash_seed):
    runs, expected = eventful_traces()
    found = traces_under_hash_seed(hash_seed, runs)

    assert [] == [
        how for how, *both in zip(runs, expected, found, strict=True) if both[0] != both[1]
    ]


@every_policy
def test_it_says_what_it_is_called(name):
    assert name.partition(",")[0] == task_policy(name).name


@pytest.mark.interpreted
@settings(max_examples=40, deadline=None)
@given(clusters(nodes_max=4), job_lists())
def test_under_fifo_no_slot_idles_while_a_task_of_its_kind_waits(cluster, jobs):
    """At heartbeat 0 and without locality. Source: ordering spec, section 3."""
    scheduler = scheduler_of(task_policy("fifo"))
    state, handle = scheduler.state, scheduler.handle

    def watched(happening):
        commands = handle(happening)
        if type(happening).__name__ == "Tick":
            for kind in (SlotKind.MAP, SlotKind.REDUCE):
                free = sum(node.free[kind] for node in state.nodes.values() if node.is_up)
                waiting = sum(phase.pending.count for phase in state.backlogs[kind].phases())
                assert not (free and waiting), f"{free} free {kind.value} slots, {waiting} wait"
        return commands

    scheduler.handle = watched
    Simulation(scheduler, cluster, jobs, settings=SimulationSettings()).run()

    assert all(job.state is JobState.DONE for job in state.jobs.values())


@every_policy
def test_work_without_its_kind_of_slot_waits_and_says_so(name):
    """The run ends, the job does not, and the policy can show why without breaking."""
    state = simulate(totals(2, 0), [map_reduce("j", 3, 1.0, 2, 1.0)], task_policy(name))

    assert state.jobs["j"].state in {JobState.RUNNING, JobState.DONE}


@every_policy
@pytest.mark.parametrize("jobs", [2, 5])
def test_reduces_that_start_early_leave_room_for_the_maps(name, jobs):
    """Else each job's reduces hold what another job's maps wait for, and all wait for ever."""
    many = [map_reduce(f"j{index}", 3, 1.0, 4, 1.0, pool=f"p{index}") for index in range(jobs)]
    state = simulate(totals(1, 1), many, task_policy(name), slowstart=0.0)

    assert all(job.state is JobState.DONE for job in state.jobs.values())
