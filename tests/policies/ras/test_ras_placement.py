"""The effect of one more map of a job on its own shuffles, computed by hand."""

from dataclasses import replace

from tests.policies.ras.worlds import need

from sluice.policies.ras.control_cycle import paper_utility
from sluice.policies.ras.placement import NodeCapacity, Placement

MAP, REDUCE = (10.0, 45.0, 10.0), (10.0, 10.0, 10.0)
JOB = replace(
    need("j", "sort", 9, 3, 9),
    map_demand=MAP,
    shuffle_per_map=(0.0, 10.0, 0.0),
    reduce_demand=REDUCE,
)


def placement_of(*capacities, reduces_on, copies=5, job=JOB):
    """One job with that many reduces on nodes that differ in IO."""
    nodes = [
        NodeCapacity(node_id=f"n{number}", capacity=(100.0, io, 100.0))
        for number, io in enumerate(capacities)
    ]
    placement = Placement(nodes, [job], paper_utility, parallel_copies=copies)
    for node, reduces in enumerate(reduces_on):
        if reduces:
            placement.add_reduce(0, node, reduces)
    return placement


def test_a_map_needs_room_for_what_it_adds_to_the_shuffles_on_its_own_node():
    """It takes 45 of IO, and makes each of two shuffles take 10 more."""
    assert placement_of(65.0, reduces_on=[2]).has_map_room(0, 0)
    assert not placement_of(64.0, reduces_on=[2]).has_map_room(0, 0)
    assert placement_of(64.0, reduces_on=[1]).has_map_room(0, 0)


def test_a_map_needs_room_for_what_it_adds_to_the_shuffles_on_other_nodes():
    assert placement_of(45.0, 20.0, reduces_on=[0, 2]).has_map_room(0, 0)
    assert not placement_of(45.0, 19.0, reduces_on=[0, 2]).has_map_room(0, 0)
    assert placement_of(45.0, 19.0, reduces_on=[0, 1]).has_map_room(0, 0)


def test_no_shuffle_grows_beyond_its_parallel_copies():
    """Two reduces fetch from one map at a time: 20 of IO, however many maps run."""
    placement = placement_of(100.0, 20.0, reduces_on=[0, 2], copies=1)
    placement.add_map(0, 0)

    assert (0.0, 20.0, 0.0) == placement.use(1)
    assert placement.has_map_room(0, 0)
    placement.add_map(0, 0)
    assert (0.0, 20.0, 0.0) == placement.use(1)


def test_a_map_beyond_the_parallel_copies_adds_nothing_to_the_shuffles_of_its_node():
    """Two maps take 90 of IO, and the two shuffles 20 from the first map on."""
    placement = placement_of(110.0, reduces_on=[2], copies=1)
    placement.add_map(0, 0)

    assert placement.has_map_room(0, 0)
    placement.add_map(0, 0)
    assert (20.0, 110.0, 20.0) == placement.use(0)
    assert not placement.has_map_room(0, 0)


def test_what_one_more_map_overloads_is_known_by_node_and_amount():
    placement = placement_of(100.0, 15.0, 20.0, reduces_on=[0, 2, 2])
    tolerance = 1e-6  # a node may be overloaded by its rounding

    ((node, lacking),) = placement.overgrown(0, 0)
    assert 1 == node
    assert [True, True, True] == [
        abs(amount - wanted) < tolerance
        for amount, wanted in zip(lacking, (0.0, 5.0, 0.0), strict=True)
    ]
    assert [] == list(placement.overgrown(0, 1))  # the others bear it
    assert (True, False) == (placement.is_blocked(0, 0), placement.is_blocked(0, 1))


def test_reduces_that_leave_a_node_make_room_for_maps_on_others():
    placement = placement_of(45.0, 19.0, reduces_on=[0, 2])
    assert placement.is_blocked(0, 0)

    placement.add_reduce(0, 1, -1)

    assert not placement.is_blocked(0, 0)
    assert placement.has_map_room(0, 0)


def test_the_loss_of_maps_frees_what_their_shuffles_take():
    """Three maps, one copy fewer counts: two reduces on the node fetch from 2 maps, then from 1."""
    placement = placement_of(200.0, 200.0, reduces_on=[2, 0], copies=2)
    placement.add_map(0, 0, 3)
    free = [0.0, 0.0, 0.0]

    placement.add_shuffle_freed(free, 0, 0, 1)
    assert [0.0, 0.0, 0.0] == free
    placement.add_shuffle_freed(free, 0, 0, 2)
    assert [0.0, 20.0, 0.0] == free
    placement.add_shuffle_freed(free, 0, 1, 2)  # it has no reduce there
    assert [0.0, 20.0, 0.0] == free


# --- reduces --------------------------------------------------------------------------------------


def test_all_shuffles_of_a_node_fit_at_their_most_together():
    """Each fetches from 5 maps at once, 50 of IO, though no map runs yet, and works with 10."""
    assert placement_of(100.0, reduces_on=[1]).has_reduce_room(0, 0)
    assert not placement_of(99.5, reduces_on=[1]).has_reduce_room(0, 0)
    assert placement_of(50.0, reduces_on=[0]).has_reduce_room(0, 0)


def test_the_work_of_any_one_reduce_fits_while_the_others_shuffle():
    """It takes 70 of IO, 20 more than its shuffle."""
    job = replace(JOB, reduce_demand=(10.0, 70.0, 100.0))
    assert placement_of(120.0, reduces_on=[1], job=job).has_reduce_room(0, 0)
    assert not placement_of(119.5, reduces_on=[1], job=job).has_reduce_room(0, 0)

    too_large = replace(job, reduce_demand=(10.0, 70.0, 101.0))
    assert not placement_of(120.0, reduces_on=[0], job=too_large).has_reduce_room(0, 0)


def test_a_job_has_no_more_reduce_slots_than_reduces():
    job = replace(JOB, reduces_left=2, shuffle_per_map=(0.0, 0.0, 0.0))

    assert placement_of(100.0, reduces_on=[1], job=job).has_reduce_room(0, 0)
    assert not placement_of(100.0, reduces_on=[2], job=job).has_reduce_room(0, 0)


def test_a_reduce_that_can_work_needs_room_for_its_work_alone():
    """Nine reduces of 10 each fill the 90 of IO."""
    job = replace(JOB, maps_left=0, map_slots_needed=0, in_reduce_phase=True, reduces_left=10)

    assert placement_of(90.0, reduces_on=[8], job=job).has_reduce_room(0, 0)
    assert not placement_of(90.0, reduces_on=[9], job=job).has_reduce_room(0, 0)
