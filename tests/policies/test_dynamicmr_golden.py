"""The worked examples of dynamicmr spec, section 7: G1 to G8."""

from types import SimpleNamespace

import pytest
from tests.policies.fluid_shares import fair_shares
from tests.policies.lending import BOTH_MODES, Trackers
from tests.runs import map_reduce

from sluice.core.commands import Kill
from sluice.core.events import TaskFinished
from sluice.core.indexes.free_slots import SlotSpan
from sluice.core.reasons import Reason, ReasonCode
from sluice.model.slot_kind import SlotKind
from sluice.policies.copies.node_scores import percentile
from sluice.policies.dynamicmr.pools import JointShare
from sluice.policies.dynamicmr.targets import Demands, Fractions, targets
from sluice.policies.orders.balance_line import balance_line

MAP, REDUCE = SlotKind.MAP, SlotKind.REDUCE
A, B = ("a", "map"), ("b", "map")
A_REDUCES = ("a", "reduce")


def g1_jobs():
    return map_reduce("a", 0, 1.0, 14, 1.0, pool="a"), map_reduce("b", 5, 1.0, pool="b")


@pytest.mark.parametrize(("pct_map", "lent", "load"), [(1.0, 7, 1.0), (0.5, 3, 8 / 12)])
def test_g1_targets(pct_map, lent, load):
    wanted = targets(Demands(5, 14), 12, 6, Fractions(pct_map, 1.0), 1.0)

    assert (5 / 12, 14 / 6) == (wanted.map_load, wanted.reduce_load)
    assert (lent, 0) == (wanted.reduces_lent_max, wanted.maps_lent_max)
    assert load == wanted.map_load_lent


@pytest.mark.parametrize(("pct_reduce", "lent"), [(1.0, 7), (0.5, 3)])
def test_g1_targets_with_the_loads_the_other_way_round(pct_reduce, lent):
    wanted = targets(Demands(14, 5), 6, 12, Fractions(1.0, pct_reduce), 1.0)

    assert (0, lent) == (wanted.reduces_lent_max, wanted.maps_lent_max)
    assert (5 + lent) / 12 == wanted.reduce_load_lent


def test_slots_that_are_lent_already_are_not_lent_again():
    """4 of 5 maps run in reduce slots: 1 wants a map slot, and 11 of 12 are idle for reduces."""
    wanted = targets(Demands(5, 20, maps_lent=4), 12, 6, Fractions(), 1.0)

    assert 11 == wanted.reduces_lent_max


def test_g1_pool_independent():
    trackers = Trackers((4, 2), (4, 2), (4, 2))
    trackers.submit(*g1_jobs())

    assert {B: 4, A_REDUCES: 2} == trackers.started("n1")
    assert {B: 1, A_REDUCES: 2, A: 3} == trackers.started("n2")
    assert {A_REDUCES: 2, A: 4} == trackers.started("n3")
    assert 18 == len(trackers.state.running)
    assert 1 == trackers.state.startable


def test_g1_pool_dependent():
    trackers = Trackers((4, 2), (4, 2), (4, 2), mode="pd")
    trackers.submit(*g1_jobs())
    first = trackers.beat("n1")

    assert ["a", "b"] * 3 == [launch.key.job_id for launch in first]
    kinds = [launch.slot_kind.value for launch in first if launch.key.job_id == "a"]
    assert ["reduce", "reduce", "map"] == kinds
    assert {B: 2, A_REDUCES: 2, A: 2} == trackers.started("n2")
    assert {A_REDUCES: 2, A: 4} == trackers.started("n3")


@pytest.mark.parametrize(
    ("maps", "reduces", "weights", "started"),
    [
        (6, 0, (1.0, 1.0), [3, 0, 3]),
        (6, 0, (1.0, 2.0), [3, 0, 3]),
        (6, 0, (2.0, 1.0), [3, 0, 3]),
        (0, 6, (1.0, 1.0), [3, 0, 3]),
        (0, 6, (1.0, 2.0), [3, 0, 3]),
        (0, 6, (2.0, 1.0), [4, 0, 2]),
        (3, 3, (2.0, 1.0), [3, 0, 3]),
    ],
)
def test_by_pools_a_node_stops_at_its_share_of_all_slots(maps, reduces, weights, started):
    """Six tasks for 12 slots: each node of 4 and 2 slots fills 3.

    A reduce that weighs half a map takes half a map slot, so that a fourth starts at 2.5 slots.
    """
    w_map, w_reduce = weights
    trackers = Trackers((4, 2), (4, 2), mode="pd", w_map=w_map, w_reduce=w_reduce)
    trackers.submit(map_reduce("a", maps), map_reduce("b", 0, 1.0, reduces, 1.0))

    assert started == [len(trackers.beat(node)) for node in ("n1", "n1", "n2")]


