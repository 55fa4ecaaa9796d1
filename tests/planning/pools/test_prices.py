"""The price of a job by its deadline."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sluice
from sluice.planning.pools.prices import falling_prices

ENDS = st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20)), max_size=12)


@given(ENDS, st.integers(0, 21))
def test_the_price_of_a_deadline_is_that_of_the_cheapest_cluster_in_time(ends, deadline_s):
    prices = falling_prices(ends)
    asked = [one.cost_server_s for one in prices if one.deadline_s <= deadline_s]
    assert min(asked, default=math.inf) == min(
        (cost for end_s, cost in ends if end_s <= deadline_s), default=math.inf
    )
    costs = [one.cost_server_s for one in prices]
    assert costs == sorted(set(costs), reverse=True)


@pytest.mark.parametrize("deadline_s", [488, 764])
def test_a_job_that_takes_the_offer_pays_its_price(deadline_s):
    """Job 12 is the last one to come, so that nothing is in the way of what it was offered."""
    offered = sluice.vm_choice("examples/vm-pools.yaml", "12").document()["prices"]
    (price,) = [one["cost_server_s"] for one in offered if one["deadline_s"] == deadline_s]
    text = Path("examples/vm-pools.yaml").read_text("utf-8")
    assert text.count("deadline_at_s: 460") == 1
    later = sluice.parse_workload(
        text.replace("deadline_at_s: 460", f"deadline_at_s: {deadline_s}")
    )
    assert sluice.pools(later).document()["jobs"]["12"]["cost_server_s"] == price
