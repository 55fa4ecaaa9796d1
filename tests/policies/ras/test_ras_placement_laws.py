"""RAS: what every placement keeps, from any state of slots. Source: RAS spec, section 12."""

import math
import random
from dataclasses import replace

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.policies.ras.worlds import capacities, held, need, needs_of_jobs, trackers

from sluice.model.errors import InvalidInput
from sluice.policies.ras.control_cycle import CycleRules, CycleState, paper_utility, run_cycle
from sluice.policies.ras.placement import JobNeed, NodeCapacity, Placement

COPIES = 5
either_loop = pytest.mark.parametrize("loop", ["repaired", "printed"])


def cycles(nodes, jobs, loop="repaired", count=3):
    """Several cycles in a row, while jobs make progress and finish."""
    state, results = CycleState(), []
    for _ in range(count):
        result = run_cycle(nodes, jobs, state, CycleRules(loop=loop))
        results.append((jobs, state, result))
        placement = result.placement
        state = CycleState(
            map_slots=placement.slots_by_id(placement.maps_on),
            reduce_slots=placement.slots_by_id(placement.reduces_on),
        )
        jobs = [advanced(job) for job in jobs]
    return results


def advanced(job):
    """The job a while later: a third of its maps are done."""
    left = job.maps_left - math.ceil(job.maps_left / 3)
    return job.__class__(
        **{name: getattr(job, name) for name in job.__slots__}
        | {"maps_left": left, "in_reduce_phase": left == 0}
    )


def use_by_formula(placement, node):
    """The use of a node, from the formula of section 4 alone."""
    use = [0.0] * len(placement.nodes[node].capacity)
    for index, job in enumerate(placement.jobs):
        maps = placement.maps_on[node].get(index, 0)
        reduces = placement.reduces_on[node].get(index, 0)
        placed = sum(on.get(index, 0) for on in placement.maps_on)
        for r in range(len(use)):
            fetch = job.shuffle_demand[r] + min(placed, COPIES) * job.shuffle_per_map[r]
            each = job.reduce_demand[r] if job.in_reduce_phase else fetch
            use[r] += maps * job.map_demand[r] + reduces * each
    return use


@either_loop
@settings(max_examples=60, deadline=None)
@given(nodes=capacities(), jobs=needs_of_jobs())
def test_no_node_is_promised_more_than_it_has(loop, nodes, jobs):
    """Unless its reduces alone exceed it, after their profile has changed."""
    for _, _, result in cycles(nodes, jobs, loop):
        placement = result.placement
        for node, capacity in enumerate(placement.nodes):
            use = use_by_formula(placement, node)
            assert pytest.approx(use, abs=1e-6) == placement.use(node)
            if placement.maps_on[node]:
                assert all(u <= c + 1e-6 for u, c in zip(use, capacity.capacity, strict=True))


@either_loop
@settings(max_examples=60, deadline=None)
@given(nodes=capacities(), jobs=needs_of_jobs())
def test_no_job_has_more_slots_than_tasks(loop, nodes, jobs):
    for _, _, result in cycles(nodes, jobs, loop):
        placement = result.placement
        for index, job in enumerate(placement.jobs):
            assert placement.map_slots[index] <= job.maps_left
            assert placement.reduce_slots[index] <= job.reduces_left


@either_loop
@settings(max_examples=60, deadline=None)
@given(nodes=capacities(), jobs=needs_of_jobs())
def test_placed_reduces_never_move(loop, nodes, jobs):
    for _, state, result in cycles(nodes, jobs, loop):
        now = result.placement.slots_by_id(result.placement.reduces_on)
        for job, on in state.reduce_slots.items():
            for node, count in on.items():
                assert now[job][node] >= count


@either_loop
@settings(max_examples=60, deadline=None)
@given(nodes=capacities(), jobs=needs_of_jobs())
def test_after_a_cycle_no_map_fits_anywhere(loop, nodes, jobs):
    for _, _, result in cycles(nodes, jobs, loop):
        placement = result.placement
        assert not any(
            placement.has_map_room(job, node)
            for job in range(len(placement.jobs))
            for node in range(len(nodes))
        )


@settings(max_examples=100, deadline=None)
@given(nodes=capacities(), jobs=needs_of_jobs())
def test_the_lowest_utility_never_falls_between_rounds(nodes, jobs):
    for _, _, result in cycles(nodes, jobs):
        lowest = list(result.lowest_by_round)
        event(f"rounds: {len(lowest)}")
        assert sorted(lowest) == lowest


def could_host(placement, job, node):
    """Whether a map of the job fits if all other jobs keep only what leaves them one slot each."""
    left = list(placement.reduce_use[node])
    for other, count in placement.maps_on[node].items():
        if count == placement.map_slots[other]:
            for r, amount in enumerate(placement.jobs[other].map_demand):
                left[r] += amount
    return all(
        used + wanted <= most
        for used, wanted, most in zip(
            left, placement.jobs[job].map_demand, placement.limits[node], strict=True
        )
    )