def test_g1_says_by_its_case_why_it_borrowed():
    trackers = Trackers((4, 2), (4, 2), (4, 2))
    trackers.submit(*g1_jobs())
    trackers.beat("n1")
    borrowed = [launch for launch in trackers.beat("n2") if launch.slot_kind is MAP][-1]

    assert borrowed.reason.code is ReasonCode.BORROWED_SLOT
    assert borrowed.reason.text() == (
        "case PI 4: it runs in a borrowed map slot, because reduces asked for 2.33 and maps for"
        " 0.42 times their own slots; 2 of at most 7 reduces had borrowed before"
    )


def test_the_numbers_of_a_loan_are_equal_to_the_same_numbers_as_a_tuple():
    """They are made when they are read, each time again."""
    trackers = Trackers((4, 2), (4, 2), (4, 2))
    trackers.submit(*g1_jobs())
    trackers.beat("n1")
    reasons = [launch.reason for launch in trackers.beat("n2") if launch.slot_kind is MAP]
    borrowed = [one for one in reasons if one.code is ReasonCode.BORROWED_SLOT]
    written_out = [Reason(one.code, tuple(one.numbers)) for one in borrowed]

    assert [0, 1, 2] == [dict(one.numbers)["lent"] for one in borrowed]
    assert written_out == borrowed
    assert borrowed[0] != borrowed[1]
    assert {*written_out} == {*borrowed}


def test_g2_lending_does_not_stall_halfway():
    """Job A alone: n1 runs 2 + 4 in map slots, n2 2 + 2, n3 2, and 8 wait. The printed formula lets
    each tracker use two of its four map slots, so that n3 would start two; repaired, four.
    """
    wanted = targets(Demands(0, 20), 12, 6, Fractions(), 1.0)
    assert (12, 1.0) == (wanted.reduces_lent_max, wanted.map_load_lent)
    trackers = Trackers((4, 2), (4, 2), (4, 2))
    trackers.submit(map_reduce("a", 0, 1.0, 22, 1.0))
    assert {A_REDUCES: 2, A: 4} == trackers.started("n1")
    borrowed = [launch for launch in trackers.beat("n2") if launch.slot_kind is MAP]
    for launch in borrowed[:2]:
        trackers.finish(launch, 1.0)

    in_turn = trackers.beat("n3", 1.0)
    assert [REDUCE] * 2 + [MAP] * 4 == [launch.slot_kind for launch in in_turn]
    assert 8 - 4 == trackers.state.startable


def test_g3_balance_and_what_prescheduling_may_use_beyond_it():
    """16 maps on 9 trackers of 10/2: two each within the line, and eight more beside their data."""
    assert 2 == balance_line(16 / 90, 10)
    trackers = Trackers(*[(10, 2)] * 9, prescheduling=True, node_wait_s=9.0, rack_wait_s=9.0)
    # All blocks lie on n1, so that its line, not the want of data, is what ends case 1.
    trackers.submit(map_reduce("j", 16), locations=(("n1",),) * 16)
    launched = trackers.beat("n1")

    codes = [launch.reason.code for launch in launched]
    assert codes == [
        *[ReasonCode.OWN_SLOT] * 2,
        *[ReasonCode.EXTRA_SLOT] * 8,
        *[ReasonCode.LENT_AHEAD] * 2,
    ]
    assert dict(launched[2].reason.numbers) == {"case": "P1", "extra": 8}


@pytest.mark.parametrize("mode", BOTH_MODES)
def test_g4_slot_weights(mode):
    """One tracker of 8/4; a map takes 1, a reduce 2: 8 + 8 maps, or 4 + 4 reduces."""
    trackers = Trackers((8, 4), mode=mode, w_map=1.0, w_reduce=2.0)
    trackers.submit(map_reduce("m", 100))
    assert {("m", "map"): 8, ("m", "reduce"): 8} == trackers.started("n1")

    trackers = Trackers((8, 4), mode=mode, w_map=1.0, w_reduce=2.0)
    trackers.submit(map_reduce("r", 0, 1.0, 100, 1.0))
    assert {("r", "map"): 4, ("r", "reduce"): 4} == trackers.started("n1")


