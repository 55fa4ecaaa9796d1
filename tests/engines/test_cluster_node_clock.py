"""The clock of a node: the least delayed frame gives the difference."""

from hypothesis import given
from hypothesis import strategies as st

from sluice.engines.cluster.node_clock import DRIFT_MAX, NodeClock

DELAYS = st.lists(st.floats(0.0, 5.0), min_size=1, max_size=30)


@given(st.floats(-1e5, 1e5), DELAYS)
def test_the_difference_is_wrong_by_the_smallest_delay_and_the_drift_since(ahead_s, delays_s):
    clock, here_s = NodeClock(), 0.0
    for second, delay_s in enumerate(delays_s):
        here_s = max(here_s, second + delay_s)  # frames do not overtake each other
        clock.observe(node_s=second + ahead_s, here_s=here_s)
    error_s = ahead_s - clock.ahead_s
    last_s = len(delays_s) + 5.0

    assert -1e-6 <= error_s <= delays_s[0] + DRIFT_MAX * last_s + 1e-6


def test_an_instant_is_never_later_than_the_frame_that_holds_it():
    clock = NodeClock()
    clock.observe(node_s=50.0, here_s=10.0)
    clock.observe(node_s=60.0, here_s=20.5)

    assert 60.0 - clock.ahead_s <= 20.5


def test_a_clock_that_drifts_is_followed():
    """The node loses 100 ppm: after a day the first frame must not count any more."""
    clock = NodeClock()
    here_s = 0.0
    for _ in range(24 * 60):
        here_s += 60.0
        clock.observe(node_s=here_s * (1 - 100e-6) + 7.0, here_s=here_s)
    true_s = 7.0 - 100e-6 * here_s

    assert abs(clock.ahead_s - true_s) < 0.01
