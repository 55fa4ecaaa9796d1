"""A session over connections that break anywhere: each message once, and in order."""

import struct

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from sluice.engines.cluster.session import ACK_MESSAGES, DRIFT_MAX, Kind, NodeClock, Session
from sluice.engines.cluster.wire import BrokenConnection

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from("ab")),
        st.tuples(st.just("send"), st.sampled_from("ab")),
        st.tuples(st.just("beat"), st.sampled_from("ab")),
        st.tuples(st.just("carry"), st.sampled_from("ab")),
        st.tuples(st.just("break"), st.just("")),
    ),
    max_size=80,
)


class Pair:
    """Two sides, and what is on its way from each to the other."""

    def __init__(self):
        self.sides = {"a": Session(lambda: 0.0), "b": Session(lambda: 0.0)}
        self.put: dict[str, list[bytes]] = {"a": [], "b": []}
        self.taken: dict[str, list[bytes]] = {"a": [], "b": []}
        self.on_the_way: dict[str, list[bytes]] = {"a": [], "b": []}
        self.lost = 0

    def step(self, what, who):
        if what == "put":
            payload = f"{who}{len(self.put[who])}".encode()
            self.put[who].append(payload)
            self.sides[who].put(payload)
        elif what == "send":
            self.on_the_way[who] += self.sides[who].unsent()
        elif what == "beat":
            # A heartbeat follows what was put before it: both sides send before they beat.
            self.step("send", who)
            self.on_the_way[who].append(self.sides[who].empty(Kind.BEAT))
        elif what == "carry" and self.on_the_way[who]:
            other = "ab".replace(who, "")
            arrival = self.sides[other].take(self.on_the_way[who].pop(0))
            if arrival.payload:
                self.taken[other].append(arrival.payload)
        elif what == "break":
            self.lost += sum(map(len, self.on_the_way.values()))
            self.on_the_way = {"a": [], "b": []}
            self.sides["a"].resume(self.sides["b"].received)
            self.sides["b"].resume(self.sides["a"].received)

    def finish(self):
        self.step("break", "")
        for who in "ab":
            self.step("beat", who)
            while self.on_the_way[who]:
                self.step("carry", who)


@given(STEPS)
def test_each_message_arrives_once_and_in_order_over_any_breaks(steps):
    pair = Pair()
    for what, who in steps:
        pair.step(what, who)
    pair.finish()

    event(f"messages lost on the way: {min(pair.lost, 5)}")
    assert pair.taken["b"] == pair.put["a"]
    assert pair.taken["a"] == pair.put["b"]


def test_what_was_acknowledged_is_not_kept():
    node, driver = Session(), Session()
    for number in range(10):
        node.put(b"%d" % number)
    for body in node.unsent()[:7]:
        driver.take(body)
    assert node.kept_bytes == 10
    node.take(driver.empty(Kind.ACK))

    assert node.kept_bytes == 3


def test_a_message_that_arrives_again_is_dropped():
    node, driver = Session(), Session()
    node.put(b"once")
    (body,) = node.unsent()

    assert [driver.take(body).payload, driver.take(body).payload] == [b"once", b""]


def test_a_gap_breaks_the_connection_also_when_only_a_heartbeat_shows_it():
    node, driver = Session(), Session()
    node.put(b"first")
    node.put(b"second")
    _, second = node.unsent()

    with pytest.raises(BrokenConnection, match="message 2 where 1 was due"):
        driver.take(second)
    with pytest.raises(BrokenConnection):
        driver.take(node.empty(Kind.BEAT))


@pytest.mark.parametrize(
    "body", [b"", b"M", b"Z" + bytes(24), struct.pack("!cQQd", b"A", 0, 5, 0.0)]
)
def test_nonsense_breaks_the_connection(body):
    with pytest.raises(BrokenConnection):
        Session().take(body)


def test_a_resumption_that_claims_too_much_breaks_the_connection():
    session = Session()
    session.put(b"only one")

    with pytest.raises(BrokenConnection, match="2 messages acknowledged; 1 were sent"):
        session.resume(2)


def test_an_acknowledgement_is_due_after_many_messages():
    node, driver = Session(), Session()
    for number in range(ACK_MESSAGES):
        assert not driver.is_ack_due
        node.put(b"%d" % number)
        for body in node.unsent():
            driver.take(body)
    assert driver.is_ack_due
    driver.empty(Kind.ACK)

    assert not driver.is_ack_due


# --- clocks ---------------------------------------------------------------------------------------


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
