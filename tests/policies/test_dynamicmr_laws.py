"""The laws of DynamicMR, whatever the world does: dynamicmr spec, section 12, under faults.

Seen to fail with these bugs planted, one at a time: weights ignored; prescheduling that lends
against a fraction of 0, or takes a map that lies elsewhere; one copy more than the cap, a second
copy of a task, a copy on the node of the first attempt; the printed target of lending (E1); either
mode without its balance line; borrowers counted among the demand for their own slots; PD lending
half of what it may, PI lending at fraction 0; what a pool's cap holds back counted as load; the
loser of two copies counted as well. Of the last two: map slots without a line; PD lending half.
"""

from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.policies.lending import BOTH_MODES, dynamicmr
from tests.policies.lending_laws import Watched, each_task_once
from tests.policies.pool_worlds import crowds, distinct_jobs, pools, starts
from tests.runs import completions_s, map_reduce, scheduler_of, simulate
from tests.strategies import clusters, job_lists

from sluice.core.transitions import JobState
from sluice.model.cluster import Cluster, Node
from sluice.policies.rooms.static_slots import StaticSlots
from sluice.simulation.driver import Simulation
from sluice.simulation.settings import SimulationSettings

FAULTS = {
    "none": {},
    "lost nodes": {"node_mtbf_s": 40.0, "node_repair_s": 5.0, "node_timeout_s": 10.0},
    "failures": {"task_failure": 0.1},
    "stragglers": {"p_slow": 0.2, "p_hang": 0.03, "task_timeout_s": 60.0, "jitter": 0.2},
    "slow nodes": {"p_slow_node": 0.4, "slow_node_factor": 5.0},
}
PARTS: dict[str, dict[str, Any]] = {
    "lending": {},
    "copies": {"speculation": "late", "min_age_s": 2.0, "spec_cap": 0.5},
    "SEPB": {"speculation": "late", "sepb": 0.6, "min_age_s": 2.0, "kill_slow": True},
    "prescheduling": {"prescheduling": True, "reduce_slots_lent_max": 2},
    "all": {
        "speculation": "late", "sepb_mode": "pool", "sepb_pool": 1.0, "min_age_s": 2.0,
        "kill_slow": True, "prescheduling": True, "spec_cap": 2.0,
    },
}  # fmt: skip

racked = st.sampled_from([1, 2, 3]).flatmap(lambda racks: clusters(nodes_max=5, racks_max=racks))
policies = st.fixed_dictionaries(
    {
        "mode": st.sampled_from(BOTH_MODES),
        "order": st.sampled_from(["fair", "fair", "fifo"]),
        "pct_map": st.sampled_from([1.0, 1.0, 0.5, 0.0]),
        "pct_reduce": st.sampled_from([1.0, 1.0, 0.5, 0.0]),
        "w_reduce": st.sampled_from([1.0, 1.0, 1.0, 2.0, 0.5, 1.5]),
        "case5": st.sampled_from(["at_once", "after_wait"]),
    }
)
worlds = st.fixed_dictionaries(
    {
        "heartbeat_s": st.sampled_from([3.0, 3.0, 0.0]),
        "seed": st.integers(0, 99),
        "slowstart": st.sampled_from([1.0, 1.0, 0.3, 0.0]),
        "faults": st.sampled_from(sorted(FAULTS)),
        "parts": st.sampled_from(sorted(PARTS)),
        "waits": st.sampled_from([(0.0, 0.0), (4.5, 4.5)]),
    }
)


def run(cluster, jobs, policy, world, of_pools=()):
    """A run under the laws. Waits and unplaced data do not go with the law of idle slots."""
    chosen = {**policy, **PARTS[world["parts"]], "heartbeat_s": world["heartbeat_s"]}
    node_wait_s, rack_wait_s = world["waits"]
    chosen |= {"node_wait_s": node_wait_s, "rack_wait_s": rack_wait_s}
    scheduler = scheduler_of(
        dynamicmr(**chosen),
        pools=of_pools,
        slowstart=world["slowstart"],
        by_heartbeat=world["heartbeat_s"] > 0,
    )
    watched = Watched(scheduler, chosen)
    # With waits slots may idle, and a FIFO takes one remote map a heartbeat.
    watched.expects_full = not (any(world["waits"]) or chosen["order"] == "fifo")
    simulated = SimulationSettings(heartbeat_s=world["heartbeat_s"], **FAULTS[world["faults"]])
    Simulation(scheduler, cluster, jobs, settings=simulated, seed=world["seed"]).run()
    return watched


