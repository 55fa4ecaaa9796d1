"""The books of the ApplicationMaster: one container on each node that the driver wants."""

import time

import pytest

from sluice.engines.yarn.containers import LEAVE_S, TRIES_MAX, TRY_AGAIN_S, Containers
from sluice.engines.yarn.credentials import Token
from sluice.engines.yarn.protobuf import BadMessage, Message, encoded
from sluice.engines.yarn.protocols import Allocation, Container, Ended, NodeReport, NodeState, Size

NODE = "worker:45454"
TOKEN = Token(identifier=b"i", password=b"p", kind="k", service="10.0.0.1:45454")
SMALL = Size(memory_mb=512, vcores=2)
WANTED = {"id": NODE, "rack": "/r1", "memory_mb": 1024, "vcores": 4, "settings": {"node_id": "w"}}


def container(number, node_id=NODE):
    raw_id = encoded([(2, [(1, [(1, 7), (2, 1700)]), (2, 1)]), (3, number)])
    return Container(raw_id=raw_id, node_id=node_id, priority=1, token=TOKEN)


class Bench:
    """The books with a driver that notes what it hears, and containers that start."""

    def __init__(self):
        self.heard, self.started, self.failure = [], [], None
        self.books = Containers(self.hear, self.start)
        self.books.take(Allocation(node_tokens={NODE: TOKEN}))

    def hear(self, name, /, **details):
        self.heard.append((name, details))

    def start(self, made, token, settings):
        assert token is TOKEN
        if self.failure is not None:
            raise self.failure
        self.started.append((made.name, settings))

    def asked(self, after_s=0.0):
        """The counts of the requests that the next heartbeat would carry."""
        self.books.keep_time(time.monotonic() + after_s)
        asks, self.books.asks = self.books.asks, []
        return [Message(encoded([(1, fields)])).message(1).number(4) for _, fields in asks]

    def names(self):
        return [name for name, _ in self.heard]


@pytest.fixture
def bench():
    return Bench()


def test_a_wanted_node_is_asked_for_once_and_served(bench):
    bench.books.want(WANTED)
    assert bench.asked() == [1, 1, 1]
    assert bench.asked() == []
    made = container(1)
    bench.books.take(Allocation(granted=(made,)))
    bench.books.announced({"serving": made.name, "address": ["10.0.0.1", 4711]})

    assert bench.started == [(made.name, {"node_id": "w"})]
    assert bench.heard == [
        ("serving", {"id": NODE, "container": made.name, "address": ("10.0.0.1", 4711)})
    ]
    assert bench.asked(60) == []


def test_a_request_is_no_larger_than_yarn_grants(bench):
    bench.books.largest = SMALL
    bench.books.want(WANTED)
    bench.books.keep_time(time.monotonic())

    (_, fields), *_ = bench.books.asks
    assert Size.of(Message(encoded(fields)).message(3)) == SMALL


def test_what_was_not_asked_for_goes_back(bench):
    made, second = container(1), container(2)
    bench.books.take(Allocation(granted=(made,)))
    bench.books.want(WANTED)
    bench.asked()
    bench.books.take(Allocation(granted=(second, container(3))))

    assert bench.books.release == [made.raw_id, container(3).raw_id]


@pytest.mark.parametrize(
    "failure", [OSError("refused"), BadMessage("odd")], ids=["connection", "answer"]
)
def test_a_container_that_cannot_be_started_is_tried_again(bench, failure):
    bench.books.want(WANTED)
    for number in range(TRIES_MAX):
        assert bench.asked(TRY_AGAIN_S + 1) == [1, 1, 1], number
        bench.failure = failure
        bench.books.take(Allocation(granted=(container(number),)))
    assert bench.asked(60) == []
    assert bench.names() == ["unserved"] * TRIES_MAX
    assert len(bench.books.release) == TRIES_MAX


def test_a_container_that_yarn_takes_back_is_asked_for_again(bench):
    bench.books.want(WANTED)
    bench.asked()
    made = container(1)
    bench.books.take(Allocation(granted=(made,)))
    bench.books.take(Allocation(ended=(Ended(name=made.name, exit_status=-102, diagnostics=""),)))

    ((name, details),) = bench.heard
    assert (name, details["id"]) == ("unserved", NODE)
    assert "for another queue" in details["why"]
    assert bench.asked(TRY_AGAIN_S + 1) == [1, 1, 1]


def test_a_node_server_that_says_nothing_is_given_up(bench):
    bench.books.want(WANTED)
    bench.asked()
    bench.books.take(Allocation(granted=(container(1),)))
    bench.asked(31)

    assert bench.names() == ["unserved"]
    assert bench.books.release == [container(1).raw_id]


