"""Nodes that can use no slot for a task that waits, nor for a copy, are not offered.

Each run is the same as if all were.

The tests were seen to fail with: copies that are refused for ever, or although only their own node
asked; slots beyond the line that are not looked at; data that no node is near to, or that are
waited for without a refusal; groups that do not follow their nodes.
"""

from collections import Counter

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.in_events import look_after_decisions
from tests.policies.test_contract import FAULTS, OffersAll, worlds
from tests.policies.test_data_waits import LENGTHS_S
from tests.runs import even_nodes, map_reduce, scheduler_of, simulate, trace
from tests.strategies import clusters, job_lists

from sluice.bootstrap.scheduler import policy
from sluice.bootstrap.settings import resolved_settings
from sluice.policies.decorator import Decorator
from sluice.policies.rooms.nodes_alike import NodesAlike
from sluice.simulation.driver import Simulation
from sluice.simulation.settings import SimulationSettings

racked = clusters(nodes_max=8, racks_max=2)
WAITS = ("node_wait_s=4.5", "rack_wait_s=3")
COPIES = ("speculation=late", "min_age_s=4", "spec_cap=0.5")
LENT = {
    "a part": ("pct_map=0.6", "pct_reduce=0.3"),
    "nothing": ("pct_map=0", "pct_reduce=0"),
    "wide maps": ("w_map=2",),
    "wide reduces": ("w_reduce=1.5", "pct_map=0.5"),
    "in pools": ("mode=pd", "pct_reduce=0.3"),
    "in pools, after waits": ("mode=pd", "case5=after_wait", *WAITS),
    "in pools, ahead": ("mode=pd", "prescheduling=true", "pct_reduce=0.3"),
    "by fifo": ("order=fifo", "pct_reduce=0.3"),
    "ahead": ("prescheduling=true", "pct_reduce=0.3"),
    "after waits": WAITS,
    "ahead after waits": ("prescheduling=true", "w_map=2", *WAITS),
}
MORE = {
    "alone": (),
    "copies": COPIES,
    "copies behind tasks": (*COPIES, "sepb=0.6"),
    "one copy": ("speculation=late", "min_age_s=1", "spec_cap=1", "kill_slow=true"),
}


def policy_with(name, given):
    return policy("tasks", name, resolved_settings({}, list(given)))


def seen(name, given, cluster, jobs, world):
    """The runs of a world with all nodes offered, and with those of use."""
    world |= {"heartbeat_s": 0.0}  # with heartbeats, every node that reports is offered
    faults = FAULTS[world.pop("faults")]
    return [
        trace(simulate(cluster, jobs, tasks, **world, **faults))
        for tasks in (OffersAll(policy_with(name, given)), policy_with(name, given))
    ]


@pytest.mark.no_invariants  # the tests of the contract check them
@pytest.mark.parametrize("lent", LENT)
@settings(max_examples=25, deadline=None)
@given(st.sampled_from(sorted(MORE)), racked, job_lists(tasks_max=20), worlds)
def test_a_run_with_lent_slots_is_the_same_as_if_all_were_offered(lent, more, cluster, jobs, world):
    expected, found = seen("dynamicmr", LENT[lent] + MORE[more], cluster, jobs, world)

    assert expected == found
    event(more)


@pytest.mark.no_invariants  # as above
@settings(max_examples=50, deadline=None)
@given(st.sampled_from(sorted(MORE)), racked, job_lists(tasks_max=20), worlds)
def test_a_run_with_copies_and_waits_is_the_same_as_if_all_were_offered(more, cluster, jobs, world):
    expected, found = seen("fair", WAITS + MORE[more], cluster, jobs, world)

    assert expected == found


class CountsOffers(Decorator):
    """Counts the offers, and those of them after which nothing has started."""

    def __init__(self, inner):
        super().__init__(inner)
        self.offers = Counter[str]()

    def fill(self, offer):
        before = offer.state.busy
        super().fill(offer)
        self.offers["in vain" if offer.state.busy == before else "of use"] += 1


@pytest.mark.no_invariants  # as above
@pytest.mark.parametrize(
    ("name", "given"),
    [
        # In pools that wait, each pool is asked for itself, so that no node refuses all jobs.
        *[("dynamicmr", given) for how, given in LENT.items() if how != "in pools, after waits"],
        ("dynamicmr", (*WAITS, *COPIES)),
        ("fair", (*WAITS, *COPIES)),
    ],
)
def test_hardly_any_node_is_offered_in_vain(name, given):
    """100 nodes, of which most have room of some kind all the time."""
    jobs = [map_reduce(f"j{n}", 60, LENGTHS_S, 10, 9.0, at_s=n) for n in range(20)]
    tasks = CountsOffers(policy_with(name, given))
    state = simulate(even_nodes(100, 2, 2, racks=10), jobs, tasks, p_slow=0.1)

    assert 20 * 70 == sum(phase.done for job in state.jobs.values() for phase in job.phases)
    assert tasks.offers["in vain"] < 2 * 20 * 70


@pytest.mark.interpreted
@settings(max_examples=30, deadline=None)
@given(clusters(nodes_max=8), job_lists(tasks_max=20), st.sampled_from(["none", "lost nodes"]))
def test_each_node_with_room_is_in_the_group_of_its_free_slots(cluster, jobs, faults):
    scheduler = scheduler_of(policy_with("dynamicmr", LENT["wide maps"]))
    state = scheduler.state
    alike = NodesAlike(state)

    def check(_):
        groups = alike.groups()
        opened = state.open_nodes
        for node in state.node_at:
            found = [group.use for group in groups if group.nodes.has(node.index)]
            maps, reduces = node.free.maps, node.free.reduces
            use = (maps.total, maps.count, reduces.total, reduces.count)
            has_room = opened.maps.has(node.index) or opened.reduces.has(node.index)
            assert found == ([use] if has_room else [])
        assert all(group.nodes.first_from(0) >= 0 for group in groups)

    seen = look_after_decisions(scheduler, check)
    Simulation(scheduler, cluster, jobs, settings=SimulationSettings(**FAULTS[faults])).run()

    assert seen