@pytest.mark.interpreted
@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(
    cluster=racked,
    jobs=st.one_of(job_lists(), crowds()),
    policy=policies,
    world=worlds,
    of_pools=pools(),
)
def test_the_laws_hold_at_every_decision(cluster, jobs, policy, world, of_pools):
    watched = run(cluster, jobs, policy, world, of_pools)

    state = watched.state
    assert not state.running
    assert [] == each_task_once(state)
    may_fail = world["faults"] in {"failures", "stragglers"}
    allowed = {JobState.DONE, JobState.FAILED} if may_fail else {JobState.DONE}
    assert {job.state for job in state.jobs.values()} <= allowed
    for what in ("BORROWED_SLOT", "SPECULATED", "kills", "LENT_AHEAD", "LENT_BACK", "EXTRA_SLOT",
                 "RIGHT_OF_WAY", "full", "below load 1"):  # fmt: skip
        if watched.seen[what]:
            event(what)


@pytest.mark.interpreted
@settings(max_examples=30, deadline=None)
@given(
    cluster=clusters(nodes_max=3),
    jobs=job_lists(jobs_max=4, tasks_max=25),
    mode=st.sampled_from(BOTH_MODES),
    world=worlds,
    of_pools=pools(),
)
def test_no_slot_idles_while_a_task_waits_that_may_start(cluster, jobs, mode, world, of_pools):
    """Section 12, where the work exceeds the slots, as it does with these. Loads turn round when
    one job's maps end and its reduces begin, while borrowers of the time before still run.
    """
    world = world | {"parts": "lending", "waits": (0.0, 0.0)}
    watched = run(cluster, jobs, {"mode": mode, "order": "fair"}, world, of_pools)

    event("full" if watched.seen["full"] > 5 else "never full")
    event("lent" if watched.seen["BORROWED_SLOT"] else "never lent")


@settings(max_examples=60, deadline=None)
@given(cluster=clusters(nodes_max=5), jobs=job_lists(), world=worlds)
def test_with_nothing_lent_pool_independent_is_static(cluster, jobs, world):
    """Section 12. The very same attempts, whatever the load."""
    run = {key: world[key] for key in ("heartbeat_s", "seed", "slowstart")}
    run |= FAULTS[world["faults"]]
    ours = simulate(cluster, distinct_jobs(jobs), dynamicmr(pct_map=0.0, pct_reduce=0.0), **run)
    static = simulate(cluster, distinct_jobs(jobs), StaticSlots(), **run)

    assert starts(static) == starts(ours)


@settings(max_examples=60, deadline=None)
@given(
    maps=st.integers(1, 60),
    reduces=st.integers(1, 60),
    map_s=st.integers(1, 20).map(float),
    reduce_s=st.integers(1, 20).map(float),
    slots=st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=4),
    heartbeat_s=st.sampled_from([0.0, 3.0]),
)
def test_a_job_alone_takes_as_long_under_either_mode(
    maps, reduces, map_s, reduce_s, slots, heartbeat_s
):
    """Section 12: within 2 %. With one pool there is nothing to be fair about."""
    cluster = Cluster(
        nodes=tuple(
            Node(node_id=f"n{number}", map_slots=map_slots, reduce_slots=reduce_slots)
            for number, (map_slots, reduce_slots) in enumerate(slots)
        )
    )
    job = map_reduce("j", maps, map_s, reduces, reduce_s)
    ends_s = [
        completions_s(simulate(cluster, [job], dynamicmr(mode=mode), heartbeat_s=heartbeat_s))[0]
        for mode in BOTH_MODES
    ]

    assert ends_s[1] == pytest.approx(ends_s[0], rel=0.02, abs=heartbeat_s)