def test_a_lost_node_is_reported_and_its_request_taken_back(bench):
    bench.books.want(WANTED)
    bench.asked()
    gone = NodeReport(node_id=NODE, rack="/r1", size=SMALL, used=SMALL, state=NodeState.LOST)
    bench.books.take(Allocation(nodes=(gone,)))

    assert bench.heard == [("left", {"id": NODE, "why": "YARN counts the node as lost"})]
    assert bench.asked(60) == [0, 0, 0]


def test_a_new_node_is_reported_with_what_is_free(bench):
    size, used = Size(memory_mb=4096, vcores=8), Size(memory_mb=1024, vcores=1)
    new = NodeReport(node_id=NODE, rack="/r1", size=size, used=used, state=NodeState.RUNNING)
    bench.books.take(Allocation(nodes=(new,)))

    ((name, details),) = bench.heard
    assert (name, details["host"]) == ("node", "worker")
    assert (details["free_memory_mb"], details["free_vcores"]) == (3072, 7)


def test_only_the_containers_that_the_driver_knows_survive_their_master(bench):
    known, unknown = container(1), container(2, "other:45454")
    bench.books.take(Allocation(earlier=(known, unknown)))
    bench.books.claim({"id": NODE, "container": known.name, "address": ["10.0.0.1", 4711]})
    bench.books.want(WANTED)
    bench.books.return_unclaimed()

    assert bench.asked() == []
    assert bench.books.release == [unknown.raw_id]
    bench.books.report_serving()
    assert bench.names() == ["serving"]


def test_a_container_that_yarn_does_not_know_any_more_is_reported(bench):
    """Its node was lost together with the ApplicationMaster; what runs there is an orphan."""
    bench.books.claim({"id": NODE, "container": container(1).name, "address": ["10.0.0.1", 1]})

    ((name, details),) = bench.heard
    assert (name, details["id"]) == ("unserved", NODE)


def test_a_claim_of_what_is_served_already_changes_nothing(bench):
    bench.books.want(WANTED)
    bench.asked()
    made = container(1)
    bench.books.take(Allocation(granted=(made,)))
    bench.books.claim({"id": NODE, "container": made.name, "address": ["10.0.0.1", 1]})

    assert bench.heard == []


def test_a_node_server_whose_agent_failed_is_replaced_once(bench):
    bench.books.want(WANTED)
    bench.asked()
    made = container(1)
    bench.books.take(Allocation(granted=(made,)))
    bench.books.announced({"serving": made.name, "address": ["10.0.0.1", 1]})
    bench.books.replace({"id": NODE, "address": ["10.0.0.1", 2]})  # of another life
    assert bench.books.release == []
    bench.books.replace({"id": NODE, "address": ["10.0.0.1", 1]})

    assert bench.books.release == [made.raw_id]
    assert bench.asked(TRY_AGAIN_S + 1) == [1, 1, 1]


def test_a_node_that_is_given_back_keeps_its_container_until_its_agent_has_ended(bench):
    bench.books.want(WANTED)
    bench.asked()
    made = container(1)
    bench.books.take(Allocation(granted=(made,)))
    bench.books.announced({"serving": made.name, "address": ["10.0.0.1", 1]})
    bench.heard.clear()
    bench.books.give_back({"id": NODE})
    bench.books.give_back({"id": NODE})
    bench.books.report_serving()
    assert bench.asked() == []
    bench.books.take(Allocation(ended=(Ended(name=made.name, exit_status=0, diagnostics=""),)))

    assert bench.asked(60) == []
    assert (bench.books.release, bench.heard) == ([], [])


def test_a_container_that_does_not_end_by_itself_is_released(bench):
    bench.books.want(WANTED)
    bench.asked()
    bench.books.take(Allocation(granted=(container(1),)))
    bench.books.give_back({"id": NODE})
    bench.asked(LEAVE_S + 1)

    assert bench.books.release == [container(1).raw_id]
    assert bench.asked(60) == []


def test_a_request_for_a_node_that_is_given_back_is_taken_back(bench):
    bench.books.want(WANTED)
    bench.asked()
    bench.books.give_back({"id": NODE})
    assert bench.asked() == [0, 0, 0]
    bench.books.take(Allocation(granted=(container(1),)))
    assert bench.books.release == [container(1).raw_id]


def test_a_node_that_was_given_back_can_be_wanted_again_at_once(bench):
    bench.books.want(WANTED)
    bench.asked()
    made = container(1)
    bench.books.take(Allocation(granted=(made,)))
    bench.books.give_back({"id": NODE})
    bench.books.want(WANTED)
    assert bench.asked() == []  # its memory is still taken
    bench.books.take(Allocation(ended=(Ended(name=made.name, exit_status=0, diagnostics=""),)))
    assert bench.asked() == [1, 1, 1]
    bench.books.take(Allocation(granted=(container(2),)))
    assert [name for name, _ in bench.started] == [made.name, container(2).name]
