"""A few seeds of `tests.live.ray_chaos`; many by `python -m tests.live.ray_chaos --kills 30`."""

import pytest
from tests.effort import first_of
from tests.live.ray_chaos import KILLS_PER_RUN, campaign


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.xdist_group("ray")
@pytest.mark.parametrize("seed", first_of([5, 3, 2], 1))
def test_kills_in_a_run_over_ray_lose_nothing_and_do_nothing_twice(tmp_path, seed):
    """Of a raylet, an agent, a node server and the driver, in an order that the seed gives.

    Reduces start early: they wait for maps in their slots, fetch over the network, and are taken
    over.
    """
    runs = list(campaign(tmp_path, seed, kills=KILLS_PER_RUN, slowstart=0.1))

    assert sum(chaos.kills.total() for chaos, _ in runs) >= KILLS_PER_RUN - 1
    assert any(lives.nodes_lost for _, lives in runs)
    assert any("starts early" in chaos.place.story("words") for chaos, _ in runs)
