"""Which nodes a run waits for, and what it says about that."""

from tests.engines.fakes import FakeEngine, node

from sluice.core.events import NodeJoined
from sluice.engines.node_arrivals import QUIET_S, NodeArrivals

NODES = [node(name, map_slots=1) for name in ("n-1", "n-2")]


class Messages:
    """A watcher that keeps the messages."""

    def __init__(self):
        self.texts = []

    def on_message(self, message):
        self.texts.append(message)


class Slow(FakeEngine):
    """Its nodes join one after the other, each `each_s` after the one before."""

    def __init__(self, each_s):
        super().__init__(nodes=NODES)
        self.each_s = each_s

    def start(self):
        for number, known in enumerate(self._nodes.values(), start=1):
            self._later(number * self.each_s, NodeJoined, known)


class Cluster(Slow):
    """It knows its nodes once the first has joined."""

    def alive(self):
        is_listed = self.clock.now_s() >= self.each_s
        return frozenset(each.node_id for each in NODES) if is_listed else None


def waited(engine, *names, patience_s):
    """(the seconds, the nodes that joined, the messages) of a wait for these nodes."""
    engine.start()
    messages = Messages()
    events = NodeArrivals(engine, engine.clock, patience_s, messages).wait(set(names))
    return engine.clock.now_s(), [event.node.node_id for event in events], messages.texts


def test_a_short_wait_needs_no_message():
    wait = waited(Slow(QUIET_S / 4), "n-1", "n-2", patience_s=60.0)
    assert (QUIET_S / 2, ["n-1", "n-2"], []) == wait


def test_a_long_wait_says_for_which_nodes_and_how_long():
    assert (
        9.0,
        ["n-1"],
        ["Waiting for nodes 'n-1', 'n-2', at most 9 s.", "Going on without node 'n-2'."],
    ) == waited(Slow(6.0), "n-1", "n-2", patience_s=9.0)


def test_many_nodes_are_counted():
    names = [f"host-{number}" for number in range(9)]
    *_, texts = waited(Slow(99.0), *names, patience_s=1.0)
    first = ", ".join(repr(name) for name in names[:5])
    assert [f"Going on without nodes {first} and 4 more."] == texts


def test_a_node_that_the_cluster_no_longer_has_is_not_waited_for():
    assert (
        4.0,
        ["n-1", "n-2"],
        ["Not waiting for node 'gone': no longer in the cluster."],
    ) == waited(Cluster(2.0), "gone", "n-1", "n-2", patience_s=120.0)
