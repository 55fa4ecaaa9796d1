"""Reduces that hold every slot, and a map of theirs that finds none: dynamicmr spec, E12.

The tests were seen to fail with: no breaker at all; a patience that is never over; the oldest
reduce ended instead of the youngest; one in its own slot before one in a borrowed slot; no right
of way (the reduce that was ended takes the slot again); slots lent against a fraction of 0;
any free unit of a slot taken for a free slot; the policy inside asked although no node has room, or
idle slots of a resting node noted, when nodes are passed over.
"""

import json
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
from tests.policies.lending import Trackers, dynamicmr
from tests.runs import map_reduce, scheduler_of, simulate, totals

from sluice.core.commands import Kill, Wake
from sluice.core.events import (
    FailureKind,
    JobKilled,
    JobSubmitted,
    NodeJoined,
    NodeLost,
    TaskFailed,
    TaskFinished,
    Tick,
)
from sluice.core.protocols import TaskPolicy
from sluice.core.reasons import ReasonCode
from sluice.core.transitions import JobState
from sluice.model.cluster import Node
from sluice.model.ids import JobId
from sluice.model.slot_kind import SlotKind
from sluice.policies.decorator import Decorator
from sluice.policies.dynamicmr.targets import Fractions
from sluice.policies.orders.fifo import Fifo
from sluice.policies.rooms.deadlock import PATIENCE_S, DeadlockBreaker

REDUCE = SlotKind.REDUCE


def kills(commands):
    return [command for command in commands if isinstance(command, Kill)]


@pytest.fixture
def starved():
    """A job whose reduces hold all slots of n2; its two maps wait again, for n1 was lost.

    The reduce in the reduce slot is the oldest; those in map slots borrowed them later.
    """
    trackers = Trackers((2, 0), (2, 1))
    trackers.submit(map_reduce("j", 2, 1.0, 6, 9.0))
    for at_s in (0.0, 3.0):
        (launch,) = trackers.beat("n1", at_s)
        trackers.finish(launch, at_s + 3.0)
    trackers.reduces = trackers.beat("n2", 6.0)
    trackers.scheduler.handle(NodeLost(7.0, "n1"))
    assert 2 == trackers.state.jobs["j"].phases[0].pending.count
    return trackers


def test_the_reduces_hold_every_slot(starved):
    """So the example is one: three reduces run, two maps and three reduces wait."""
    assert {("reduce", "reduce"): 1, ("reduce", "map"): 2} == {
        pair: sum(
            (a.phase.kind.value, a.launch.slot_kind.value) == pair
            for a in starved.state.running.values()
        )
        for pair in (("reduce", "reduce"), ("reduce", "map"))
    }


def test_after_a_minute_without_a_free_slot_the_youngest_borrower_gives_way(starved):
    assert [] == kills(starved.asked("n2", 9.0))
    assert [] == kills(starved.asked("n2", 6.0 + PATIENCE_S - 0.1))
    (kill,) = kills(starved.asked("n2", 7.0 + PATIENCE_S))

    borrowers = [launch for launch in starved.reduces if launch.slot_kind is not REDUCE]
    assert borrowers[-1].key == kill.key
    assert kill.reason.code is ReasonCode.GAVE_WAY
    assert "a map of its own job" in kill.reason.text()
    assert PATIENCE_S + 1 == dict(kill.reason.numbers)["waited_s"]


def test_patience_ends_at_a_minute_and_begins_again_at_each_look(starved):
    assert [] == kills(starved.asked("n2", 6.0 + PATIENCE_S - 0.001))
    assert 1 == len(kills(starved.asked("n2", 6.0 + PATIENCE_S)))
    assert [] == kills(starved.asked("n2", 6.0 + 2 * PATIENCE_S - 0.001))
    assert 1 == len(kills(starved.asked("n2", 6.0 + 2 * PATIENCE_S)))