def test_g5_shares():
    assert [12, 20, 28] == fair_shares(60, [(1, 0, 12), (1, 20, 100), (2, 0, 100)])


# --- G6 and G7: LATE and SEPB ---------------------------------------------------------------------

LATE = {"speculation": "late", "min_age_s": 60.0, "order": "fifo"}


def speculating(*, job_2=(0, 4), job_3=(6, 0), **settings):
    """Three jobs in FIFO order; job 1 has a straggler, the others pending maps and reduces.

    Their waiting tasks start nowhere: pools that are capped by what runs. Only the window is in
    question here, so the gate is asked as the policy asks it.
    """
    trackers = Trackers((9, 1), (1, 1), **{**LATE, **settings})
    trackers.submit(map_reduce("job-1", 2, pool="p1"))
    trackers.beat("n1")
    for number, (maps, reduces) in ((2, job_2), (3, job_3)):
        trackers.submit(map_reduce(f"job-{number}", maps, 1.0, reduces, 1.0, pool=f"p{number}"))
    return trackers


def gate_of(trackers):
    """The gate inside the decorators."""
    policy = trackers.scheduler.policies.tasks
    while not hasattr(policy, "_gate"):
        policy = policy.inner
    return policy._gate


@pytest.mark.parametrize(
    ("settings", "may"),
    [
        ({"sepb": 0.0}, True),
        ({"sepb": 0.3}, True),
        ({"sepb": 0.6}, False),
        ({"sepb": 0.6, "pct_map": 0.0}, True),
        ({"sepb": 1.0}, False),
        ({"sepb": 1.0, "pct_map": 0.0}, False),
    ],
)
def test_g6_whose_pending_tasks_come_before_a_copy(settings, may):
    trackers = speculating(**settings)
    job = trackers.state.jobs["job-1"]

    assert 3 == len(trackers.state.active)
    assert may == gate_of(trackers).allows(job, MAP)


@pytest.mark.parametrize("sepb_pool", [0.5, 1.0])
def test_g6_by_pool_only_the_jobs_of_its_pool_are_asked(sepb_pool):
    trackers = speculating(sepb_mode="pool", sepb_pool=sepb_pool, order="fair")

    assert gate_of(trackers).allows(trackers.state.jobs["job-1"], MAP)


G7_PROGRESS = {0: 0.96, 1: 0.9, 2: 0.84, 3: 0.24, 4: 0.12}
G7_NODES = {0: "n2", 1: "n3", 2: "n2", 3: "n3", 4: "n1"}


def g7_trackers():
    """Five maps that began at 0, one on n1 and two each on n2 and n3; at 120 s they show."""
    trackers = Trackers((1, 0), (2, 0), (2, 0), **LATE, slow_node=0.0, spec_cap=5)
    trackers.submit(map_reduce("j", 5))
    launches = [launch for node in ("n1", "n2", "n3") for launch in trackers.beat(node)]
    by_node = {"n1": launches[:1], "n2": launches[1:3], "n3": launches[3:]}
    for place, progress in G7_PROGRESS.items():
        trackers.report(by_node[G7_NODES[place]].pop(0), 120.0, progress)
    return trackers


def free_a_slot(trackers, node_id):
    """A node like the others but with a map slot that idles."""
    node = trackers.state.nodes[node_id]
    node.free.maps.total += 1
    node.free.maps.give_back(SlotSpan(9, 1))
    node.node = type(node.node)(node_id=node_id, map_slots=node.node.map_slots + 1)
    trackers.state.slots[MAP] += 1


@pytest.mark.no_invariants  # slots are conjured up
@pytest.mark.parametrize(("node_id", "copies"), [("n1", 0), ("n2", 1), ("n3", 1)])
def test_g7_the_one_below_the_percentile_is_copied_but_not_on_its_own_node(node_id, copies):
    assert 0.002 == percentile([0.001, 0.002, 0.007, 0.0075, 0.008], 25)
    trackers = g7_trackers()
    free_a_slot(trackers, node_id)
    launched = trackers.beat(node_id, 120.0)

    assert copies == len(launched)
    for launch in launched:
        assert launch.is_copy
        slow = next(a for a in trackers.state.running.values() if a.node.node_id == "n1")
        assert (slow.key.task, 2) == (launch.key.task, launch.key.attempt)
        assert dict(launch.reason.numbers)["left"] == "880 s"