@settings(max_examples=100, deadline=None)
@given(
    nodes=capacities(nodes_max=3),
    jobs=needs_of_jobs(jobs_max=6, grows=st.just((0.0, 0.0, 0.0))),
    early=st.integers(0, 4),
)
def test_no_job_gets_nothing_while_others_have_slots_to_spare(nodes, jobs, early):
    """Erratum E4, for any number of jobs, of which some arrive when others hold the nodes."""
    before = run_cycle(nodes, jobs[:early]).placement
    state = CycleState(
        map_slots=before.slots_by_id(before.maps_on),
        reduce_slots=before.slots_by_id(before.reduces_on),
    )
    placement = run_cycle(nodes, jobs, state).placement
    starving = [
        job
        for job, one in enumerate(placement.jobs)
        if one.maps_left and not placement.map_slots[job]
    ]
    event(f"jobs without a slot: {bool(starving)}")

    assert not any(
        could_host(placement, job, node) for job in starving for node in range(len(nodes))
    )


def newcomer_starves(seed, loop):
    """Whether a newcomer gets nothing though others could spare enough, from a random state."""
    rng = random.Random(f"{seed}/newcomer")
    kinds = ("sort", "combine", "select")
    first = [need(f"a{i}", rng.choice(kinds), 40, rng.randint(1, 6)) for i in range(3)]
    nodes = trackers(rng.randint(1, 2))
    before = run_cycle(nodes, first).placement
    jobs = [*first, need("new", "sort", 10, 2, at_s=1.0)]
    state = CycleState(map_slots=before.slots_by_id(before.maps_on))
    placement = run_cycle(nodes, jobs, state, CycleRules(loop=loop)).placement
    last = placement.job_index["new"]
    return not placement.map_slots[last] and any(
        could_host(placement, last, node) for node in range(len(nodes))
    )


def test_the_printed_loop_starves_newcomers_and_the_repaired_one_does_not():
    """Erratum E4 over 60 random states."""
    starved = {
        loop: sum(newcomer_starves(seed, loop) for seed in range(60))
        for loop in ("printed", "repaired")
    }

    assert 0 == starved["repaired"]
    assert starved["printed"] >= 5


@settings(max_examples=60, deadline=None)
@given(count=st.integers(1, 5), reduces=st.lists(st.integers(0, 6), min_size=1, max_size=4))
def test_reduces_spread_evenly_where_nothing_binds(count, reduces):
    jobs = [need(f"j{i}", "combine", 1, 1, number) for i, number in enumerate(reduces)]
    placement = run_cycle(trackers(count, 1e6, 1e6, 1e6), jobs).placement

    totals = [sum(on.values()) for on in placement.reduces_on]
    assert max(totals) - min(totals) <= 1
    assert sum(reduces) == sum(totals)


@pytest.mark.parametrize("profile", ["sort", "combine"])
def test_reduces_leave_room_for_the_maps_that_they_wait_for(profile):
    """Spec section 5.2: memory 100, 4 reduces that shuffle with 25 each; a map needs some, too."""
    job = need("j", profile, 8, 2, 4, shuffle=(0.0, 0.0, 25.0))
    placement = run_cycle(trackers(1, 1e6, 1e6, 100.0), [job]).placement

    assert placement.map_slots[0] >= 1
    assert 1 <= placement.reduce_slots[0] <= 3


@settings(max_examples=60, deadline=None)
@given(nodes=capacities(), jobs=needs_of_jobs(shuffles=held))
def test_one_shuffling_reduce_can_always_work_while_the_others_wait(nodes, jobs):
    """Otherwise the reduces of a node could wait for each other for ever."""
    placement = run_cycle(nodes, jobs).placement
    for node, capacity in enumerate(nodes):
        shuffling = [
            placement.jobs[job]
            for job, count in placement.reduces_on[node].items()
            for _ in range(count)
            if not placement.jobs[job].in_reduce_phase
        ]
        for r, most in enumerate(capacity.capacity):
            fetches = [j.shuffle_demand[r] + COPIES * j.shuffle_per_map[r] for j in shuffling]
            for job, fetch in zip(shuffling, fetches, strict=True):
                more = max(0.0, job.reduce_demand[r] - fetch)
                assert sum(fetches) + more <= most + 1e-6


@either_loop
@settings(max_examples=30, deadline=None)
@given(nodes=capacities(), jobs=needs_of_jobs(), seed=st.integers(0, 99))
def test_the_order_of_the_input_does_not_matter(loop, nodes, jobs, seed):
    shuffled = list(jobs)
    random.Random(seed).shuffle(shuffled)
    one = run_cycle(nodes, jobs, rules=CycleRules(loop=loop)).placement
    other = run_cycle(nodes, shuffled, rules=CycleRules(loop=loop)).placement

    assert one.slots_by_id(one.maps_on) == other.slots_by_id(other.maps_on)
    assert one.slots_by_id(one.reduces_on) == other.slots_by_id(other.reduces_on)