def test_it_asks_to_be_woken_once_a_minute_not_once_an_end():
    """An instant of its own for each end of a task would double what a simulation costs."""
    scheduler = scheduler_of(dynamicmr())
    scheduler.handle(NodeJoined(0.0, Node(node_id="n1", map_slots=2)))
    scheduler.handle(JobSubmitted(0.0, map_reduce("j", 40, 1.0, 0, 1.0)))
    running = scheduler.state.running
    wakes = []
    for second in range(10):
        for attempt in running.values():
            scheduler.handle(TaskFinished(float(second), attempt.key, float(second)))
        commands = scheduler.handle(Tick(float(second)))
        wakes += [command.at_s for command in commands if isinstance(command, Wake)]
    assert 18 == scheduler.state.jobs["j"].phases[0].done
    assert [PATIENCE_S] == wakes


def test_the_slot_goes_to_the_map_and_so_do_the_next_until_none_waits(starved):
    """Without the right of way the reduce that was ended would take its slot again."""
    (kill,) = kills(starved.asked("n2", 67.0))
    starved.scheduler.handle(TaskFailed(70.0, kill.key, 68.0, FailureKind.KILLED))
    (first,) = starved.beat("n2", 70.0)
    starved.finish(first, 73.0)
    (second,) = starved.beat("n2", 73.0)

    for launch in (first, second):
        assert 0 == launch.key.phase
        assert ReasonCode.RIGHT_OF_WAY is launch.reason.code


def test_a_map_of_a_job_that_was_killed_is_not_remembered(starved):
    """The job may be forgotten by then, and the memory could not be restored."""
    policy, memories = starved.scheduler.policies.tasks, []
    starved.asked("n2", 67.0)
    memories.append(json.dumps(policy.saved()))
    starved.scheduler.handle(JobKilled(68.0, JobId("j")))
    memories.append(json.dumps(policy.saved()))

    assert [True, False] == ['"rescued": [["j", 0]]' in one for one in memories]
    assert '"rescued": []' in memories[1]


def test_one_map_at_a_time_has_the_right_of_way(starved):
    """While the first one runs, a slot that becomes free goes to what is next in line."""
    (kill,) = kills(starved.asked("n2", 67.0))
    starved.scheduler.handle(TaskFailed(70.0, kill.key, 68.0, FailureKind.KILLED))
    (first,) = starved.beat("n2", 70.0)
    (own,) = (launch for launch in starved.reduces if launch.slot_kind is REDUCE)
    starved.scheduler.handle(TaskFailed(71.0, own.key, 71.0, FailureKind.EXIT))
    (second,) = starved.beat("n2", 71.0)

    assert [True, False] == [
        launch.reason is not None and launch.reason.code is ReasonCode.RIGHT_OF_WAY
        for launch in (first, second)
    ]


@pytest.mark.interpreted
def test_a_borrower_gives_way_before_a_younger_reduce_in_a_slot_of_its_own():
    own, older, borrower = (
        SimpleNamespace(
            slot_kind=kind, phase=SimpleNamespace(kind=REDUCE), started_at_s=at_s, key=0
        )
        for kind, at_s in ((REDUCE, 9.0), (SlotKind.MAP, 7.0), (SlotKind.MAP, 8.0))
    )
    breaker: Any = DeadlockBreaker(Fifo(), Fractions())

    assert borrower is breaker._youngest([own, older, borrower], SlotKind.MAP)
    assert own is breaker._youngest([own], SlotKind.MAP)


def test_room_too_narrow_for_a_map_is_no_free_slot():
    """A reduce of weight 7.5 leaves half a map slot of eight, which nothing can ever use."""
    trackers = Trackers((2, 0), (8, 1), w_reduce=7.5)
    trackers.submit(map_reduce("j", 2, 1.0, 6, 9.0))
    for at_s in (0.0, 3.0):
        (launch,) = trackers.beat("n1", at_s)
        trackers.finish(launch, at_s + 3.0)
    assert {REDUCE: 1, SlotKind.MAP: 1} == Counter(
        launch.slot_kind for launch in trackers.beat("n2", 6.0)
    )
    trackers.scheduler.handle(NodeLost(7.0, "n1"))

    assert [] == kills(trackers.asked("n2", 9.0))
    assert any(trackers.state.nodes["n2"].free[kind] for kind in SlotKind)
    (kill,) = kills(trackers.asked("n2", 7.0 + PATIENCE_S))
    assert kill.reason.code is ReasonCode.GAVE_WAY


