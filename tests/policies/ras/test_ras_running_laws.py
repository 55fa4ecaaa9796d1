"""RAS in whole simulations: nothing is overloaded at any time, whatever fails or is lost."""

from dataclasses import replace

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.policies.ras.worlds import (
    capacities,
    cluster_of,
    held,
    job_of,
    need,
    needs_of_jobs,
    simulation,
    trackers,
    with_settings,
)

from sluice.core.transitions import AttemptState, JobState
from sluice.model.resources import NOTHING
from sluice.model.slot_kind import SlotKind
from sluice.policies.ras.placement import NodeCapacity

NONE_EACH = (0.0, 0.0, 0.0)

FAULTS = {
    "none": {},
    "lost nodes": {"node_mtbf_s": 300.0, "node_repair_s": 40.0, "node_timeout_s": 20.0},
    "failures": {"task_failure": 0.1},
    "stragglers": {"p_slow": 0.2, "jitter": 0.3},
}
worlds = st.fixed_dictionaries(
    {
        "heartbeat_s": st.sampled_from([0.0, 3.0]),
        "seed": st.integers(0, 99),
        "contention": st.sampled_from(["none", "shared"]),
        "faults": st.sampled_from(sorted(FAULTS)),
    }
)
runnable = needs_of_jobs(jobs_max=4, shuffles=held).map(
    lambda jobs: [job for job in jobs if job.maps_left or job.reduces_left]
)


def use_of(node, state, policy, works):
    """The amounts that attempts on a node use now; a reduce has the profile of its real work."""
    used = NOTHING
    for attempt in state.running.values():
        if attempt.node is not node:
            continue
        demand = attempt.phase.phase.demand
        if attempt.key in works or attempt.key in policy.let_in:
            used += demand.work
            continue
        maps = sum(p.running for p in attempt.phase.job.phases if p.kind is SlotKind.MAP)
        used += demand.fetch + demand.fetch_per_map.scaled(min(maps, 5))
    return used.amounts()


def watched(nodes, jobs, *, faults, seed, **world):
    """Run, and check the use of every node after each event; how often a reduce was held back."""
    policy = with_settings(period_s=10.0)
    scheduler, run = simulation(
        policy, cluster_of(nodes), [job_of(job) for job in jobs], seed=seed, **world,
        **FAULTS[faults],
    )  # fmt: skip
    state, handle = scheduler.state, scheduler.handle
    works = set()  # attempts that never had to wait for input

    def checked(happening):
        before = set(state.running)
        commands = handle(happening)
        for key in state.running.keys() - before:
            phase = state.running[key].phase
            if phase.kind is SlotKind.MAP or phase.has_inputs:
                works.add(key)
        for node in state.nodes.values():
            used = use_of(node, state, policy, works)
            most = node.node.capacity.amounts()
            # The network has no capacity here, and no demand.
            assert all(u <= m + 1e-6 for u, m in zip(used[:3], most[:3], strict=True))
        return commands

    scheduler.handle = checked
    run.run()
    return state, policy


@pytest.mark.interpreted
@settings(max_examples=60, deadline=None)
@given(nodes=capacities(nodes_max=3), jobs=runnable, world=worlds)
def test_no_node_ever_runs_more_than_it_has_and_all_work_ends(nodes, jobs, world):
    state, policy = watched(nodes, jobs, **world)
    event(f"{world['faults']}: {'held back' if policy.refused else 'none held back'}")

    assert not state.running
    allowed = {JobState.DONE, JobState.FAILED} if world["faults"] == "failures" else {JobState.DONE}
    assert {job.state for job in state.jobs.values()} <= allowed


@pytest.mark.interpreted
def test_reduces_that_hold_what_a_failed_map_needs_give_way():
    """Nine reduces of four jobs shuffle on one node, and no map fits next to them any more."""
    first = replace(
        need("j0", "sort", 3, 3, 3, at_s=3.0),
        map_demand=(60.0, 30.0, 60.0), shuffle_demand=(6.0, 10.0, 14.0),
        shuffle_per_map=NONE_EACH, reduce_demand=(6.0, 0.0, 6.0),
    )  # fmt: skip
    others = [
        replace(
            first,
            job_id=f"j{number}", submitted_at_s=2.0, maps_left=5, reduces_left=2,
            map_slots_needed=0, map_demand=(60.0, 60.0, 12.0), shuffle_demand=(10.0, 18.0, 8.0),
            shuffle_per_map=(0.0, 0.5, 0.0), reduce_demand=(42.0, 54.0, 36.0),
        )
        for number in (1, 2, 3)
    ]  # fmt: skip
    node = NodeCapacity(node_id="n0", capacity=(100.0, 150.0, 200.0))
    state, _ = watched(
        [node], [first, *others], faults="failures", seed=88, contention="shared", heartbeat_s=3.0
    )

    assert {JobState.DONE} == {job.state for job in state.jobs.values()}
    killed = [one for one in state.closed if one.state is AttemptState.KILLED]
    assert killed
    assert all(one.phase.kind is SlotKind.REDUCE for one in killed)


def test_reduces_are_held_back_until_their_work_fits():
    """Two reduces of 60 memory shuffle on one node; the second works when the first has ended."""
    policy = with_settings(period_s=10.0)
    job = job_of(need("j", "sort", 4, 2, 2))
    scheduler, run = simulation(policy, cluster_of(trackers(1)), [job])
    run.run()
    state = scheduler.state
    reduces = sorted(
        (a.shuffled_at_s, a.finished_at_s) for a in state.closed if a.phase.kind is SlotKind.REDUCE
    )

    assert policy.refused > 0
    assert reduces[1][0] >= reduces[0][1]