# --- G8: the kill rule ----------------------------------------------------------------------------


@pytest.mark.parametrize(("at_s", "kills"), [(80.0, 0), (81.0, 1), (80.001, 1)])
def test_g8_over_twice_the_mean_of_five(at_s, kills):
    trackers = Trackers((6, 0), kill_slow=True)
    trackers.submit(map_reduce("j", 6))
    *five, last = trackers.beat("n1")
    for launch, length_s in zip(five, (30.0, 35.0, 40.0, 45.0, 50.0), strict=True):
        trackers.scheduler.handle(TaskFinished(50.0, launch.key, length_s))
    commands = trackers.asked("n1", at_s)

    assert [last.key] * kills == [c.key for c in commands if isinstance(c, Kill)]


def test_g8_four_finished_ones_are_too_few():
    trackers = Trackers((6, 0), kill_slow=True)
    trackers.submit(map_reduce("j", 6))
    for launch in trackers.beat("n1")[:4]:
        trackers.scheduler.handle(TaskFinished(40.0, launch.key, 40.0))

    assert [] == [c for c in trackers.asked("n1", 500.0) if isinstance(c, Kill)]


@pytest.mark.parametrize(
    ("wanted", "slots", "lent_max", "loads"),
    [
        # 7 idle map slots hold 3 reduces, which take 6 of them.
        (Demands(5, 14), (12, 6), (3, 0), (11 / 12, 14 / 6)),
        # 7 idle reduce slots hold 14 maps, but only 8 have no slot: they take 4.
        (Demands(14, 5), (6, 12), (0, 8), (14 / 6, 9 / 12)),
        # 2 lent reduces keep 4 map slots, so that 1 of 9 maps has none; they leave 1 reduce slot.
        (Demands(9, 7, reduces_lent=2), (12, 6), (1, 1), (13 / 12, 5.5 / 6)),
        # 4 lent maps keep 2 reduce slots: 4 are left for 7 reduces, and 3 map slots hold 1 of them.
        (Demands(13, 7, maps_lent=4), (12, 6), (1, 0), (11 / 12, 9 / 6)),
    ],
)
def test_a_reduce_that_weighs_two_maps_takes_two_of_their_slots(wanted, slots, lent_max, loads):
    map_slots, reduce_slots = slots
    found = targets(wanted, map_slots, reduce_slots, Fractions(), 2.0)

    assert lent_max == (found.reduces_lent_max, found.maps_lent_max)
    assert loads == pytest.approx((found.map_load_lent, found.reduce_load_lent))


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("maps", "reduces", "place"),
    [
        # (running, demand, minimum): below the minimum of 2 x 2 + 3 x 1 units
        ((1, 4, 2), (1, 2, 1), (0, 5 / 7)),
        # below it, but what it asks for is less: 2 x 2 + 3 x 1 units
        ((1, 2, 4), (1, 1, 4), (0, 5 / 7)),
        # as many as it asks for: by its weight, as with its minimum
        ((1, 1, 2), (1, 1, 1), (1, 5 / 4)),
        ((2, 9, 2), (1, 9, 1), (1, 7 / 4)),
    ],
)
def test_slots_of_both_kinds_count_together_for_the_place_of_a_pool(maps, reduces, place):
    """A map counts 2 units, and a reduce 3. The weight of the pool is 4."""
    names = ("running", "demand", "minimum")
    shares = {
        kind: SimpleNamespace(**dict(zip(names, share, strict=True)))
        for kind, share in ((SlotKind.MAP, maps), (SlotKind.REDUCE, reduces))
    }
    order = SimpleNamespace(share=lambda _, kind: shares[kind])
    pool = SimpleNamespace(
        pool=SimpleNamespace(weight=4.0), pool_id="a", oldest=SimpleNamespace(submitted_at_s=6.0)
    )
    units = {SlotKind.MAP: 2.0, SlotKind.REDUCE: 3.0}

    assert JointShare(pool, order, units).place() == (*place, (6.0, "a"))
