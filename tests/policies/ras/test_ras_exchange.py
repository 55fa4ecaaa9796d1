"""RAS: the pruned exchange loop gives the same slots as the loop of the spec, step by step."""

from unittest import mock

from hypothesis import event, given, settings
from tests.policies.ras.worlds import capacities, held, needs_of_jobs

from sluice.policies.ras import map_exchange
from sluice.policies.ras.control_cycle import paper_utility, run_cycle
from sluice.policies.ras.placement import Placement
from sluice.policies.ras.reducer_spread import ReducerSpread


def key(placement, job):
    return (placement.utility[job], job)


def pruned(nodes, jobs):
    """As it runs, with the preselection that otherwise needs more candidates."""
    with mock.patch.object(map_exchange, "_FEW", 1):
        return run_cycle(nodes, jobs).placement


def by_the_spec(nodes, jobs, rounds=10):
    """Section 5.3 as it is written, without any pruning."""
    placement = Placement(nodes, jobs, paper_utility)
    ReducerSpread(placement).place(list(range(len(jobs))))
    everyone = range(len(jobs))
    for _ in range(rounds):
        before = sorted(placement.utility)
        for node in range(len(nodes)):
            while any(
                exchanged(placement, job, node)
                for job in sorted(everyone, key=lambda job: key(placement, job))
                if placement.has_unplaced_maps(job) and placement.fits_without_maps(job, node)
            ):
                pass
        if sorted(placement.utility) <= before:
            break
    placed = True
    while placed:
        placed = False
        for node in range(len(nodes)):
            fitting = [job for job in everyone if placement.has_map_room(job, node)]
            if fitting:
                placement.add_map(min(fitting, key=lambda job: key(placement, job)), node)
                placed = True
    return placement


def exchanged(placement, job, node):
    floor = placement.utility[job]
    removed: list[int] = []
    while not placement.has_map_room(job, node):
        richer = [
            other
            for other in placement.maps_on[node]
            if other != job and placement.utility_less[other] > floor
        ]
        if not richer:
            for other in removed:
                placement.add_map(other, node)
            return False
        removed.append(max(richer, key=lambda other: key(placement, other)))
        placement.add_map(removed[-1], node, -1)
    placement.add_map(job, node)
    return True


@settings(max_examples=150, deadline=None)
@given(nodes=capacities(nodes_max=5), jobs=needs_of_jobs(jobs_max=8))
def test_pruning_changes_no_slot(nodes, jobs):
    one, other = pruned(nodes, jobs), by_the_spec(nodes, jobs)
    event(f"slots: {sum(one.map_slots) // 10}")

    assert other.slots_by_id(other.maps_on) == one.slots_by_id(one.maps_on)


@settings(max_examples=50, deadline=None)
@given(nodes=capacities(nodes_max=3), jobs=needs_of_jobs(jobs_max=8, shuffles=held, grows=held))
def test_pruning_changes_no_slot_where_shuffles_bind(nodes, jobs):
    one, other = pruned(nodes, jobs), by_the_spec(nodes, jobs)

    assert other.slots_by_id(other.maps_on) == one.slots_by_id(one.maps_on)