@pytest.mark.parametrize("heartbeat_s", [0.0, 3.0])
@pytest.mark.parametrize("mode", ["pi", "pd"])
def test_maps_without_slots_of_their_own_get_done_behind_early_reduces(mode, heartbeat_s):
    """No map slot at all: maps borrow reduce slots, until early reduces hold all of them."""
    job = map_reduce("j", 12, 5.0, 6, 5.0)
    policy = dynamicmr(mode=mode, heartbeat_s=heartbeat_s)
    state = simulate(totals(0, 3), [job], policy, slowstart=0.25, heartbeat_s=heartbeat_s)

    assert state.jobs["j"].state is JobState.DONE


def test_a_fraction_of_nothing_lends_nothing_even_then():
    """Maps may not have reduce slots: nobody is ended for their sake."""
    trackers = Trackers((1, 1), slowstart=0.0, pct_reduce=0.0)
    trackers.submit(map_reduce("j", 2, 500.0, 4, 1.0))
    trackers.beat("n1")
    for number in range(1, 60):
        assert [] == kills(trackers.asked("n1", 3.0 * number))


def test_a_reduce_whose_slot_no_map_may_have_does_not_give_way():
    """Another job has the map slot, and maps may not have reduce slots."""
    trackers = Trackers((1, 1), slowstart=0.0, pct_reduce=0.0)
    trackers.submit(map_reduce("other", 1, 500.0))
    (other,) = trackers.beat("n1", 0.0)
    trackers.submit(map_reduce("j", 2, 1.0, 4, 1.0))
    (reduce,) = trackers.beat("n1", 3.0)

    assert [("other", SlotKind.MAP), ("j", REDUCE)] == [
        (launch.key.job_id, launch.slot_kind) for launch in (other, reduce)
    ]
    for number in range(2, 60):
        assert [] == kills(trackers.asked("n1", 3.0 * number))


class Answers(Decorator):
    """Says of any slot whether work could use it, and counts how often it is asked."""

    answer = True
    asked = 0

    def could_use(self, slot_kind, state):
        self.asked += 1
        return self.answer

    def next_node(self, index, state):
        self.asked += 1
        return TaskPolicy.next_node(self, index, state)


@pytest.fixture
def inner():
    return Answers(Fifo())


def breaker_over(inner, map_slots):
    """A scheduler with one node and the breaker over a policy."""
    scheduler = scheduler_of(DeadlockBreaker(inner, Fractions()))
    scheduler.handle(NodeJoined(0.0, Node(node_id="n1", map_slots=map_slots)))
    return scheduler


def ticks(scheduler, at_s):
    """The instants at which a tick asks to be woken."""
    commands = scheduler.handle(Tick(at_s))
    return [command.at_s for command in commands if isinstance(command, Wake)]


def test_the_policy_inside_is_not_asked_while_no_node_has_room(inner):
    """To be asked is news to it: delays count it as a wait, LATE reviews what has changed."""
    scheduler = breaker_over(inner, map_slots=1)
    scheduler.handle(JobSubmitted(0.0, map_reduce("j", 2, 9.0)))
    ticks(scheduler, 0.0)
    assert 1 == len(scheduler.state.running)
    asked = inner.asked
    ticks(scheduler, 1.0)

    assert asked == inner.asked


