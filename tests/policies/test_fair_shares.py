"""The arithmetic of fair shares. Source: dynamicmr spec, section 5.1 and golden example G5.

The properties were seen to fail with: a tie going to the last claimant; a level one too high; the
product with a weight that overflows; a pool that gets `rho * weight` below its minimum.
"""

import math

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from tests.policies.fluid_shares import fair_shares

from sluice.policies.orders.fair_shares import Claim, _below, fill

weights = st.sampled_from([0.1, 0.3, 0.5, 0.7, 1.0, 1.0, 1.0, 2.0, 3.0, 7.7])
extreme_weights = st.sampled_from([5e-324, 1e-310, 1e-300, 0.1, 1.0, 1e15, 1e300, 1e308])


def claims(weight):
    claim = st.builds(Claim, running=st.integers(0, 30), waiting=st.integers(0, 40), weight=weight)
    return st.lists(claim, max_size=6)


def one_by_one(slots, claims):
    """Each slot in turn to the least running / weight; equal ones as they stand."""
    given_out = [0] * len(claims)
    for _ in range(slots):
        wanting = [i for i, claim in enumerate(claims) if given_out[i] < claim.waiting]
        if not wanting:
            break
        best = min(wanting, key=lambda i: (claims[i].running + given_out[i]) / claims[i].weight)
        given_out[best] += 1
    return given_out


@given(slots=st.integers(0, 120), claims=claims(weights))
def test_filling_equals_handing_out_one_by_one(slots, claims):
    event("poured" if slots > 2 * len(claims) > 0 else "stepwise")
    assert one_by_one(slots, claims) == fill(slots, claims)


@given(slots=st.integers(0, 120), claims=claims(extreme_weights))
def test_filling_copes_with_weights_as_far_apart_as_floats_can_be(slots, claims):
    """A workload file may give any weight above 0; quotients and products then overflow."""
    assert one_by_one(slots, claims) == fill(slots, claims)


@pytest.mark.parametrize("weight", [1 / 3, 0.1, 0.7, 1.1])
def test_slots_below_a_level_are_those_whose_quotients_are(weight):
    """At levels just above and below a step, the product with the weight may round across it."""
    claim = Claim(24, 30, weight)
    steps = [(claim.running + count) / weight for count in range(claim.waiting)]
    for step in steps:
        for level in (math.nextafter(step, 0), step, math.nextafter(step, math.inf)):
            assert _below(level, claim) == sum(one < level for one in steps)


def test_golden_g5_shares_of_sixty_slots():
    """Section 7, G5: rho is 14."""
    pools = [(1.0, 0.0, 12.0), (1.0, 20.0, 100.0), (2.0, 0.0, 100.0)]

    assert [12.0, 20.0, 28.0] == fair_shares(60, pools)


shares_of_pools = st.lists(
    st.tuples(weights, st.integers(0, 10).map(float), st.integers(0, 40).map(float)),
    min_size=1,
    max_size=6,
)


@given(slots=st.integers(0, 100), pools=shares_of_pools)
def test_shares_give_out_all_there_is_and_no_more_than_is_wanted(slots, pools):
    """Unless the guarantees alone are more than there is: then each gets its guarantee."""
    shares = fair_shares(slots, pools)
    guaranteed = math.fsum(min(least, demand) for _, least, demand in pools)
    wanted = math.fsum(demand for _, _, demand in pools)
    event("guarantees exceed the slots" if guaranteed > slots else "slots suffice")

    assert math.fsum(shares) == pytest.approx(max(guaranteed, min(slots, wanted)), abs=1e-6)
    for share, (_, least, demand) in zip(shares, pools, strict=True):
        assert min(least, demand) - 1e-9 <= share <= demand + 1e-9


@given(slots=st.integers(0, 100), pools=shares_of_pools)
def test_one_level_holds_for_all_whom_neither_demand_nor_guarantee_holds(slots, pools):
    """The one rho: share / weight of those strictly between their guarantee and their demand."""
    shares = fair_shares(slots, pools)
    levels = [
        share / weight
        for share, (weight, least, demand) in zip(shares, pools, strict=True)
        if least + 1e-6 < share < demand - 1e-6
    ]

    assert not levels or max(levels) - min(levels) <= 1e-6 * max(1.0, *levels)