def test_a_shuffle_grows_no_more_once_it_fetches_from_as_many_maps_as_it_may():
    """Two reduces fetch 20 from each of at most two maps: 80 of 100, and 80 with a third map."""
    sort = JobNeed(
        job_id="j", submitted_at_s=0.0, maps_left=4, reduces_left=2, map_slots_needed=4,
        map_demand=(10.0, 0.0, 0.0), shuffle_demand=(0.0, 0.0, 0.0),
        shuffle_per_map=(0.0, 20.0, 0.0), reduce_demand=(10.0, 0.0, 0.0),
    )  # fmt: skip
    placement = Placement(trackers(1), [sort], paper_utility, parallel_copies=2)
    for _ in range(2):
        placement.add_reduce(0, 0)
        placement.add_map(0, 0)

    assert placement.has_map_room(0, 0)
    placement.add_map(0, 0)
    assert 80.0 == placement.use(0)[1]


def test_of_two_equally_rich_jobs_the_junior_one_makes_room():
    """Five slots each of 20 are taken; the newcomer's map needs one, and gets it from b."""
    wide = {"map_demand": (20.0, 0.0, 0.0), "reduces_left": 0}
    jobs = [
        replace(need(name, "select", 9, 2, at_s=at_s), **wide)
        for name, at_s in (("a", 0.0), ("b", 1.0), ("new", 2.0))
    ]
    state = CycleState(map_slots={"a": {"n1": 5}, "b": {"n1": 5}})
    placement = run_cycle(trackers(1, 200.0, 100.0, 100.0), jobs, state).placement

    assert [4, 3, 3] == placement.map_slots


def test_surplus_slots_go_first_where_no_task_runs():
    """Trim: 5 slots, 3 maps left; the node with the most idle slots loses them."""
    state = CycleState(map_slots={"j": {"n1": 2, "n2": 3}}, running_maps={"j": {"n1": 2, "n2": 1}})
    placement = run_cycle(trackers(2), [need("j", "select", 3, 1)], state).placement

    assert {"j": {"n1": 2, "n2": 1}} == placement.slots_by_id(placement.maps_on)


def test_a_node_above_capacity_after_the_switch_of_a_profile_loses_maps():
    """Spec section 5.1: the job's reduces start to count with 60 memory instead of 0."""
    jobs = [
        need("done", "sort", 0, 0, 1, in_reduce_phase=True),
        need("rich", "combine", 3, 1, at_s=1.0),
        need("poor", "combine", 30, 30, at_s=2.0),
    ]
    state = CycleState(
        map_slots={"rich": {"n1": 2}, "poor": {"n1": 2}}, reduce_slots={"done": {"n1": 1}}
    )
    nodes = [NodeCapacity(node_id="n1", capacity=(90.0, 100.0, 100.0))]
    placement = run_cycle(nodes, jobs, state).placement

    assert not placement.is_over(0)
    assert [0, 1, 1] == placement.map_slots


@settings(max_examples=20, deadline=None)
@given(nodes=capacities(nodes_max=2), jobs=needs_of_jobs(jobs_max=3))
def test_jobs_that_have_ended_and_nodes_that_are_lost_leave_no_slots(nodes, jobs):
    state = CycleState(
        map_slots={"gone": {"n0": 3}, jobs[0].job_id: {"lost": 2}}, reduce_slots={"gone": {"n0": 1}}
    )
    placement = run_cycle(nodes, jobs, state).placement
    fresh = run_cycle(nodes, jobs).placement

    assert fresh.slots_by_id(fresh.maps_on) == placement.slots_by_id(placement.maps_on)


@pytest.mark.parametrize(
    ("state", "what"),
    [
        ({"map_slots": {"j": {"n1": -1}}}, "slots is -1"),
        ({"map_slots": {"j": {"n1": 1.5}}}, "slots is 1.5"),
        ({"reduce_slots": {"j": {"n1": -2}}}, "slots is -2"),
    ],
)
def test_wrong_slots_are_refused(state, what):
    with pytest.raises(InvalidInput, match=what):
        run_cycle(trackers(1), [need("j", "sort", 3, 1, 2)], CycleState(**state))


def test_a_job_that_is_listed_twice_is_refused():
    with pytest.raises(InvalidInput, match="job 'j' is listed twice"):
        run_cycle(trackers(1), [need("j", "sort", 3, 1), need("j", "sort", 3, 1)])


@pytest.mark.parametrize("amount", [0.0, -1.0, math.nan])
def test_a_capacity_that_is_not_above_zero_is_refused(amount):
    with pytest.raises(InvalidInput, match="a capacity is"):
        NodeCapacity(node_id="n", capacity=(amount,))