def test_while_a_map_has_priority_each_node_with_room_is_offered(inner):
    """The policy inside might see no use for a reduce slot that such a map may borrow.

    The node of the maps is lost, and a reduce that waits for the second map has the only slot.
    """
    scheduler = scheduler_of(DeadlockBreaker(inner, Fractions()), slowstart=0.5)
    for name, slots in (("n1", {"map_slots": 1}), ("n2", {"reduce_slots": 1})):
        scheduler.handle(NodeJoined(0.0, Node(node_id=name, **slots)))
    scheduler.handle(JobSubmitted(0.0, map_reduce("j", 2, 9.0, 1)))
    ticks(scheduler, 0.0)
    (first,) = scheduler.state.running
    scheduler.handle(TaskFinished(1.0, first, 1.0))
    ticks(scheduler, 1.0)
    scheduler.handle(NodeLost(2.0, "n1"))
    (kill,) = kills(scheduler.handle(Tick(2.0 + PATIENCE_S)))
    inner.answer = False
    scheduler.handle(TaskFailed(63.0, kill.key, 63.0, FailureKind.KILLED))
    ticks(scheduler, 63.0)

    (map_again,) = scheduler.state.running.values()
    assert (0, REDUCE) == (map_again.phase.index, map_again.launch.slot_kind)


def test_an_idle_slot_is_noted_although_its_node_is_not_offered(inner):
    scheduler = breaker_over(inner, map_slots=2)
    scheduler.handle(JobSubmitted(0.0, map_reduce("j", 1, 99.0)))
    ticks(scheduler, 0.0)
    inner.answer = False
    scheduler.handle(JobSubmitted(5.0, map_reduce("k", 1, 99.0)))

    assert [5.0 + PATIENCE_S] == ticks(scheduler, 5.0)
    assert 1 == len(scheduler.state.running)


@pytest.mark.parametrize(("at_s", "noted_s"), [(5.0, 4.5), (5.5, 5.5)])
def test_an_idle_slot_of_a_resting_node_is_not_noted(inner, at_s, noted_s):
    """Such a node is never offered. This one rests for a second."""
    scheduler = breaker_over(inner, map_slots=2)
    scheduler.handle(JobSubmitted(0.0, map_reduce("j", 2, 99.0)))
    ticks(scheduler, 0.0)
    first = next(iter(scheduler.state.running.values()))
    scheduler.handle(TaskFailed(4.5, first.key, 4.5, FailureKind.NODE_FAULT))
    inner.answer = False

    assert noted_s + PATIENCE_S in ticks(scheduler, at_s)


def test_an_idle_slot_is_noted_behind_a_node_that_rests(inner):
    """Two nodes with a task and an idle slot each, of which the first rests after a fault."""
    scheduler = breaker_over(inner, map_slots=2)
    scheduler.handle(NodeJoined(0.0, Node(node_id="n2", map_slots=2)))
    scheduler.handle(JobSubmitted(0.0, map_reduce("j", 2, 99.0)))
    ticks(scheduler, 0.0)
    first = next(iter(scheduler.state.running.values()))
    scheduler.handle(TaskFailed(4.5, first.key, 4.5, FailureKind.NODE_FAULT))
    ticks(scheduler, 4.5)
    assert [1, 1] == [node.free.maps.count for node in scheduler.state.nodes.values()]
    inner.answer = False
    scheduler.handle(JobSubmitted(5.0, map_reduce("k", 1, 99.0)))

    assert 5.0 + PATIENCE_S in ticks(scheduler, 5.0)


@pytest.mark.parametrize(("pct_reduce", "ended"), [(0.0, 1), (1.0, 0)])
def test_an_idle_slot_that_a_map_may_not_borrow_is_no_use_to_it(pct_reduce, ended):
    """A reduce that waits for a map has the only map slot, and the reduce slot is idle again."""
    trackers = Trackers((1, 0), (1, 1), pct_reduce=pct_reduce)
    trackers.submit(map_reduce("j", 1, 1.0, 1, 9.0), map_reduce("other", 0, 1.0, 1, 9.0))
    (launch,) = trackers.beat("n1", 0.0)
    (other,) = trackers.beat("n2", 0.0)
    trackers.finish(launch, 3.0)
    (borrower,) = trackers.beat("n2", 6.0)
    assert borrower.slot_kind is SlotKind.MAP
    trackers.scheduler.handle(NodeLost(7.0, "n1"))
    trackers.finish(other, 8.0)
    commands = [trackers.asked("n2", 8.0 + at_s) for at_s in (0.0, PATIENCE_S / 2, PATIENCE_S)]

    found = [[kill.key for kill in kills(one)] for one in commands]
    assert found == [[], [], [borrower.key] * ended]
